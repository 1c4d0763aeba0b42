package server

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Contract §12: calls of the provider have their places, whatever many payments ask for: each may need a file. Those
// that have no turn in time are refused without having been asked about, and can be paid later.
func TestCallsOfTheProviderHaveTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asking, most atomic.Int64
		hangs := func(ctx context.Context, _ Confirmation) error {
			most.Store(max(most.Load(), asking.Add(1)))
			defer asking.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		s, key := demoServer(t, Config{Now: bubbleClock(), Confirm: hangs})
		importFeed(t, s, feedWith(t, map[string][][2]string{
			"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,200,"}}}))
		offer := anOffer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv&passengers=150")
		statuses := make(chan int, 8)
		for range cap(statuses) {
			b := call(t, s, key, "POST", "/v2/bookings", bookingBody(offer, 16)).Data.Booking
			go func() { statuses <- call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "").status }()
		}
		synctest.Wait()
		if asking.Load() != maxAsking {
			t.Errorf("%d calls are under way, want %d", asking.Load(), maxAsking)
		}
		time.Sleep(time.Minute)
		for range cap(statuses) {
			if status := <-statuses; status != 500 {
				t.Errorf("a payment that had no answer is %d", status)
			}
		}
		if most.Load() > maxAsking {
			t.Errorf("%d calls at a time", most.Load())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
