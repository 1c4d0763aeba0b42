package desk

import (
	"testing"
	"unicode/utf8"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/operate/carrier"
)

// drawn draws an empty bus of so many seats, with so many that it no longer has.
func drawn(seats, gone int) *bus {
	x := &carrier.Seats{
		Seats: seats,
		Stops: []carrier.StopShown{{Place: "Kyiv"}, {Place: "Lviv", Last: true}},
	}
	for n := 1; n <= seats+gone; n++ {
		x.Rows = append(x.Rows, carrier.SeatRow{
			Seat:  n,
			Until: n,
			Gone:  n > seats,
			Parts: []carrier.SeatPart{{Span: 1, State: "free"}},
		})
	}
	return newBus(x, 0, map[ids.ID]*booking.Ticket{})
}

// However many seats a bus has, each is drawn once, none on another, none on the driver, and all of them
// inside the bus, but for those that it no longer has: these stand behind it.
func TestEachSeatHasItsPlaceInTheBus(t *testing.T) {
	for seats := 1; seats <= 100; seats++ {
		gone := seats % 7
		x := drawn(seats, gone)
		if len(x.Seats) != seats+gone {
			t.Fatalf("of %d seats %d are drawn", seats+gone, len(x.Seats))
		}
		for i, a := range x.Seats {
			bottom := a.Y + seatHeight
			if a.X < busMargin || a.X+a.Width > x.Width-busMargin || a.Y < busFront || bottom > x.Height {
				t.Errorf("seat %d of %d stands outside the picture: %+v", a.Number, seats, a)
			}
			if inside := bottom <= x.Body; inside != (a.Number <= seats) {
				t.Errorf("seat %d of %d: inside the bus is %v", a.Number, seats, inside)
			}
			for _, b := range x.Seats[:i] {
				if a.X < b.X+b.Width && b.X < a.X+a.Width && a.Y < b.Y+seatHeight && b.Y < a.Y+seatHeight {
					t.Errorf("of %d seats, %d and %d stand on each other", seats, a.Number, b.Number)
				}
			}
		}
	}
}

// The last row of a coach has five seats.
func TestTheLastRowOfACoachHasFiveSeats(t *testing.T) {
	x := drawn(49, 0)
	last := x.Seats[48].Y
	n := 0
	for _, seat := range x.Seats {
		if seat.Y == last {
			n++
		}
	}
	if n != 5 || x.Seats[0].Y != x.Seats[3].Y || x.Seats[4].Y == x.Seats[3].Y {
		t.Errorf("the last row has %d seats", n)
	}
}

// A name on a seat is as long as there is room, in letters and not in bytes, and keeps its initial.
func TestANameFitsOnItsSeat(t *testing.T) {
	for _, c := range [][3]string{
		{"Lesia", "Ukrainka", "Ukrainka L."},
		{"Соломія", "Крушельницька", "Крушель… С."},
		{"", "Kobylianska-Franko", "Kobylianska…"},
		{"Ivan", "", " I."},
	} {
		got := shortName(c[0], c[1], 11)
		if utf8.RuneCountInString(got) > 11 {
			t.Errorf("%q is longer than 11", got)
		}
		if c[0] != "" && got != c[2] {
			t.Errorf("%s %s is %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// A seat that one ticket has on a part of the way has a strip of the whole way, without a gap.
func TestAPartOfTheWayIsAStripOfTheSeat(t *testing.T) {
	s := &busSeat{Width: seatWidth}
	parts := []carrier.SeatPart{
		{Span: 2, State: "paid"},
		{Span: 1, State: "free"},
		{Span: 4, State: "held"},
	}
	s.addParts(parts, 7)
	at := 0
	for i, want := range []string{"paid", "free", "held"} {
		if s.Parts[i].X != at || s.Parts[i].State != want || s.Parts[i].Width <= 0 {
			t.Errorf("part %d is %+v, and begins at %d", i, s.Parts[i], at)
		}
		at += s.Parts[i].Width
	}
	if at != seatWidth || s.Height() >= stripAt {
		t.Errorf("the strip ends at %d, the seat at %d", at, s.Height())
	}
	whole := &busSeat{Width: seatWidth}
	whole.addParts([]carrier.SeatPart{{Span: 7, State: "paid"}}, 7)
	if whole.Parts != nil {
		t.Errorf("a seat that is sold all the way has a strip: %+v", whole.Parts)
	}
}
