package server

import (
	"sync"
	"testing"
	"time"
)

// A page that a snapshot shares is never written, and a snapshot is encoded without the lock. With the race
// detector this finds whatever writes into one.
func TestSnapshotsBesideRequests(t *testing.T) {
	s, key := demoServer(t, Config{Now: func() time.Time { return scriptStart }})
	offer := anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	id := call(t, s, key, "POST", "/v2/bookings", bookingBody(offer, 2)).Data.Booking.ID
	var wg sync.WaitGroup
	work := func(do func()) {
		wg.Go(func() {
			for range 30 {
				do()
			}
		})
	}
	work(func() {
		made := call(t, s, key, "POST", "/v2/bookings", bookingBody(offer, 1)).Data.Booking.ID
		for _, action := range []string{"/book", "/pay", "/cancel"} {
			ask(s, key, "POST", "/v2/bookings/"+made+action, "")
		}
	})
	work(func() { ask(s, key, "GET", "/v2/bookings/"+id, "") })
	work(func() { ask(s, key, "GET", "/rest/orders", "") })
	work(func() {
		if err := s.Store.Snapshot(); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
}
