package store_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"waybill/store"
)

// work is a life of a store: it opens it, updates it, also in several lines
// and over file ends, makes a snapshot, and closes it, twice.
type work struct {
	cfg       sumConfig
	attempted int64 // events 1, 2, … handed in
	confirmed int64 // of these, acknowledged
	later     bool  // something was acknowledged after a failure
	failed    bool
}

// run ends with the first error.
func (w *work) run() error {
	for _, size := range []int64{900, 700} { // the second Open begins a file with its own line
		w.cfg.SegmentBytes = size
		st, _, err := store.Open(w.cfg)
		if err != nil {
			return err
		}
		err = w.updates(st)
		if closed := st.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *work) updates(st *sumStore) error {
	var first error
	for round, n := range []int64{1, 3, 1, 2, 1} {
		first = errors.Join(first, w.update(st, n))
		if round == 2 {
			// Its error loses nothing: the work goes on.
			if err := st.Snapshot(); errors.Is(err, errKilled) {
				return err
			}
		}
	}
	return first
}

func (w *work) update(st *sumStore, n int64) error {
	var events []add
	_, err := st.Update(func(s *sum, _ time.Time) ([]add, error) {
		w.attempted = s.total
		for range n {
			w.attempted++
			e := add{N: 1, Text: fmt.Sprint(w.attempted)}
			if w.attempted%2 == 0 {
				e.Name = "Hal"
			}
			events = append(events, e)
		}
		return events, nil
	}, nil)
	if err != nil {
		w.failed = true
		return err
	}
	w.later = w.later || w.failed
	w.confirmed = w.attempted
	return nil
}

// check opens what is left and finds every confirmed event, and none that was not handed in.
func (w *work) check(t *testing.T, d *disk, what string) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: %s", what, fmt.Sprintf(format, args...))
	}
	st, _, err := store.Open(config(d))
	if err != nil {
		fail("Open: %v", err)
		return
	}
	got := look(t, st)
	if got.total < w.confirmed || got.total > w.attempted {
		fail("%d events; %d were confirmed, %d handed in", got.total, w.confirmed, w.attempted)
	}
	for i, it := range got.items {
		if it.Text != fmt.Sprint(i+1) {
			fail("event %d is %q", i+1, it.Text)
		}
	}
	if err := st.Close(); err != nil {
		fail("Close: %v", err)
	}
	if _, end, err := verify(config(d), false); err != nil || !end.equal(got) {
		fail("verify after the restart: %v", err)
	}
	for name := range d.files() {
		if strings.HasSuffix(name, ".tmp") {
			fail("%s is left", name)
		}
	}
}

// lifeCalls numbers the calls of a whole life.
func lifeCalls(t *testing.T) int {
	t.Helper()
	d := newDisk()
	w := work{cfg: config(d)}
	if err := w.run(); err != nil || w.confirmed != 16 {
		t.Fatal(w.confirmed, err)
	}
	w.check(t, d, "nothing happened")
	return d.calls
}

// TestPowerLoss stops the store before and in the middle of every call that
// changes something, and loses of what was not synced all, half or nothing, or finds zeros there.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	calls := lifeCalls(t)
	for n := 1; n <= calls+1; n += (stride + 1) / 2 {
		for _, end := range []act{ends, endsHalf} {
			d, at := newDisk(), ""
			d.before = func(i int, op string) act {
				if i == n {
					at = op
					return end
				}
				return works
			}
			w := work{cfg: config(d)}
			w.run()
			if end == endsHalf && !strings.HasPrefix(at, "write") {
				continue
			}
			seen := map[string]bool{}
			for _, names := range []string{"synced", "present"} {
				for _, tail := range []string{"nothing", "half", "all", "zeros"} {
					after := d.crash(names, tail)
					if left := fmt.Sprint(after.files()); !seen[left] {
						seen[left] = true
						w.check(t, after, fmt.Sprintf("power lost at call %d, %s; names %s, tail %s", n, at, names, tail))
					}
				}
			}
		}
	}
}

// TestKillThenPowerLoss: what a killed process had written but not synced is
// seen by the next one, which confirms events after it; then the power goes.
func TestKillThenPowerLoss(t *testing.T) {
	t.Parallel()
	calls := lifeCalls(t)
	for n := 1; n <= calls+1; n += (stride + 1) / 2 {
		for _, end := range []act{ends, endsHalf, fails, failsHalf} {
			d, at := newDisk(), ""
			d.before = func(i int, op string) act {
				if i == n {
					at = op
					return end
				}
				return works
			}
			w := work{cfg: config(d)}
			w.run()
			if (end == endsHalf || end == failsHalf) && !strings.HasPrefix(at, "write") {
				continue
			}
			what := fmt.Sprintf("act %d at call %d, %s", end, n, at)
			next := d.killed()
			st, _, err := store.Open(config(next))
			if err != nil {
				t.Errorf("%s: Open: %v", what, err)
				continue
			}
			seen := look(t, st).total
			if seen < w.confirmed || seen > w.attempted {
				t.Errorf("%s: %d events; %d were confirmed, %d handed in", what, seen, w.confirmed, w.attempted)
			}
			if err := w.update(st, 2); err != nil {
				t.Errorf("%s: Update: %v", what, err)
			}
			w.check(t, next.crash("synced", "nothing"), what)
			st.Close()
		}
	}
}

// TestNameOfLastFile: a file that a killed process began may have a name that
// is not on the disk, also where a snapshot proves all that stands before it.
func TestNameOfLastFile(t *testing.T) {
	for _, first := range []bool{true, false} {
		d := newDisk()
		cfg := config(d)
		w := work{cfg: cfg}
		if !first {
			st := open(t, cfg)
			w.update(st, 3)
			closeStore(t, st)
		}
		d = d.killed()
		d.before = func(_ int, op string) act {
			if op == "syncdir journal" {
				return ends
			}
			return works
		}
		cfg.FS, cfg.SegmentBytes = d, 1 // the opened line begins a file
		if _, _, err := store.Open(cfg); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		d = d.killed()
		st := open(t, config(d))
		if err := w.update(st, 2); err != nil {
			t.Fatal(err)
		}
		w.check(t, d.crash("synced", "nothing"), fmt.Sprint("the first file: ", first))
		closeStore(t, st)
	}
}

// TestEveryFault makes every call that changes something fail once: what fails
// is not acknowledged, a failed journal acknowledges nothing later, and all that was is there.
func TestEveryFault(t *testing.T) {
	t.Parallel()
	calls := lifeCalls(t)
	for n := 1; n <= calls; n += (stride + 1) / 2 {
		for _, how := range []act{fails, failsHalf} {
			d, at := newDisk(), ""
			d.before = func(i int, op string) act {
				if i == n {
					at = op
					return how
				}
				return works
			}
			w := work{cfg: config(d)}
			err := w.run()
			if how == failsHalf && !strings.HasPrefix(at, "write") {
				continue
			}
			what := fmt.Sprintf("act %d at call %d, %s: %v", how, n, at, err)
			if w.later {
				t.Errorf("%s: acknowledged something after a failure", what)
			}
			journal := strings.Contains(at, " journal/") && !strings.HasPrefix(at, "seal")
			if w.failed && (!errors.Is(err, store.ErrFailed) || !errors.Is(err, errFault)) || journal && err == nil {
				t.Errorf("%s: not the error of a journal that failed", what)
			}
			w.check(t, d.killed(), what)
		}
	}
}
