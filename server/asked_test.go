package server

import (
	"context"
	"sync"
	"testing"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/provider"
	"waybill/store"
)

// Interface, pay: what the provider has been asked and has not answered is in a snapshot too, with its
// idempotency id.
func TestASnapshotHasWhatTheProviderWasAsked(t *testing.T) {
	dir := t.TempDir()
	asked := make(chan provider.Confirmation)
	answer := make(chan error)
	s, key := demoServer(t, Config{Dir: dir, Confirm: func(_ context.Context, c provider.Confirmation) error {
		asked <- c
		return <-answer
	}})
	b := call(t, s, key, "POST", "/v2/bookings", bookingBody(anOffer(t, s, key, bukovel), 2)).Data.Booking
	var wg sync.WaitGroup
	wg.Go(func() {
		call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`)
	})
	c := <-asked
	if c.Action != booking.Book || c.Ticket.String() != b.Tickets[1].ID || c.Booking.String() != b.ID {
		t.Errorf("asked %+v", c)
	}
	compareWithReplay(t, s, dir, false)
	answer <- nil
	wg.Wait()
	compareWithReplay(t, s, dir, false)
}

// Decision verify.books: a line that would seat a ticket where another sits is found out, whatever the line
// says happened.
func TestALineThatTakesAnothersSeatIsFoundOut(t *testing.T) {
	s, key := demoServer(t, Config{})
	b := call(t, s, key, "POST", "/v2/bookings", bookingBody(anOffer(t, s, key, bukovel), 2)).Data.Booking
	second := ids.Of(b.Tickets[1].ID)
	err := s.Store.View(func(st ledger.State, at time.Time) {
		for seat, wrong := range map[int16]bool{1: true, 2: false, 3: false} {
			settled := booking.Settled{Booking: ids.Of(b.ID), Ticket: second, Seats: []int16{seat}}
			for _, e := range []ledger.Event{
				&booking.TicketPaid{Settled: settled}, &booking.TicketBooked{Settled: settled},
				&booking.Asked{Settled: settled, Action: booking.Pay},
			} {
				err := ledger.Check(st, store.Stamp{Time: at}, ledger.Entry{Event: e})
				if (err != nil) != wrong {
					t.Errorf("%T on seat %d: %v", e, seat, err)
				}
			}
			later := store.Stamp{Time: at.Add(web.OfferLife)}
			err := ledger.Check(st, later, ledger.Entry{Event: &booking.TicketBooked{Settled: settled}})
			if err != nil {
				t.Errorf("seat %d when the window of the other is over: %v", seat, err)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
