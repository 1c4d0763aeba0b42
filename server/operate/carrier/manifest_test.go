package carrier

import (
	"slices"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule"
)

// A disk that is nearly full has the store decide again: whoever travels is on the list once all the same, by
// where they board, and nobody who has yet to pay.
func TestAManifestIsDecidedAgain(t *testing.T) {
	m := &Manifest{SeatMap: &booking.SeatMap{Taken: []booking.SeatTaken{
		{Seat: 1, From: 2, Ticket: &booking.Ticket{Phase: booking.Paid}},
		{Seat: 2, From: 0, Ticket: &booking.Ticket{Phase: booking.Booked}},
		{Seat: 3, From: 0, Ticket: &booking.Ticket{Phase: booking.Unpaid}},
	}}}
	for range 2 {
		m.board()
		if len(m.Riders) != 2 || m.Riders[0].Seat != 2 || m.Riders[1].Seat != 1 ||
			len(m.Held) != 1 || m.Held[0].Seat != 3 {
			t.Fatalf("%+v, held: %+v", m.Riders, m.Held)
		}
	}
}

// Decision timetable.rides: who has no part of the run as it is now is on the passenger list, where nobody
// boards any more, and takes no seat of the picture.
func TestARideOfNothingIsListedAndTakesNoSeat(t *testing.T) {
	form := &schedule.Form{Trip: "t", Bus: schedule.Bus{Seats: 3}}
	for i, id := range []string{"a", "b"} {
		form.Stops = append(form.Stops, schedule.FormStop{
			Stop: schedule.Stop{ID: id, Place: id}, City: schedule.City{Zone: "UTC"},
			Arr: int32(i) * 3600, Dep: int32(i) * 3600,
		})
	}
	form, err := schedule.DecodeForm(form.Encode())
	if err != nil {
		t.Fatal(err)
	}
	run := booking.NewRun(form, 20000, 20000*86400, make([]int32, 2))
	m := &Manifest{SeatMap: &booking.SeatMap{
		Run: run,
		Taken: []booking.SeatTaken{{
			Seat: 2, From: 1, To: 1, Booking: &booking.Booking{},
			Ticket: &booking.Ticket{Phase: booking.Paid, Passenger: booking.NewPassenger("A", "B", "", nil),
				Legs: [2]booking.Leg{{Run: run}}},
		}},
		Loads: make([]booking.Segment, 1),
	}}
	m.board()
	if rows := m.sheet().Rows; len(rows) != 1 || rows[0].Boards != "b, 01:00: 1" {
		t.Errorf("the list is %+v", rows)
	}
	if rows := seatRows(m.SeatMap, time.Time{}); len(rows) != 1 || rows[0].Until != 3 ||
		!slices.Equal(rows[0].Parts, []SeatPart{{Span: 1, State: "free"}}) {
		t.Errorf("the seats are %+v", rows)
	}
}
