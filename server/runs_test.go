package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store"
	"waybill/store/durable"
)

const (
	kyivLviv = "departureCitySlug=kyiv&arrivalCitySlug=lviv"
	runDay   = "2026-11-25" // of anOffer
)

// doWithRun does something with a run as the operator, and returns what that said.
func doWithRun(s *Server, do, trip string, more ...string) (string, error) {
	form := url.Values{
		"trip":   {trip},
		"date":   {runDay},
		"reason": {"snow"},
	}
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	var out strings.Builder
	err := s.Admin.Do("run-"+do, &admin.Act{Form: form, Out: &out})
	return out.String(), err
}

// Contract §15: a run that is cancelled while an offer of it is sold is not sold any more; one that is moved
// meanwhile is sold at its new times, or not.
func TestARunIsChangedWhileAnOfferIsSold(t *testing.T) {
	for name, test := range map[string]struct {
		do     string
		more   []string
		status int
	}{
		"cancelled": {"cancel", nil, 409},
		"moved":     {"move", []string{"minutes", "45"}, 409},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, w := soldWhile(t, dir, kyivLviv, func(s *Server) {
				if said, err := doWithRun(s, test.do, "kl-0530", test.more...); err != nil {
					t.Error(said, err)
				}
			})
			if w.Code != test.status || !strings.Contains(w.Body.String(), `"CHANGED"`) {
				t.Errorf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
			compareWithReplay(t, s, dir, false)
		})
	}
}

// manyActs does what partners, passengers and carriers may do, in an order that a seed makes.
type manyActs struct {
	*testing.T
	*rand.Rand
	dir  string
	now  func() time.Time
	s    *Server
	key  string
	made []string // bookings
	done map[string]int
}

// open starts the server on what is in the directory.
func (m *manyActs) open() {
	m.s, m.key = demoServer(m.T, Config{Dir: m.dir, Now: m.now})
}

// step does one thing. What is refused is as good as what is done: what matters is what the journal holds.
func (m *manyActs) step() {
	trip := []string{"kl-0530", "kl-0700"}[m.IntN(2)]
	did := ""
	note := func(what string, ok bool) {
		if ok {
			did = what
		}
	}
	switch n := m.IntN(20); {
	case n < 6:
		a := call(m, m.s, m.key, "GET", "/v2/offers?departureDate="+runDay+"&"+kyivLviv, "")
		if len(a.Data.Offers) == 0 {
			return
		}
		offer := a.Data.Offers[m.IntN(len(a.Data.Offers))].ID
		a = call(m, m.s, m.key, "POST", "/v2/bookings", bookingBody(offer, 1+m.IntN(4)))
		note("sold", a.status == 201)
		if a.status == 201 {
			m.made = append(m.made, a.Data.Booking.ID)
		}
	case n < 12 && len(m.made) > 0:
		action := []string{"pay", "book", "cancel"}[m.IntN(3)]
		id := m.made[m.IntN(len(m.made))]
		note(action, call(m, m.s, m.key, "POST", "/v2/bookings/"+id+"/"+action, "").status == 200)
	case n < 14:
		_, err := doWithRun(m.s, "move", trip, "minutes", fmt.Sprint(m.IntN(400)-200))
		note("move", err == nil)
	case n < 16:
		_, err := doWithRun(m.s, "restore", trip)
		note("restore", err == nil)
	case n == 16:
		_, err := doWithRun(m.s, "cancel", trip)
		note("cancel a run", err == nil)
	case n == 17:
		feed := feedWith(m, map[string][][2]string{"waybill_buses.txt": {{"bus-zor-25,zorevia,3,",
			fmt.Sprintf("bus-zor-25,zorevia,%d,", 2+m.IntN(3))}}})
		importFeed(m, m.s, feed)
		note("import", true)
	case n == 18:
		time.Sleep(time.Duration(m.IntN(25)) * time.Minute) // in a bubble
		note("wait", true)
	default:
		if err := m.s.Close(); err != nil {
			m.Fatal(err)
		}
		if m.IntN(2) == 0 { // without a snapshot all is read from the lines
			os.RemoveAll(filepath.Join(m.dir, "snapshots"))
		}
		m.open()
		note("start again", true)
	}
	m.done[did]++
}

// Whatever happens to runs and to those who travel on them, in any order: a replay of the journal gives the
// state, no seat is sold twice, the holds are those of the tickets, and the books are right.
func TestRunsAreChangedInAnyOrder(t *testing.T) {
	t.Parallel()
	done := map[string]int{}
	for seed := range uint64(4) {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			m := &manyActs{
				T:    t,
				Rand: rand.New(rand.NewPCG(seed, 20)),
				dir:  dir,
				now:  bubbleClock(),
				done: done,
			}
			m.open()
			for range 120 {
				m.step()
			}
			synctest.Wait() // what time alone brings about is noted beside
			compareWithReplay(t, m.s, dir, true)
			if err := m.s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := verify.Directory(durable.Dir(dir), true, store.Expected{}); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
	// A test in which nothing happens proves nothing.
	for _, what := range []string{"sold", "pay", "book", "cancel", "move", "restore", "cancel a run",
		"import", "wait", "start again"} {
		if done[what] == 0 {
			t.Errorf("nothing was done of %q: %v", what, done)
		}
	}
}

// A machine that stops at any line of a journal with changed runs starts again with what the lines before
// say, and the operator can cancel the runs then.
func TestAMachineStopsAtAnyLineOfAChangedRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	change := func(acts ...[]string) {
		for _, act := range acts {
			if said, err := doWithRun(s, act[0], "kl-0530", act[1:]...); err != nil {
				t.Fatal(said, err)
			}
		}
	}
	change([]string{"move", "minutes", "30"}, []string{"restore"})
	order := bookingBody(anOffer(t, s, key, kyivLviv), 3)
	booked := call(t, s, key, "POST", "/v2/bookings", order).Data.Booking
	call(t, s, key, "POST", "/v2/bookings/"+booked.ID+"/pay",
		`{"ticketIds":["`+booked.Tickets[0].ID+`"]}`)
	change([]string{"move", "minutes", "-20"}, []string{"move", "minutes", "60"}, []string{"cancel"})
	journal, err := os.ReadFile(filepath.Join(dir, journalFile))
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(journal, []byte("\n"))
	const changes = 7 // lines: two changes, the sale, the payment, three changes
	begin := len(lines) - 1 - changes
	for n := begin; n < len(lines)-1; n++ {
		cut := filepath.Join(t.TempDir(), "cut")
		for _, part := range []string{ledger.TimetableDir, "journal"} {
			if err := os.CopyFS(filepath.Join(cut, part), os.DirFS(filepath.Join(dir, part))); err != nil {
				t.Fatal(err)
			}
		}
		format, err := os.ReadFile(filepath.Join(dir, "FORMAT"))
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string][]byte{
			"FORMAT":    format,
			journalFile: append(bytes.Join(lines[:n], nil), lines[n][:len(lines[n])/2]...),
		} {
			if err := os.WriteFile(filepath.Join(cut, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := Open(Config{Dir: cut, Now: func() time.Time { return scriptStart }})
		if err != nil {
			t.Fatalf("cut in line %d: %v", n+1, err)
		}
		compareWithReplay(t, s, cut, false)
		if _, err := doWithRun(s, "cancel", "kl-0530"); err != nil {
			t.Errorf("cut in line %d: %v", n+1, err)
		}
		compareWithReplay(t, s, cut, false)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := verify.Directory(durable.Dir(cut), true, store.Expected{}); err != nil {
			t.Errorf("cut in line %d: %v", n+1, err)
		}
	}
}

// A run is changed beside sales of it, reading of its passengers, and snapshots: with the race detector this
// finds who writes what another reads.
func TestARunIsChangedBesideRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, key := demoServer(t, Config{Dir: dir})
	var wg sync.WaitGroup
	work := func(do func(n int)) {
		wg.Go(func() {
			for n := range 20 {
				do(n)
			}
		})
	}
	for range 3 {
		work(func(int) {
			offers := call(t, s, key, "GET", "/v2/offers?departureDate="+runDay+"&"+kyivLviv, "").Data.Offers
			if len(offers) == 0 {
				return
			}
			sold := call(t, s, key, "POST", "/v2/bookings", bookingBody(offers[0].ID, 1))
			if sold.status == 201 {
				call(t, s, key, "POST", "/v2/bookings/"+sold.Data.Booking.ID+"/pay", "")
				call(t, s, key, "GET", "/v2/bookings/"+sold.Data.Booking.ID, "")
			}
		})
	}
	work(func(n int) { doWithRun(s, "move", "kl-0530", "minutes", fmt.Sprint(n)) })
	work(func(int) { doWithRun(s, "restore", "kl-0530") })
	work(func(n int) {
		if n == 15 {
			doWithRun(s, "cancel", "kl-0530")
		}
		s.Admin.Do("manifest", &admin.Act{
			Form: url.Values{"trip": {"kl-0530"}, "date": {runDay}},
			Out:  new(strings.Builder),
		})
	})
	work(func(int) {
		if err := s.Store.Snapshot(); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	compareWithReplay(t, s, dir, false)
}
