package desk

import (
	"fmt"
	"unicode/utf8"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/operate/carrier"
)

// bus is the picture of a run's seats from one stop to the next: rows of two and two with an aisle between
// them, and the driver in front. Its numbers are units of the picture.
type bus struct {
	From, To      string // the stops
	Says          string // the picture in words
	Width, Height int
	Body          int // the height of the bus itself: seats that it no longer has stand behind it
	Seats         []*busSeat
	Gone          int // seats that it no longer has and somebody was sold
}

// busSeat is a seat in the picture.
type busSeat struct {
	X, Y, Width int
	Number      int
	State       string // free, held, asked, booked or paid: the class in the sheet
	Name        string // of its passenger, as much of it as fits; "" is nobody
	Says        string
	Parts       []busPart // the whole way, of a seat that is not the same on all of it
}

// busPart is a part of the way on which a seat is free, or one ticket has it.
type busPart struct {
	X, Width int
	State    string
}

// The measures of the picture.
const (
	busMargin  = 14
	busFront   = 56 // where the driver sits
	seatWidth  = 96
	seatHeight = 46
	seatGap    = 6
	seatPitch  = seatHeight + seatGap // from row to row
	aisleWidth = 30
	inARow     = 4
	busInside  = inARow*seatWidth + (inARow-2)*seatGap + aisleWidth
	backWidth  = (busInside - inARow*seatGap) / (inARow + 1) // of a seat of the last row, where it has five
	stripAt    = 39                                          // where the strip of the whole way is, on a seat
	unitsARune = 8                                           // of a name on a seat
)

// newBus draws the seats of a run after the stop at a position. The passengers whose names are on them are
// added to those that the page shows, by ticket.
func newBus(seats *carrier.Seats, at int, shown map[ids.ID]*booking.Ticket) *bus {
	tickets := map[ids.ID]*booking.Ticket{}
	for i := range seats.Riders {
		t := seats.Riders[i].Ticket
		tickets[t.ID] = t
	}
	x := &bus{
		From:  seats.Stops[at].Place,
		To:    seats.Stops[at+1].Place,
		Width: busInside + 2*busMargin,
		Body:  busFront + rowsOf(seats.Seats)*seatPitch + busMargin,
	}
	x.Says = fmt.Sprintf("From %s to %s, %d of %d seats are taken", x.From, x.To, seats.Stops[at].Taken,
		seats.Seats)
	for i := range seats.Rows {
		row := &seats.Rows[i]
		part := partAt(row, at)
		for number := row.Seat; number <= row.Until; number++ {
			seat := x.place(number, seats.Seats, row.Gone)
			seat.State = part.State
			seat.sit(tickets[part.Ticket])
			seat.addParts(row.Parts, len(seats.Stops)-1)
			x.Seats = append(x.Seats, seat)
		}
		if t := tickets[part.Ticket]; t != nil && !t.Passenger.Forgotten() {
			shown[t.ID] = t
		}
	}
	x.Height = x.Body
	if x.Gone > 0 {
		x.Height += busMargin + (x.Gone+inARow-1)/inARow*seatPitch
	}
	return x
}

// partAt returns the part of the way of a seat that begins at a stop, or goes on there.
func partAt(row *carrier.SeatRow, at int) carrier.SeatPart {
	until := 0
	for _, part := range row.Parts {
		until += part.Span
		if at < until {
			return part
		}
	}
	return carrier.SeatPart{State: "free"}
}

// hasBackRow reports whether a bus of so many seats has five of them in its last row, as coaches have.
func hasBackRow(seats int) bool {
	return seats > inARow && seats%inARow == 1
}

// rowsOf returns in how many rows so many seats stand.
func rowsOf(seats int) int {
	if hasBackRow(seats) {
		return seats / inARow
	}
	return (seats + inARow - 1) / inARow
}

// place returns a seat where it stands in a bus of so many seats. One that the bus no longer has stands
// behind it.
func (x *bus) place(number, seats int, gone bool) *busSeat {
	seat := &busSeat{Number: number, Width: seatWidth}
	top := busFront
	nth := number - 1
	if gone {
		top = x.Body + busMargin
		nth = x.Gone
		x.Gone++
	}
	if back := inARow * (rowsOf(seats) - 1); !gone && hasBackRow(seats) && nth >= back {
		seat.Width = backWidth
		seat.X = busMargin + (nth-back)*(backWidth+seatGap)
		seat.Y = top + back/inARow*seatPitch
		return seat
	}
	column := nth % inARow
	seat.X = busMargin + column*(seatWidth+seatGap)
	if column >= inARow/2 { // beyond the aisle, which stands in the place of a gap
		seat.X += aisleWidth - seatGap
	}
	seat.Y = top + nth/inARow*seatPitch
	return seat
}

// sit puts the passenger of a ticket on the seat; nil is nobody.
func (s *busSeat) sit(t *booking.Ticket) {
	s.Says = fmt.Sprintf("Seat %d: %s", s.Number, newChip(s.State, "").Words)
	if t == nil {
		return
	}
	s.Says += ", " + passengerOf(t)
	if t.Passenger.Forgotten() {
		return
	}
	first, last, _, _ := t.Passenger.Fields()
	s.Name = shortName(first, last, (s.Width-unitsARune)/unitsARune)
}

// shortName returns a surname and an initial in so many characters at most.
func shortName(first, last string, most int) string {
	initial, _ := utf8.DecodeRuneInString(first)
	tail := ""
	if first != "" {
		tail = " " + string(initial) + "."
	}
	room := most - utf8.RuneCountInString(tail)
	if runes := []rune(last); len(runes) > room {
		last = string(runes[:room-1]) + "…"
	}
	return last + tail
}

// addParts adds the whole way of the seat, where one ticket has it on a part of it only.
func (s *busSeat) addParts(parts []carrier.SeatPart, segments int) {
	if len(parts) < 2 {
		return
	}
	at := 0
	for _, part := range parts {
		x := s.Width * at / segments
		at += part.Span
		s.Parts = append(s.Parts, busPart{
			X:     x,
			Width: s.Width*min(at, segments)/segments - x,
			State: part.State,
		})
	}
}

// Height returns the height of the seat, without its strip.
func (s *busSeat) Height() int {
	if len(s.Parts) > 0 {
		return stripAt - 3
	}
	return seatHeight
}

// Inside returns the width of the outline of the bus.
func (x *bus) Inside() int {
	return x.Width - busMargin/3
}

// Bottom returns the height of the outline of the bus.
func (x *bus) Bottom() int {
	return x.Body - busMargin/3
}
