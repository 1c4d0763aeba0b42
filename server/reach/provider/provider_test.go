package provider_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/server/reach/provider"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Interface, pay; booking.TicketAsked: a ticket the provider was asked about keeps its seat until the answer,
// whatever its window.
func TestATicketTheProviderWasAskedAboutKeepsItsSeat(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: rig.BubbleClock(),
			Confirm: func(context.Context, provider.Confirmation) error {
				return <-answer
			}})
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 3)).Data.Booking
		for _, ticket := range b.Tickets[:2] {
			go func() {
				body := `{"ticketIds":["` + ticket.ID + `"]}`
				if a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", body); a.Status != 200 {
					t.Errorf("pay: %+v", a)
				}
			}()
		}
		synctest.Wait()
		time.Sleep(24 * time.Hour)
		// The third, about which nobody was asked, is Uncompleted and has lost its seat.
		got := rig.Call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking
		if got.Tickets[0].Status != "Processing" || got.Tickets[1].Status != "Processing" ||
			got.Tickets[2].Status != "Uncompleted" {
			t.Errorf("while the provider is asked: %+v", got)
		}
		if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 1 {
			t.Errorf("%d seats are left while the provider is asked about two, want 1", n)
		}
		offer := rig.Offer(t, s, key, rig.Bukovel)
		a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 2))
		if a.Status != 409 || *a.Errors[0].Details.SeatsLeft != 1 {
			t.Errorf("a sale of two seats of which one is kept: %+v", a)
		}
		a = rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1))
		if a.Status != 201 || a.Data.Booking.Tickets[0].Slices[0].Seat.Label != "3" {
			t.Errorf("%+v", a)
		}
		answer <- nil
		answer <- nil
		synctest.Wait()
		got = rig.Call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking
		if got.Tickets[0].PaymentStatus != "Paid" || got.Tickets[1].PaymentStatus != "Paid" {
			t.Errorf("after the answers: %+v", got)
		}
		rig.CompareWithReplay(t, s, dir, false)
		s.Close()
	})
	if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}

// Interface, pay: the provider's answer is kept though the client that asked has gone.
func TestTheProvidersAnswerIsKeptThoughTheClientHasGone(t *testing.T) {
	dir := t.TempDir()
	ctx, leave := context.WithCancel(context.Background())
	s, key := rig.Demo(t, server.Config{Dir: dir,
		Confirm: func(asked context.Context, _ provider.Confirmation) error {
			leave()
			return asked.Err()
		}})
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 2)).Data.Booking
	r := httptest.NewRequestWithContext(ctx, "POST", "/v2/bookings/"+b.ID+"/pay", strings.NewReader(""))
	r.Header.Set("x-api-key", key)
	s.ServeHTTP(httptest.NewRecorder(), r)
	for _, ticket := range rig.Call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking.Tickets {
		if ticket.PaymentStatus != "Paid" {
			t.Errorf("%+v", ticket)
		}
	}
	rig.CompareWithReplay(t, s, dir, false)
}
