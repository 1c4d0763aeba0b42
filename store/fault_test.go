package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

// TestJournalFaults makes each write and each sync of the journal, and each
// call of a rotation, fail in turn: the update in flight is ErrFailed, as is all that
// comes after, and the next Open has what was acknowledged, nothing that was not handed in.
func TestJournalFaults(t *testing.T) {
	for _, c := range []struct {
		op  string
		err error
	}{
		{"write", errFault},
		{"write", errHalf},
		{"write", errShort},
		{"sync", errFault},
		{"create", errFault},
		{"syncdir", errFault},
		{"close", errFault},
		{"list", errFault},
	} {
		t.Run(c.op+" "+c.err.Error(), func(t *testing.T) {
			hit := 0
			for n := 1; journalFault(t, c.op, c.err, n); n++ {
				hit++
			}
			if want := map[string]int{"write": 12, "sync": 12}[c.op]; hit < max(want, 2) {
				t.Errorf("only %d calls failed", hit)
			}
		})
	}
}

// journalFault makes the nth call of op on the journal fail; it tells whether there was one.
func journalFault(t *testing.T, op string, with error, n int) (hit bool) {
	disk := newDisk()
	fsys := &tapFS{FS: disk}
	calls := 0
	var armed atomic.Bool
	fsys.before = func(o, name string) error {
		if armed.Load() && o == op && strings.HasPrefix(name, "journal") {
			if calls++; calls == n {
				hit = true
				return with
			}
		}
		return nil
	}
	cfg := config(fsys)
	cfg.SegmentBytes = 800
	st := open(t, cfg)
	armed.Store(true)
	var acknowledged, attempted int64
	var failed error
	for i := range int64(12) {
		attempted++
		_, err := st.Update(func(*sum, time.Time) ([]add, error) {
			return []add{{N: 1, Text: fmt.Sprint(i)}}, nil
		}, nil)
		switch {
		case err == nil && failed == nil:
			acknowledged++
		case err == nil:
			t.Errorf("call %d: acknowledged after %v", n, failed)
		case failed == nil && !hit:
			t.Errorf("call %d: failed by itself: %v", n, err)
		case !errors.Is(err, live.ErrFailed) || with != errShort && !errors.Is(err, with):
			t.Errorf("call %d: %v, want ErrFailed and %v", n, err, with)
		default:
			failed = err
		}
		if hit && failed == nil {
			t.Errorf("call %d failed, but its update was acknowledged", n)
		}
	}
	armed.Store(false)
	if failed != nil {
		stillFailed(t, st)
	}
	if err := st.Close(); (err != nil) != hit {
		t.Errorf("call %d: Close: %v", n, err)
	}
	if left := fsys.left(); len(left) > 0 {
		t.Errorf("call %d: left open: %q", n, left)
	}
	cfg = config(disk)
	st = open(t, cfg)
	got := look(t, st)
	if got.total < acknowledged || got.total > attempted || hit && got.total > acknowledged+1 {
		t.Errorf("call %d: %d events; %d acknowledged", n, got.total, acknowledged)
	}
	for i, it := range got.items {
		if it.Text != fmt.Sprint(i) {
			t.Errorf("call %d: event %d is %q", n, i, it.Text)
		}
	}
	put(t, st, add{N: 1})
	closeStore(t, st)
	if _, _, err := check(cfg, false); err != nil {
		t.Errorf("call %d: verify: %v", n, err)
	}
	return hit
}

// stillFailed finds that nothing can be asked of a failed store.
func stillFailed(t *testing.T, st *sumStore) {
	t.Helper()
	select {
	case <-st.Failed():
	default:
		t.Error("Failed is not closed")
	}
	_, gerr := st.Glance(func(*sum, time.Time) { t.Error("read after a failure") })
	for name, err := range map[string]error{
		"View":     st.View(func(*sum, time.Time) { t.Error("read after a failure") }),
		"Glance":   gerr,
		"Snapshot": st.Snapshot(),
	} {
		if !errors.Is(err, live.ErrFailed) {
			t.Errorf("%s: %v, want ErrFailed", name, err)
		}
	}
}

// TestAllWhoWaitAreTold: a failed sync is the error of every update in its
// batch, of those pending behind it, and of the views and the snapshot that saw any of it.
func TestAllWhoWaitAreTold(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := tap(dir)
		hold := make(chan struct{})
		armed := false
		fsys.before = func(op, name string) error {
			if armed && op == "sync" && strings.HasPrefix(name, "journal/") {
				<-hold
				return errFault
			}
			return nil
		}
		st := open(t, config(fsys))
		put(t, st, add{N: 1})
		armed = true
		var told atomic.Int32
		var wg sync.WaitGroup
		start := func(what string, call func() error) {
			wg.Go(func() {
				if err := call(); !errors.Is(err, live.ErrFailed) || !errors.Is(err, errFault) {
					t.Errorf("%s: %v", what, err)
				}
				told.Add(1)
			})
			synctest.Wait()
		}
		update := func() error {
			_, err := st.Update(func(*sum, time.Time) ([]add, error) { return []add{{N: 1}}, nil }, nil)
			return err
		}
		start("update in flight", update)
		start("view of it", func() error { return st.View(func(*sum, time.Time) {}) })
		start("snapshot of it", st.Snapshot)
		start("update pending", update)
		start("another", update)
		start("refusal on them", func() error {
			_, err := st.Update(func(*sum, time.Time) ([]add, error) { return nil, errors.New("no") }, nil)
			return err
		})
		wait, err := st.Glance(func(*sum, time.Time) {})
		if err != nil {
			t.Error(err)
		}
		start("glance", wait)
		start("Close", st.Close)
		if n := told.Load(); n > 0 {
			t.Errorf("%d were answered before the sync", n)
		}
		close(hold)
		wg.Wait()
		synctest.Wait()
		if left := fsys.left(); len(left) > 0 {
			t.Errorf("left open: %q", left)
		}
		if names := named(files(t, dir), "snapshots/"); len(names) > 0 {
			t.Errorf("snapshots %q of what is not durable", names)
		}
	})
}

// TestFailedRotation: a batch that fails in a new file asks for no snapshot, and Close leaves nothing
// running.
func TestFailedRotation(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := tap(dir)
		hold := make(chan struct{})
		armed := false
		fsys.before = func(op, name string) error {
			if armed && op == "sync" && strings.HasPrefix(name, "journal/") {
				<-hold
				return errFault
			}
			return nil
		}
		cfg := config(fsys)
		cfg.SegmentBytes = 1
		var book logBook
		cfg.Log = slog.New(slog.NewTextHandler(&book, nil))
		st := open(t, cfg)
		armed = true
		var wg sync.WaitGroup
		for range 2 { // one in flight, one pending
			wg.Go(func() {
				_, err := st.Update(func(*sum, time.Time) ([]add, error) {
					return []add{{N: 1}}, nil
				}, nil)
				if !errors.Is(err, live.ErrFailed) {
					t.Error("Update: ", err)
				}
			})
			synctest.Wait()
		}
		wg.Go(func() {
			if err := st.Close(); !errors.Is(err, live.ErrFailed) {
				t.Error("Close: ", err)
			}
		})
		synctest.Wait()
		close(hold)
		wg.Wait()
		if text := book.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, "level=ERROR") {
			t.Errorf("logged:\n%s", text)
		}
	})
}

// TestApplyPanics: a state that nobody decided is built on by nothing, and a
// start has what was there before.
func TestApplyPanics(t *testing.T) {
	for _, where := range []string{"apply", "after"} {
		dir := t.TempDir()
		cfg := config(durable.Dir(dir))
		cfg.Apply = func(s *sum, stamp journal.Stamp, e add) error {
			if e.N == 13 {
				panic("apply")
			}
			return apply(s, stamp, e)
		}
		st := open(t, cfg)
		put(t, st, add{N: 1})
		func() {
			defer func() {
				if r := recover(); r != where {
					t.Errorf("panicked with %v, want %s", r, where)
				}
			}()
			st.Update(func(*sum, time.Time) ([]add, error) {
				events := []add{{N: 2}}
				if where == "apply" {
					events = append(events, add{N: 13})
				}
				return events, nil
			}, func(*sum, time.Time) { panic("after") })
		}()
		stillFailed(t, st)
		if err := st.Close(); !errors.Is(err, live.ErrFailed) {
			t.Error("Close: ", err)
		}
		st = open(t, config(durable.Dir(dir)))
		if got := look(t, st); got.total != 1 {
			t.Errorf("%s: total %d, want 1", where, got.total)
		}
		closeStore(t, st)
	}
}

// TestDecidePanics: nothing was changed yet, so nothing fails but the caller.
func TestDecidePanics(t *testing.T) {
	st := open(t, config(durable.Dir(t.TempDir())))
	func() {
		defer func() { recover() }()
		st.Update(func(*sum, time.Time) ([]add, error) { panic("decide") }, nil)
	}()
	func() {
		defer func() { recover() }()
		st.View(func(*sum, time.Time) { panic("read") })
	}()
	if seq := put(t, st, add{N: 1}); seq != 2 {
		t.Errorf("seq %d, want 2", seq)
	}
	closeStore(t, st)
}

// TestSealFails: a full file that cannot be made read-only is a warning.
func TestSealFails(t *testing.T) {
	dir := t.TempDir()
	fsys := tap(dir)
	fsys.before = func(op, name string) error {
		if op == "seal" {
			return errFault
		}
		return nil
	}
	cfg := config(fsys)
	cfg.SegmentBytes = 400
	st := open(t, cfg)
	for range 4 {
		put(t, st, add{N: 1})
	}
	closeStore(t, st)
	if rep, end, err := check(cfg, false); err != nil || end.total != 4 || rep.Files < 2 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// TestLifeOfCalls: no call of a clean life fails, is made on a name outside the
// directory, or leaves a file open.
func TestLifeOfCalls(t *testing.T) {
	fsys := tap(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		l := &life{ledger: new(ledger), fsys: fsys}
		l.run(workload)
		if err := errors.Join(l.errs...); err != nil || len(l.complaints()) > 0 {
			t.Fatal(err, l.complaints())
		}
	})
	if left := fsys.left(); len(left) > 0 {
		t.Errorf("left open: %q", left)
	}
	for _, call := range fsys.calls {
		_, name, _ := strings.Cut(call, " ")
		top, _, _ := strings.Cut(name, "/")
		known := []string{".", "FORMAT", "FORMAT.tmp", "LOCK", "journal", "snapshots", "tree", backupDir}
		if !slices.Contains(known, top) && !strings.HasPrefix(top, "checkpoint") {
			t.Errorf("unexpected call: %s", call)
		}
	}
}
