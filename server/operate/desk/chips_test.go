package desk

import (
	"testing"
	"time"

	"waybill/booking"
)

// Decision desk.chips: each of the seven states of a ticket has one chip. It says what came back
// of a refunded ticket, and the carrier's status only where it is another than the usual one.
func TestATicketHasOneOfSevenChips(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	old := now.Add(-20 * time.Minute).UnixMilli()
	refunded := booking.Ticket{Phase: booking.Refunded, Was: booking.Paid, Currency: [3]byte([]byte("EUR"))}
	refunded.Legs[0].Amount = 4000
	refunded.Legs[0].Refund = 3600
	for _, x := range []struct {
		ticket booking.Ticket
		want   chip
	}{
		{booking.Ticket{Created: now.UnixMilli()}, chip{"held", "held", ""}},
		{booking.Ticket{Created: old}, chip{"lapsed", "lapsed", ""}},
		{booking.Ticket{Created: old, Pending: booking.Pay}, chip{"asked", "provider asked", ""}},
		{booking.Ticket{Phase: booking.Booked}, chip{"booked", "booked", ""}},
		{
			booking.Ticket{Phase: booking.Booked, Pending: booking.Pay},
			chip{"booked", "booked", "provider asked to pay"},
		},
		{booking.Ticket{Phase: booking.Paid}, chip{"paid", "paid", ""}},
		{booking.Ticket{Phase: booking.Paid, Carrier: booking.Confirmed}, chip{"paid", "paid", ""}},
		{
			booking.Ticket{Phase: booking.Paid, Carrier: booking.NotConfirmed},
			chip{"paid", "paid", "carrier: not confirmed"},
		},
		{
			booking.Ticket{Phase: booking.Booked, Carrier: booking.Prepaid},
			chip{"booked", "booked", "carrier: prepaid"},
		},
		{
			booking.Ticket{Created: now.UnixMilli(), Carrier: booking.Confirmed},
			chip{"held", "held", "carrier: confirmed"},
		},
		{booking.Ticket{Phase: booking.Canceled, Was: booking.Booked}, chip{"canceled", "cancelled", ""}},
		{
			booking.Ticket{Phase: booking.Canceled, Was: booking.Paid},
			chip{"canceled", "cancelled", "was paid"},
		},
		{refunded, chip{"refunded", "refunded 36.00 EUR", ""}},
	} {
		if got := chipOf(&x.ticket, now); got != x.want {
			t.Errorf("phase %d, carrier %d: %+v, want %+v", x.ticket.Phase, x.ticket.Carrier, got, x.want)
		}
	}
}
