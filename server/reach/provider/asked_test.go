package provider_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/reach/provider"
	"waybill/store/journal"
)

// Interface, pay: what the provider has been asked and has not answered is in a snapshot too, with its
// idempotency id.
func TestASnapshotHasWhatTheProviderWasAsked(t *testing.T) {
	dir := t.TempDir()
	asked := make(chan provider.Confirmation)
	answer := make(chan error)
	s, key := rig.Demo(t,
		server.Config{Dir: dir, Confirm: func(_ context.Context, c provider.Confirmation) error {
			asked <- c
			return <-answer
		}})
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 2)).Data.Booking
	var wg sync.WaitGroup
	wg.Go(func() {
		rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/book", `{"ticketIds":["`+b.Tickets[1].ID+`"]}`)
	})
	c := <-asked
	if c.Action != booking.Book || c.Ticket.String() != b.Tickets[1].ID || c.Booking.String() != b.ID {
		t.Errorf("asked %+v", c)
	}
	rig.CompareWithReplay(t, s, dir, false)
	answer <- nil
	wg.Wait()
	rig.CompareWithReplay(t, s, dir, false)
}

// Decision verify.books: a line that would seat a ticket where another sits is found out, whatever the line
// says happened.
func TestALineThatTakesAnothersSeatIsFoundOut(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 2)).Data.Booking
	rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", `{"ticketIds":["`+b.Tickets[0].ID+`"]}`)
	second := ids.Of(b.Tickets[1].ID)
	err := s.Store.View(func(st ledger.State, at time.Time) {
		lapsed := journal.Stamp{Time: at.Add(web.OfferLife)}
		for seat, wrong := range map[int16]bool{1: true, 2: false, 3: false} {
			settled := booking.Settled{Booking: ids.Of(b.ID), Ticket: second, Seats: []int16{seat}}
			for _, e := range []ledger.Event{
				&booking.TicketPaid{Settled: settled}, &booking.TicketBooked{Settled: settled},
				&booking.TicketAsked{Settled: settled, Action: booking.Pay},
			} {
				err := ledger.Check(st, lapsed, ledger.Entry{Event: e, Before: st.Before(e)})
				if (err != nil) != wrong {
					t.Errorf("%T on seat %d: %v", e, seat, err)
				}
			}
			booked := &booking.TicketBooked{Settled: settled}
			entry := ledger.Entry{Event: booked, Before: st.Before(booked)}
			if ledger.Check(st, journal.Stamp{Time: at}, entry) == nil {
				t.Errorf("seat %d is given to a ticket that has its own", seat)
			}
			settled.Seats = nil
			booked = &booking.TicketBooked{Settled: settled}
			entry = ledger.Entry{Event: booked, Before: st.Before(booked)}
			if ledger.Check(st, lapsed, entry) == nil {
				t.Error("a ticket that has lapsed is booked without a seat")
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// The provider is asked about each ticket with a signed call: what it says decides, what may pass is asked
// again, and one that fails leaves its siblings paid.
func TestTheProviderIsAskedAboutEachTicket(t *testing.T) {
	for _, c := range []struct {
		what   string
		status func(n int, body string) int
		calls  int
		undone int
	}{
		{"confirms", rig.Always(204), 2, 0},
		{"refuses", rig.Always(422), 2, 2},
		{"fails twice, then confirms", func(n int, _ string) int { return []int{500, 503, 200}[min((n-1)/2, 2)] }, 6, 0},
		{"fails", rig.Always(500), 6, 2},
		{"hangs up after reading", rig.Always(0), 6, 2},
		{"redirects", rig.Always(307), 6, 2},
		{"refuses one", func(_ int, body string) int {
			return map[bool]int{true: 200, false: 409}[strings.Contains(body, `"label":"1"`)]
		}, 2, 1},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			p := rig.NewPeer(t, c.status)
			dir := t.TempDir()
			s, key := rig.Demo(t, server.Config{Dir: dir, ProviderURL: p.URL})
			defer s.Close()
			b := rig.Call(t, s, key, "POST", "/v2/bookings",
				rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 2)).Data.Booking
			a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
			if c.undone == 0 && a.Status != 200 || c.undone > 0 &&
				(a.Status != 500 || a.Errors[0].ErrorCode != "PROVIDER_FAILED" ||
					len(a.Errors[0].Details.OrdersIDs) != c.undone) {
				t.Errorf("%+v", a)
			}
			calls := p.Sent()
			ids := map[string]int{}
			for _, x := range calls {
				ids[x.ID]++
				x.Signed(t, dir)
				x.Documented(t, "confirmTicket")
				var doc struct {
					ID, Action string
					Ticket     struct {
						ID, Status string
						Slices     []struct{ Seat struct{ Label string } }
					}
				}
				err := json.Unmarshal([]byte(x.Body), &doc)
				if err != nil || `"`+doc.ID+`"` != x.ID ||
					doc.Action != "pay" || doc.Ticket.Slices[0].Seat.Label == "" {
					t.Errorf("%v: %s %s", err, x.ID, x.Body)
				}
			}
			if len(calls) != c.calls || len(ids) != 2 {
				t.Errorf("%d calls with the ids %v, want %d with 2", len(calls), ids, c.calls)
			}
			paid := 0
			for _, ticket := range rig.Call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking.Tickets {
				if ticket.PaymentStatus == "Paid" {
					paid++
				}
			}
			if paid != 2-c.undone {
				t.Errorf("%d tickets are paid", paid)
			}
			rig.CompareWithReplay(t, s, dir, false)
		})
	}
}

// Decision provider.asked: a provider that asks to wait for longer than a request may take is not waited for:
// neither by the client, nor by the loop, which holds a place that others may need.
func TestAProviderThatAsksToWaitForLongIsLeft(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(busy.Close)
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir, ProviderURL: busy.URL})
	pay := "/v2/bookings/" + rig.NewBookingID(t, s, key) + "/pay"
	if a := rig.Call(t, s, key, "POST", pay, ""); a.Status != 500 ||
		a.Errors[0].ErrorCode != "PROVIDER_FAILED" || calls.Load() != 1 {
		t.Errorf("%+v after %d calls", a, calls.Load())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	asked := make(chan bool)
	hangs := func(ctx context.Context, _ provider.Confirmation) error {
		asked <- true
		<-ctx.Done()
		return ctx.Err()
	}
	s, key = rig.Demo(t, server.Config{Dir: dir, Confirm: hangs})
	go rig.Call(t, s, key, "POST", pay, "")
	<-asked
	if err := s.Close(); err != nil { // the ticket stays in doubt
		t.Fatal(err)
	}
	log := new(rig.Logged)
	rig.Demo(t, server.Config{Dir: dir, ProviderURL: busy.URL, Log: slog.New(slog.NewTextHandler(log, nil))})
	rig.Eventually(t, "the try ends", func() bool { return log.Has("WARN", "the provider did not confirm") })
}
