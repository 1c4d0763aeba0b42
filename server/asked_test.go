package server

import (
	"context"
	"sync"
	"testing"

	"waybill/booking"
)

// Interface, pay: what the provider has been asked and has not answered is in a snapshot too, with its idempotency id.
func TestASnapshotHasWhatTheProviderWasAsked(t *testing.T) {
	dir := t.TempDir()
	asked, answer := make(chan Confirmation), make(chan error)
	s, key := demoServer(t, Config{Dir: dir, Confirm: func(_ context.Context, c Confirmation) error {
		asked <- c
		return <-answer
	}})
	b := call(t, s, key, "POST", "/v2/bookings", bookingBody(anOffer(t, s, key, bukovel), 2)).Data.Booking
	var wg sync.WaitGroup
	wg.Go(func() { call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`) })
	c := <-asked
	if c.Action != booking.Book || c.Ticket.String() != b.Tickets[1].ID || c.Booking.String() != b.ID {
		t.Errorf("asked %+v", c)
	}
	compareWithReplay(t, s, dir, false)
	answer <- nil
	wg.Wait()
	compareWithReplay(t, s, dir, false)
}
