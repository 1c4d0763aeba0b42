package carrier_test

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

	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// Decision runs.cancelled: a run that is cancelled while an offer of it is sold is not sold any more; one
// that is moved meanwhile is sold at its new times, or not.
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
			s, w := rig.SoldWhile(t, dir, rig.KyivLviv, func(s *server.Server) {
				if said, err := rig.ChangeRun(s, test.do, "kl-0530", test.more...); err != nil {
					t.Error(said, err)
				}
			})
			if w.Code != test.status || !strings.Contains(w.Body.String(), `"CHANGED"`) {
				t.Errorf("status %d, want %d: %s", w.Code, test.status, w.Body)
			}
			rig.CompareWithReplay(t, s, dir, false)
		})
	}
}

// manyActs does what partners, passengers and carriers may do, in an order that a seed makes.
type manyActs struct {
	*testing.T
	*rand.Rand
	dir  string
	now  func() time.Time
	s    *server.Server
	key  string
	made []string // bookings
	done map[string]int
}

// open starts the server on what is in the directory.
func (m *manyActs) open() {
	m.s, m.key = rig.Demo(m.T, server.Config{Dir: m.dir, Now: m.now})
}

// step does one thing. What is refused is as good as what is done: what matters is what the journal holds.
func (m *manyActs) step() {
	trip := []string{"kl-0530", "kl-0700"}[m.IntN(2)]
	did := ""
	report := func(what string, ok bool) {
		if ok {
			did = what
		}
	}
	switch n := m.IntN(20); {
	case n < 6:
		a := rig.Call(m, m.s, m.key, "GET", "/v2/offers?departureDate="+rig.RunDay+"&"+rig.KyivLviv, "")
		if len(a.Data.Offers) == 0 {
			return
		}
		offer := a.Data.Offers[m.IntN(len(a.Data.Offers))].ID
		a = rig.Call(m, m.s, m.key, "POST", "/v2/bookings", rig.BookingBody(offer, 1+m.IntN(4)))
		report("sold", a.Status == 201)
		if a.Status == 201 {
			m.made = append(m.made, a.Data.Booking.ID)
		}
	case n < 12 && len(m.made) > 0:
		action := []string{"pay", "book", "cancel"}[m.IntN(3)]
		id := m.made[m.IntN(len(m.made))]
		report(action, rig.Call(m, m.s, m.key, "POST", "/v2/bookings/"+id+"/"+action, "").Status == 200)
	case n < 14:
		_, err := rig.ChangeRun(m.s, "move", trip, "minutes", fmt.Sprint(m.IntN(400)-200))
		report("move", err == nil)
	case n < 16:
		_, err := rig.ChangeRun(m.s, "restore", trip)
		report("restore", err == nil)
	case n == 16:
		_, err := rig.ChangeRun(m.s, "cancel", trip)
		report("cancel a run", err == nil)
	case n == 17:
		feed := rig.FeedWith(m, map[string][][2]string{"waybill_buses.txt": {{"bus-zor-25,zorevia,3,",
			fmt.Sprintf("bus-zor-25,zorevia,%d,", 2+m.IntN(3))}}})
		rig.Import(m, m.s, feed)
		report("import", true)
	case n == 18:
		time.Sleep(time.Duration(m.IntN(25)) * time.Minute) // in a bubble
		report("wait", true)
	default:
		if err := m.s.Close(); err != nil {
			m.Fatal(err)
		}
		if m.IntN(2) == 0 { // without a snapshot all is read from the lines
			os.RemoveAll(filepath.Join(m.dir, "snapshots"))
		}
		m.open()
		report("start again", true)
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
				now:  rig.BubbleClock(),
				done: done,
			}
			m.open()
			for range 120 {
				m.step()
			}
			synctest.Wait() // what time alone brings about is recorded beside
			rig.CompareWithReplay(t, m.s, dir, true)
			if err := m.s.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := verify.Directory(durable.Dir(dir), true, inspect.Expected{}); err != nil {
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
	s, key := rig.Demo(t, server.Config{Dir: dir})
	change := func(acts ...[]string) {
		for _, act := range acts {
			if said, err := rig.ChangeRun(s, act[0], "kl-0530", act[1:]...); err != nil {
				t.Fatal(said, err)
			}
		}
	}
	change([]string{"move", "minutes", "30"}, []string{"restore"})
	order := rig.BookingBody(rig.Offer(t, s, key, rig.KyivLviv), 3)
	booked := rig.Call(t, s, key, "POST", "/v2/bookings", order).Data.Booking
	rig.Call(t, s, key, "POST", "/v2/bookings/"+booked.ID+"/pay",
		`{"ticketIds":["`+booked.Tickets[0].ID+`"]}`)
	change([]string{"move", "minutes", "-20"}, []string{"move", "minutes", "60"}, []string{"cancel"})
	journal, err := os.ReadFile(filepath.Join(dir, rig.JournalFile))
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
			"FORMAT":        format,
			rig.JournalFile: append(bytes.Join(lines[:n], nil), lines[n][:len(lines[n])/2]...),
		} {
			if err := os.WriteFile(filepath.Join(cut, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := server.Open(server.Config{Dir: cut, Now: func() time.Time { return rig.Start }})
		if err != nil {
			t.Fatalf("cut in line %d: %v", n+1, err)
		}
		rig.CompareWithReplay(t, s, cut, false)
		if _, err := rig.ChangeRun(s, "cancel", "kl-0530"); err != nil {
			t.Errorf("cut in line %d: %v", n+1, err)
		}
		rig.CompareWithReplay(t, s, cut, false)
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if _, err := verify.Directory(durable.Dir(cut), true, inspect.Expected{}); err != nil {
			t.Errorf("cut in line %d: %v", n+1, err)
		}
	}
}

// A run is changed beside sales of it, reading of its passengers, and snapshots: with the race detector this
// finds who writes what another reads.
func TestARunIsChangedBesideRequests(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
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
			offers := rig.Call(t, s, key, "GET", "/v2/offers?departureDate="+rig.RunDay+"&"+rig.KyivLviv,
				"").Data.Offers
			if len(offers) == 0 {
				return
			}
			sold := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offers[0].ID, 1))
			if sold.Status == 201 {
				rig.Call(t, s, key, "POST", "/v2/bookings/"+sold.Data.Booking.ID+"/pay", "")
				rig.Call(t, s, key, "GET", "/v2/bookings/"+sold.Data.Booking.ID, "")
			}
		})
	}
	work(func(n int) { rig.ChangeRun(s, "move", "kl-0530", "minutes", fmt.Sprint(n)) })
	work(func(int) { rig.ChangeRun(s, "restore", "kl-0530") })
	work(func(n int) {
		if n == 15 {
			rig.ChangeRun(s, "cancel", "kl-0530")
		}
		s.Admin.Do("manifest", &admin.Act{
			Form: url.Values{"trip": {"kl-0530"}, "date": {rig.RunDay}},
			Out:  new(strings.Builder),
		})
	})
	work(func(int) {
		if err := s.Store.Snapshot(); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	rig.CompareWithReplay(t, s, dir, false)
}
