package provider_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/server/reach/outbound"
	"waybill/server/reach/provider"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Decision disk.full: the provider's answer waits for room. It is neither lost nor told to be nothing, and
// what the client hears is true: first that it waits, then what it was.
func TestTheProvidersAnswerWaitsForRoom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		answer          error
		status, payment string
	}{
		{"confirmed", nil, "Confirmed", "Paid"},
		{"refused", outbound.ErrRefused, "Processing", "Unpaid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			disk := &rig.Crowded{FS: durable.Dir(t.TempDir())}
			synctest.Test(t, func(t *testing.T) {
				asked := make(chan bool)
				answer := make(chan error)
				var first sync.Once // asked again, it answers the same
				s, key := rig.Demo(t, server.Config{Dir: string(disk.FS.(durable.Dir)), FS: disk,
					Now: rig.BubbleClock(),
					Confirm: func(context.Context, provider.Confirmation) error {
						first.Do(func() {
							asked <- true
							<-answer
						})
						return c.answer
					}})
				b := rig.Call(t, s, key, "POST", "/v2/bookings",
					rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
				paid := make(chan *httptest.ResponseRecorder)
				go func() {
					r := httptest.NewRequest("POST", "/v2/bookings/"+b.ID+"/pay", nil)
					r.Header.Set("x-api-key", key)
					r.Header.Set("Idempotency-Key", "once")
					w := httptest.NewRecorder()
					s.ServeHTTP(w, r)
					paid <- w
				}()
				<-asked
				disk.Fill(t, s, key)
				answer <- c.answer
				if w := <-paid; w.Code != 503 || strings.Contains(w.Body.String(), "nothing was changed") {
					t.Errorf("the client hears %d %s", w.Code, w.Body)
				}
				a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
				if a.Status != 503 && a.Status != 409 {
					t.Errorf("pay while the answer waits: %+v", a)
				}
				disk.Full.Store(false)
				time.Sleep(5 * time.Second)
				synctest.Wait()
				got := rig.Call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking.Tickets[0]
				if got.Status != c.status || got.PaymentStatus != c.payment {
					t.Errorf("when there is room: %+v, want %s/%s", got, c.status, c.payment)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			if _, err := verify.Directory(disk.FS, false, inspect.Expected{}); err != nil {
				t.Error(err)
			}
		})
	}
}
