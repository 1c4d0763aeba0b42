package provider_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
	"waybill/server/reach/provider"
)

// Decision peers.places: calls of the provider have their places, whatever many payments ask for: each may
// need a file. Those that have no turn in time are refused without having been asked about, and can be paid
// later.
func TestCallsOfTheProviderHaveTheirPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asking, most atomic.Int64
		hangs := func(ctx context.Context, _ provider.Confirmation) error {
			most.Store(max(most.Load(), asking.Add(1)))
			defer asking.Add(-1)
			<-ctx.Done()
			return ctx.Err()
		}
		s, key := rig.Demo(t, server.Config{Now: rig.BubbleClock(), Confirm: hangs})
		rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
			"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,200,"}}}))
		offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv&passengers=150")
		statuses := make(chan int, 8)
		for range cap(statuses) {
			b := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 16)).Data.Booking
			go func() { statuses <- rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "").Status }()
		}
		synctest.Wait()
		if asking.Load() != web.MaxAsking/2 {
			t.Errorf("%d calls of a partner's are under way, want %d", asking.Load(), web.MaxAsking/2)
		}
		time.Sleep(time.Minute)
		for range cap(statuses) {
			if status := <-statuses; status != 500 {
				t.Errorf("a payment that had no answer is %d", status)
			}
		}
		if most.Load() > web.MaxAsking/2 {
			t.Errorf("%d calls at a time", most.Load())
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Decision places.half: however many tickets a partner pays, another's are asked about.
func TestAnotherPartnerIsAskedForNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(context.Context, provider.Confirmation) error {
			time.Sleep(2 * time.Second)
			return nil
		}
		s, key := rig.Demo(t, server.Config{Now: rig.BubbleClock(), Confirm: slow})
		rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
			"waybill_buses.txt": {{"bus-zor-01,zorevia,19,", "bus-zor-01,zorevia,200,"}}}))
		other, err := s.Admin.AddPartner("other", nil)
		if err != nil {
			t.Fatal(err)
		}
		const journey = "departureCitySlug=kyiv&arrivalCitySlug=lviv&passengers="
		offer := rig.Offer(t, s, key, journey+"150")
		for range 8 {
			b := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 16)).Data.Booking
			go rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
		}
		synctest.Wait()
		b := rig.Call(t, s, other, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, other, journey+"1"), 1)).Data.Booking
		start := time.Now()
		status := rig.Call(t, s, other, "POST", "/v2/bookings/"+b.ID+"/pay", "").Status
		if took := time.Since(start); status != 200 || took != 2*time.Second {
			t.Errorf("it is paid after %v: %d", took, status)
		}
		time.Sleep(time.Minute)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// Interface, pay: a start asks about a ticket until it is answered. A provider that says nothing does not let
// it go: it may have confirmed before, and the seat is not free.
func TestAStartAsksUntilTheProviderAnswers(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		var answers atomic.Bool
		confirm := func(ctx context.Context, _ provider.Confirmation) error {
			calls.Add(1)
			if answers.Load() {
				return nil
			}
			<-ctx.Done()
			return ctx.Err()
		}
		now := rig.BubbleClock()
		s, key := rig.Demo(t, server.Config{Dir: dir, Now: now, Confirm: confirm})
		b := rig.Call(t, s, key, "POST", "/v2/bookings",
			rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
		go rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "")
		synctest.Wait()
		if err := s.Close(); err != nil { // the call is broken off, as by a crash
			t.Fatal(err)
		}
		silent := func(context.Context, provider.Confirmation) error {
			calls.Add(1)
			if answers.Load() {
				return nil
			}
			return context.DeadlineExceeded
		}
		s, key = rig.Demo(t, server.Config{Dir: dir, Now: now, Confirm: silent})
		time.Sleep(24 * time.Hour)
		synctest.Wait()
		waiting := func() string {
			x := rig.Call(t, s, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking.Tickets[0]
			return x.Status + "/" + x.PaymentStatus
		}
		if got := waiting(); got != "Processing/Unpaid" {
			t.Errorf("a day later the ticket is %s", got)
		}
		if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 2 {
			t.Errorf("%d seats are left while the answer is out, want 2", n)
		}
		if n := calls.Load(); n < 10 {
			t.Errorf("it was asked %d times in a day", n)
		}
		answers.Store(true)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		var out strings.Builder
		err := s.Admin.Do("ticket-asked", &admin.Act{Out: &out})
		if err != nil || !strings.HasPrefix(out.String(), "0 tickets") {
			t.Errorf("%v: %s", err, &out)
		}
		if got := waiting(); got != "Confirmed/Paid" {
			t.Errorf("after the answer the ticket is %s", got)
		}
		rig.CompareWithReplay(t, s, dir, true)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
