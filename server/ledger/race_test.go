package ledger_test

import (
	"sync"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
)

// Design, State and events: a page that a snapshot shares is never written, and a snapshot is encoded without
// the lock. With the race detector this finds whoever writes into one.
func TestSnapshotsBesideRequests(t *testing.T) {
	s, key := rig.Demo(t, server.Config{Now: func() time.Time { return rig.Start }})
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	id := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 2)).Data.Booking.ID
	var wg sync.WaitGroup
	work := func(do func()) {
		wg.Go(func() {
			for range 30 {
				do()
			}
		})
	}
	work(func() {
		made := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1)).Data.Booking.ID
		for _, action := range []string{"/book", "/pay", "/cancel"} {
			rig.Ask(s, key, "POST", "/v2/bookings/"+made+action, "")
		}
	})
	work(func() { rig.Ask(s, key, "GET", "/v2/bookings/"+id, "") })
	work(func() { rig.Ask(s, key, "GET", "/rest/orders", "") })
	work(func() {
		if err := s.Store.Snapshot(); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
}
