package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/proof/verify"
	"waybill/server/reach/provider"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Decision changes.pointless: a journey of the day after the asked one that has not seats enough hides none.
func TestWhatIsFullTheDayAfterHidesNothing(t *testing.T) {
	s, key := rig.Demo(t, server.Config{MaxTransfers: 1})
	for passengers, want := range map[int]int{49: 2, 50: 1} {
		a := rig.Call(t, s, key, "GET", fmt.Sprintf("/v2/offers?departureCitySlug=lublin&arrivalCitySlug=krakow&"+
			"departureDate=2026-11-25&passengers=%d", passengers), "")
		if len(a.Data.Offers) != want {
			t.Errorf("for %d passengers: %d offers, want %d", passengers, len(a.Data.Offers), want)
		}
	}
}

// Decision seats.whole: no seat is sold twice, and of concurrent duplicates exactly one passes.
func TestManyBuyersFewSeats(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	token := rig.Offer(t, s, key, rig.Bukovel)
	var mu sync.Mutex
	var sold []rig.Answer
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			switch a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(token, 1)); a.Status {
			case 201:
				mu.Lock()
				sold = append(sold, a)
				mu.Unlock()
			case 409:
				if a.Errors[0].Details.SeatsLeft == nil || *a.Errors[0].Details.SeatsLeft != 0 {
					t.Errorf("409 with %+v", a)
				}
			default:
				t.Errorf("status %d", a.Status)
			}
		})
	}
	wg.Wait()
	var seats []string
	for _, a := range sold {
		seats = append(seats, a.Data.Booking.Tickets[0].Slices[0].Seat.Label)
	}
	if slices.Sort(seats); !slices.Equal(seats, []string{"1", "2", "3"}) {
		t.Fatalf("sold the seats %v", seats)
	}
	for _, action := range []string{"book", "pay", "cancel"} {
		var done atomic.Int32
		for range 20 {
			wg.Go(func() {
				a := rig.Call(t, s, key, "POST", "/v2/bookings/"+sold[0].Data.Booking.ID+"/"+action, "")
				if a.Status == 200 {
					done.Add(1)
				} else if a.Status != 409 {
					t.Errorf("%s: status %d", action, a.Status)
				}
			})
		}
		if wg.Wait(); done.Load() != 1 {
			t.Errorf("%d of 20 concurrent %s went through", done.Load(), action)
		}
	}
	rig.CompareWithReplay(t, s, dir, false)
}

// Decision timetable.rides: what was sold stays sold and shows what it showed.
func TestImportAgainKeepsWhatWasSold(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	token := rig.Offer(t, s, key, rig.Bukovel)
	first := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, "departureCitySlug=ivano-frankivsk&arrivalCitySlug=yaremche"),
			2))
	if first.Status != 201 {
		t.Fatal(first)
	}
	// Yaremche is gone, the bus is smaller, the route is called otherwise: who
	// rode to Yaremche keeps the seat as far as the next stop, Bukovel.
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"stop_times.txt":    {{"fb-0900,10:25:00,10:30:00,3,yaremche-bus,,\n", ""}},
		"waybill_buses.txt": {{"bus-zor-25,zorevia,3,", "bus-zor-25,zorevia,2,"}},
		"routes.txt":        {{"Carpathian Shuttle", "Mountain Express"}},
	}))
	if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 0 {
		t.Errorf("%d seats are left to Bukovel, both are taken", n)
	}
	if n := rig.SeatsLeft(t, s, "departureCitySlug=nadvirna&arrivalCitySlug=bukovel"); n != 0 {
		t.Errorf("%d seats are left from Nadvirna", n)
	}
	a := rig.Call(t, s, key, "GET", "/v2/bookings/"+first.Data.Booking.ID, "")
	slice := a.Data.Booking.Tickets[0].Slices[0]
	if slice.Route.Name != "Carpathian Shuttle" || slice.Stops[2].ID != "yaremche-bus" {
		t.Errorf("the ticket shows %+v", slice)
	}
	// An offer of before: its ride has changed (another bus does not matter, the stops are the same).
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(token, 1)); a.Status != 409 {
		t.Errorf("status %d for an offer of a ride that has changed", a.Status)
	}
	rig.Call(t, s, key, "POST", "/v2/bookings/"+first.Data.Booking.ID+"/cancel", "")
	if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 2 {
		t.Errorf("%d seats are left after the cancel, want 2", n)
	}
	if a := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 2)); a.Status != 201 ||
		a.Data.Booking.Tickets[0].Slices[0].Route.Name != "Mountain Express" {
		t.Errorf("%+v", a)
	}
	rig.CompareWithReplay(t, s, dir, false)
	// The trip is gone altogether: its tickets live on, also through a restart.
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{
		"trips.txt":      {{"fb-0900", "fb-0915"}},
		"stop_times.txt": {{"fb-0900", "fb-0915"}},
	}))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, key = rig.Demo(t, server.Config{Dir: dir, Now: func() time.Time {
		return rig.Start.Add(20 * time.Minute)
	}})
	if n := rig.SeatsLeft(t, s, rig.Bukovel); n != 3 {
		t.Errorf("%d seats are left on the new trip, want 3", n)
	}
	list := rig.Call(t, s, key, "GET", "/v2/bookings", "")
	if list.Status != 200 {
		t.Error(list)
	}
	if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
		t.Error(err)
	}
}

// Interface, pay: what the provider was asked before a crash is asked again, with the same idempotency id.
func TestACrashWhileTheProviderIsAskedLosesNothing(t *testing.T) {
	dir := t.TempDir()
	copied := filepath.Join(t.TempDir(), "copy")
	asked := make(chan provider.Confirmation)
	answer := make(chan error)
	s, key := rig.Demo(t,
		server.Config{Dir: dir, Confirm: func(_ context.Context, c provider.Confirmation) error {
			asked <- c
			return <-answer
		}})
	b := rig.Call(t, s, key, "POST", "/v2/bookings",
		rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)).Data.Booking
	var wg sync.WaitGroup
	wg.Go(func() { rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "") })
	before := <-asked
	// While it is asked, the ticket answers 409 to others.
	for _, action := range []string{"pay", "book", "cancel"} {
		a := rig.Call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/"+action, "")
		if a.Status != 409 || a.Errors[0].Details.OrdersIDs[0] != b.Tickets[0].ID {
			t.Errorf("%s: %+v", action, a)
		}
	}
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	answer <- errors.New("no")
	wg.Wait()
	// The window is over by now, but the seat was kept for the answer.
	again := make(chan provider.Confirmation, 1)
	s2, key := rig.Demo(t, server.Config{Dir: copied, Now: func() time.Time {
		return rig.Start.Add(time.Hour)
	}, Confirm: func(_ context.Context, c provider.Confirmation) error {
		again <- c
		return nil
	}})
	if after := <-again; after != before {
		t.Errorf("asked %+v, after the crash %+v", before, after)
	}
	s2.RunDue() // the answer is kept
	got := rig.Call(t, s2, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking
	if got.Tickets[0].PaymentStatus != "Paid" {
		t.Errorf("%+v", got)
	}
	rig.CompareWithReplay(t, s2, copied, false)
}

// Decision journal.failed: a failed journal acknowledges nothing more.
func TestAFailedJournalAcknowledgesNothing(t *testing.T) {
	fsys := &failing{FS: durable.Dir(t.TempDir())}
	s, key := rig.Demo(t, server.Config{FS: fsys})
	token := rig.Offer(t, s, key, rig.Bukovel)
	fsys.broken.Store(true)
	a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(token, 1))
	if a.Status != 500 || a.Errors[0].ErrorCode != "INTERNAL" {
		t.Errorf("%+v", a)
	}
	select {
	case <-s.Failed():
	default:
		t.Error("the failure is not told")
	}
	fsys.broken.Store(false)
	if a := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(token, 1)); a.Status != 500 {
		t.Errorf("%+v", a)
	}
}

// failing is a file system whose files stop to sync.
type failing struct {
	durable.FS
	broken atomic.Bool
}

type failingFile struct {
	durable.File
	fs *failing
}

func (f *failing) Append(name string) (durable.File, error) {
	file, err := f.FS.Append(name)
	return failingFile{file, f}, err
}

func (f *failing) Create(name string) (durable.File, error) {
	file, err := f.FS.Create(name)
	return failingFile{file, f}, err
}

func (f failingFile) Sync() error {
	if f.fs.broken.Load() {
		return errors.New("the disk does not answer")
	}
	return f.File.Sync()
}
