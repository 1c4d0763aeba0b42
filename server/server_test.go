package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/server/reach/provider"
	"waybill/store"
	"waybill/store/durable"
)

// demoServer is a server on the demo network at scriptStart, with a partner's key.
func demoServer(t testing.TB, cfg Config) (*Server, string) {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return scriptStart }
	}
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	if s.Fresh() {
		err := s.Admin.Import(os.DirFS("../testdata/demo"), "demo", admin.ImportOptions{Strict: true},
			new(bytes.Buffer))
		if err != nil {
			t.Fatal(err)
		}
	}
	key, err := s.Admin.AddPartner("anna", nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, key
}

// answer is as much of any answer as these tests look at.
type answer struct {
	status int
	Data   struct {
		Offers []struct {
			ID     string
			Slices []struct{ Carriage struct{ Name string } }
		}
		Booking struct {
			ID      string
			Tickets []struct {
				ID, Status, PaymentStatus string
				Slices                    []struct {
					Seat  struct{ Label string }
					Route struct{ Name string }
					Stops []struct{ ID string }
				}
			}
		}
		Departures []struct {
			ID        string
			SeatsLeft int
		}
	}
	Errors []struct {
		ErrorCode string
		Details   struct {
			SeatsLeft *int
			OrdersIDs []string
		}
	}
}

func call(t testing.TB, s http.Handler, key, method, target, body string) (a answer) {
	t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Errorf("%s %s: %v: %s", method, target, err, w.Body)
	}
	a.status = w.Code
	return a
}

const bukovel = "departureCitySlug=ivano-frankivsk&arrivalCitySlug=bukovel"

func anOffer(t testing.TB, s *Server, key, query string) string {
	t.Helper()
	a := call(t, s, key, "GET", "/v2/offers?departureDate=2026-11-25&"+query, "")
	if len(a.Data.Offers) == 0 {
		t.Fatalf("no offer for %s: %+v", query, a)
	}
	return a.Data.Offers[0].ID
}

func bookingBody(offer string, passengers int) string {
	one := `{"firstName":"Lesia","lastName":"Ukrainka"}`
	return fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[%s]}`, offer,
		strings.Repeat(one+",", passengers-1)+one)
}

// Contract §8: no seat is sold twice, and of concurrent duplicates exactly one passes.
func TestManyBuyersFewSeats(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	token := anOffer(t, s, key, bukovel)
	var mu sync.Mutex
	var sold []answer
	var wg sync.WaitGroup
	for range 60 {
		wg.Go(func() {
			switch a := call(t, s, key, "POST", "/v2/bookings", bookingBody(token, 1)); a.status {
			case 201:
				mu.Lock()
				sold = append(sold, a)
				mu.Unlock()
			case 409:
				if a.Errors[0].Details.SeatsLeft == nil || *a.Errors[0].Details.SeatsLeft != 0 {
					t.Errorf("409 with %+v", a)
				}
			default:
				t.Errorf("status %d", a.status)
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
				a := call(t, s, key, "POST", "/v2/bookings/"+sold[0].Data.Booking.ID+"/"+action, "")
				if a.status == 200 {
					done.Add(1)
				} else if a.status != 409 {
					t.Errorf("%s: status %d", action, a.status)
				}
			})
		}
		if wg.Wait(); done.Load() != 1 {
			t.Errorf("%d of 20 concurrent %s went through", done.Load(), action)
		}
	}
	compareWithReplay(t, s, dir, false)
}

// feedWith is the demo feed with lines replaced.
func feedWith(t testing.TB, replace map[string][][2]string) fs.FS {
	t.Helper()
	feed := fstest.MapFS{}
	files, _ := filepath.Glob("../testdata/demo/*.txt")
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		for _, r := range replace[name] {
			if !strings.Contains(string(text), r[0]) {
				t.Fatalf("%s has no %q", name, r[0])
			}
			text = []byte(strings.ReplaceAll(string(text), r[0], r[1]))
		}
		feed[name] = &fstest.MapFile{Data: text}
	}
	return feed
}

func importFeed(t testing.TB, s *Server, feed fs.FS) {
	t.Helper()
	var out bytes.Buffer
	if err := s.Admin.Import(feed, "changed", admin.ImportOptions{}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
}

func seatsLeft(t *testing.T, s *Server, query string) int {
	t.Helper()
	a := call(t, s, "", "GET", "/v2/offers/schedule?date=2026-11-25&"+query, "")
	if len(a.Data.Departures) == 0 {
		return 0
	}
	return a.Data.Departures[0].SeatsLeft
}

// Contract §5, importing again: what was sold stays sold and shows what it showed.
func TestImportAgainKeepsWhatWasSold(t *testing.T) {
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	token := anOffer(t, s, key, bukovel)
	first := call(t, s, key, "POST", "/v2/bookings",
		bookingBody(anOffer(t, s, key, "departureCitySlug=ivano-frankivsk&arrivalCitySlug=yaremche"), 2))
	if first.status != 201 {
		t.Fatal(first)
	}
	// Yaremche is gone, the bus is smaller, the route is called otherwise: who
	// rode to Yaremche keeps the seat as far as the next stop, Bukovel.
	importFeed(t, s, feedWith(t, map[string][][2]string{
		"stop_times.txt":    {{"fb-0900,10:25:00,10:30:00,3,yaremche-bus,,\n", ""}},
		"waybill_buses.txt": {{"bus-zor-25,zorevia,3,", "bus-zor-25,zorevia,2,"}},
		"routes.txt":        {{"Carpathian Shuttle", "Mountain Express"}},
	}))
	if n := seatsLeft(t, s, bukovel); n != 0 {
		t.Errorf("%d seats are left to Bukovel, both are taken", n)
	}
	if n := seatsLeft(t, s, "departureCitySlug=nadvirna&arrivalCitySlug=bukovel"); n != 0 {
		t.Errorf("%d seats are left from Nadvirna", n)
	}
	a := call(t, s, key, "GET", "/v2/bookings/"+first.Data.Booking.ID, "")
	slice := a.Data.Booking.Tickets[0].Slices[0]
	if slice.Route.Name != "Carpathian Shuttle" || slice.Stops[2].ID != "yaremche-bus" {
		t.Errorf("the ticket shows %+v", slice)
	}
	// An offer of before: its ride has changed (another bus does not matter, the stops are the same).
	if a := call(t, s, key, "POST", "/v2/bookings", bookingBody(token, 1)); a.status != 409 {
		t.Errorf("status %d for an offer of a ride that has changed", a.status)
	}
	call(t, s, key, "POST", "/v2/bookings/"+first.Data.Booking.ID+"/cancel", "")
	if n := seatsLeft(t, s, bukovel); n != 2 {
		t.Errorf("%d seats are left after the cancel, want 2", n)
	}
	if a := call(t, s, key, "POST", "/v2/bookings",
		bookingBody(anOffer(t, s, key, bukovel), 2)); a.status != 201 ||
		a.Data.Booking.Tickets[0].Slices[0].Route.Name != "Mountain Express" {
		t.Errorf("%+v", a)
	}
	compareWithReplay(t, s, dir, false)
	// The trip is gone altogether: its tickets live on, also through a restart.
	importFeed(t, s, feedWith(t, map[string][][2]string{
		"trips.txt":      {{"fb-0900", "fb-0915"}},
		"stop_times.txt": {{"fb-0900", "fb-0915"}},
	}))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, key = demoServer(t, Config{Dir: dir, Now: func() time.Time {
		return scriptStart.Add(20 * time.Minute)
	}})
	if n := seatsLeft(t, s, bukovel); n != 3 {
		t.Errorf("%d seats are left on the new trip, want 3", n)
	}
	list := call(t, s, key, "GET", "/v2/bookings", "")
	if list.status != 200 {
		t.Error(list)
	}
	if _, err := verify.Directory(durable.Dir(dir), true, store.Expected{}); err != nil {
		t.Error(err)
	}
}

// Interface, pay: what the provider was asked before a crash is asked again, with the same idempotency id.
func TestACrashWhileTheProviderIsAskedLosesNothing(t *testing.T) {
	dir := t.TempDir()
	copied := filepath.Join(t.TempDir(), "copy")
	asked := make(chan provider.Confirmation)
	answer := make(chan error)
	s, key := demoServer(t, Config{Dir: dir, Confirm: func(_ context.Context, c provider.Confirmation) error {
		asked <- c
		return <-answer
	}})
	b := call(t, s, key, "POST", "/v2/bookings", bookingBody(anOffer(t, s, key, bukovel), 1)).Data.Booking
	var wg sync.WaitGroup
	wg.Go(func() { call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/pay", "") })
	before := <-asked
	// While it is asked, the ticket answers 409 to others.
	for _, action := range []string{"pay", "book", "cancel"} {
		a := call(t, s, key, "POST", "/v2/bookings/"+b.ID+"/"+action, "")
		if a.status != 409 || a.Errors[0].Details.OrdersIDs[0] != b.Tickets[0].ID {
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
	s2, key := demoServer(t, Config{Dir: copied, Now: func() time.Time {
		return scriptStart.Add(time.Hour)
	}, Confirm: func(_ context.Context, c provider.Confirmation) error {
		again <- c
		return nil
	}})
	if after := <-again; after != before {
		t.Errorf("asked %+v, after the crash %+v", before, after)
	}
	s2.Tasks.Wait()
	got := call(t, s2, key, "GET", "/v2/bookings/"+b.ID, "").Data.Booking
	if got.Tickets[0].PaymentStatus != "Paid" {
		t.Errorf("%+v", got)
	}
	compareWithReplay(t, s2, copied, false)
}

// Contract §3: a failed journal acknowledges nothing more.
func TestAFailedJournalAcknowledgesNothing(t *testing.T) {
	fsys := &failing{FS: durable.Dir(t.TempDir())}
	s, key := demoServer(t, Config{FS: fsys})
	token := anOffer(t, s, key, bukovel)
	fsys.broken.Store(true)
	a := call(t, s, key, "POST", "/v2/bookings", bookingBody(token, 1))
	if a.status != 500 || a.Errors[0].ErrorCode != "INTERNAL" {
		t.Errorf("%+v", a)
	}
	select {
	case <-s.Failed():
	default:
		t.Error("the failure is not told")
	}
	fsys.broken.Store(false)
	if a := call(t, s, key, "POST", "/v2/bookings", bookingBody(token, 1)); a.status != 500 {
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
