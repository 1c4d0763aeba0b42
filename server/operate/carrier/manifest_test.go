package carrier

import (
	"testing"

	"waybill/booking"
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
