package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/live"
)

// TestClose: after it everything is ErrClosed, also a second Close, and nothing is left open or running.
func TestClose(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := tap(dir)
		st := open(t, config(fsys))
		put(t, st, add{N: 1})
		closeStore(t, st)
		synctest.Wait()
		if left := fsys.left(); len(left) > 0 {
			t.Errorf("left open: %q", left)
		}
		before := files(t, dir)
		_, uerr := st.Update(func(*sum, time.Time) ([]add, error) { return []add{{N: 1}}, nil }, nil)
		wait, gerr := st.Glance(func(*sum, time.Time) { t.Error("read after Close") })
		if err := wait(); err != nil {
			t.Error("nothing was seen, so there is nothing to wait for: ", err)
		}
		for name, err := range map[string]error{
			"Update": uerr, "Glance": gerr, "Snapshot": st.Snapshot(), "Close": st.Close(),
			"View": st.View(func(*sum, time.Time) { t.Error("read after Close") }),
		} {
			if !errors.Is(err, live.ErrClosed) {
				t.Errorf("%s after Close: %v", name, err)
			}
		}
		select {
		case <-st.Failed():
			t.Error("Close is no failure")
		default:
		}
		if !sameFiles(t, before, files(t, dir)) {
			t.Error("something was written after Close")
		}
	})
}

// TestCloseAfterFailure: Close says what failed, as often as it is called, and returns the directory free.
func TestCloseAfterFailure(t *testing.T) {
	dir := t.TempDir()
	fsys := tap(dir)
	armed := false
	fsys.before = func(op, name string) error {
		if armed && op == "write" {
			return errFault
		}
		return nil
	}
	cfg := config(fsys)
	st := open(t, cfg)
	armed = true
	_, err := st.Update(func(*sum, time.Time) ([]add, error) {
		return []add{{N: 1}}, nil
	}, nil)
	if !errors.Is(err, live.ErrFailed) {
		t.Fatal("Update: ", err)
	}
	if err := st.Close(); !errors.Is(err, live.ErrFailed) || !errors.Is(err, errFault) {
		t.Error("Close: ", err)
	}
	if left := fsys.left(); len(left) > 0 {
		t.Errorf("left open: %q", left)
	}
	armed = false
	closeStore(t, open(t, cfg))
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("the second Close after a failure: panic: %v", r)
		}
	}()
	if err := st.Close(); err == nil {
		t.Error("the second Close: no error")
	}
}

// TestCloseTwiceAtOnce: one of them closes, the other is told so.
func TestCloseTwiceAtOnce(t *testing.T) {
	for range 20 {
		fsys := quick(t.TempDir())
		st := open(t, config(fsys))
		put(t, st, add{N: 1})
		var clean atomic.Int32
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				if err := st.Close(); err == nil {
					clean.Add(1)
				} else if !errors.Is(err, live.ErrClosed) {
					t.Error("Close: ", err)
				}
			})
		}
		wg.Wait()
		if clean.Load() != 1 {
			t.Errorf("%d of four closed", clean.Load())
		}
	}
}

// TestCloseBesideUpdates: each update is either refused or there at the next
// start, also while files rotate; nothing touches the directory once it is free.
func TestCloseBesideUpdates(t *testing.T) {
	for _, size := range []int64{1200, 60000} {
		t.Run(fmt.Sprint("files of ", size), func(t *testing.T) {
			for n := 0; n < 10 && !t.Failed(); n++ {
				closeBesideUpdates(t, size)
			}
		})
	}
}

func closeBesideUpdates(t *testing.T, size int64) {
	const workers, most = 8, 20_000
	dir := t.TempDir()
	var free atomic.Bool
	var book logBook
	fsys := quick(dir)
	fsys.before = func(op, name string) error {
		if op == "unlock" {
			free.Store(true)
		} else if free.Load() {
			fmt.Fprintf(&book, "%s %s after the lock was given free\n", op, name)
		}
		return nil
	}
	cfg := config(fsys)
	cfg.Log = slog.New(slog.NewTextHandler(&book, nil))
	cfg.SegmentBytes = size
	st := open(t, cfg)
	var acknowledged, refused atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range most {
				_, err := st.Update(func(*sum, time.Time) ([]add, error) { return []add{{N: 1}}, nil }, nil)
				if err != nil {
					if !errors.Is(err, live.ErrClosed) {
						t.Error("Update: ", err)
					}
					refused.Add(1)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	for acknowledged.Load() < 20 {
		runtime.Gosched()
	}
	if err := st.Close(); err != nil {
		t.Error("Close: ", err)
	}
	wg.Wait()
	if refused.Load() == 0 {
		t.Error("Close came to no end before the updates did")
	}
	if book.String() != "" {
		t.Errorf("logged: %s", book.String())
	}
	cfg = config(durable.Dir(dir))
	st = open(t, cfg)
	if got := look(t, st); got.total != acknowledged.Load() {
		t.Errorf("%d acknowledged, %d there", acknowledged.Load(), got.total)
	}
	closeStore(t, st)
	if _, _, err := check(cfg, false); err != nil {
		t.Error("verify: ", err)
	}
}

// TestSnapshotsDoNotPileUp: while a snapshot is slow, files rotate without starting one more each.
func TestSnapshotsDoNotPileUp(t *testing.T) {
	var slow atomic.Bool
	slow.Store(true)
	hold := make(chan struct{})
	fsys := quick(t.TempDir())
	fsys.before = func(op, name string) error {
		if op == "create" && strings.HasPrefix(name, "snapshots/") && slow.Load() {
			<-hold
		}
		return nil
	}
	cfg := config(fsys)
	cfg.SegmentBytes = 1
	st := open(t, cfg)
	before := runtime.NumGoroutine()
	for range 50 {
		put(t, st, add{N: 1})
	}
	if n := runtime.NumGoroutine() - before; n > 2 {
		t.Errorf("%d goroutines wait to write a snapshot", n)
	}
	slow.Store(false)
	close(hold)
	closeStore(t, st)
	if _, _, err := check(cfg, false); err != nil {
		t.Error(err)
	}
}

// TestCloseWaitsForSnapshot: a snapshot that is being written when the journal
// fails is over before the directory is given free.
func TestCloseWaitsForSnapshot(t *testing.T) {
	var armed, writing, freeWhileWriting atomic.Bool
	begun := make(chan struct{})
	hold := make(chan struct{})
	var once sync.Once
	fsys := tap(t.TempDir())
	fsys.before = func(op, name string) error {
		switch {
		case op == "create" && strings.HasPrefix(name, "snapshots/"):
			writing.Store(true)
			once.Do(func() { close(begun) })
			<-hold
		case op == "syncdir" && name == "snapshots":
			writing.Store(false)
		case op == "unlock" && writing.Load():
			freeWhileWriting.Store(true)
		case op == "sync" && strings.HasPrefix(name, "journal/") && armed.Load():
			return errFault
		}
		return nil
	}
	st := open(t, config(fsys))
	put(t, st, add{N: 1})
	var wg sync.WaitGroup
	wg.Go(func() { st.Snapshot() })
	<-begun
	armed.Store(true)
	_, err := st.Update(func(*sum, time.Time) ([]add, error) {
		return []add{{N: 1}}, nil
	}, nil)
	if !errors.Is(err, live.ErrFailed) {
		t.Error("Update: ", err)
	}
	wg.Go(func() { st.Close() })
	for range 10000 {
		runtime.Gosched()
	}
	close(hold)
	wg.Wait()
	if freeWhileWriting.Load() {
		t.Error("the lock was given free while a snapshot was being written")
	}
}

// TestFailedOpenLeavesNothing: whichever call of an Open fails, the lock is free again, no
// file is open, nothing runs, and the next Open finds what was there. Each call fails on a disk in memory,
// and the first of each ten on a real one, too.
func TestFailedOpenLeavesNothing(t *testing.T) {
	made := t.TempDir()
	cfg := config(durable.Dir(made))
	st := open(t, cfg)
	put(t, st, add{N: 1}, add{N: 2, Name: "Ed"})
	all := files(t, made)
	closeStore(t, st)
	const name = "journal/000000000001.jsonl"
	all[name] += `{"hash":"torn`
	for _, kind := range []string{"new", "torn"} {
		begun := map[string]string{}
		if kind == "torn" {
			begun = all
		}
		t.Run(kind, func(t *testing.T) {
			for n, more := 1, true; more; n++ {
				more = failedOpen(t, diskOf(begun), n, kind == "torn")
				if n%10 == 1 {
					dir := t.TempDir()
					writeFiles(t, dir, begun)
					failedOpen(t, quick(dir), n, kind == "torn")
				}
			}
		})
	}
}

// failedOpen makes the nth call of an Open fail; it tells whether there was one.
func failedOpen(t *testing.T, disk durable.FS, n int, torn bool) (more bool) {
	fsys := &tapFS{FS: disk, quick: true}
	var mu sync.Mutex // a snapshot and the tree are read beside each other
	calls := 0
	what := ""
	fsys.before = func(op, name string) error {
		mu.Lock()
		defer mu.Unlock()
		if calls++; calls == n && op != "unlock" {
			what = op + " " + name
			return errFault
		}
		return nil
	}
	st, _, err := store.Open(config(fsys))
	if more = calls >= n; err == nil {
		st.Close()
	} else if !errors.Is(err, errFault) {
		t.Errorf("call %d, %s: %v", n, what, err)
	}
	if left := fsys.left(); len(left) > 0 {
		t.Errorf("call %d, %s: left open: %q", n, what, left)
	}
	st, _, err = store.Open(config(disk))
	if err != nil {
		t.Fatalf("call %d, %s: the next Open: %v", n, what, err)
	}
	got := look(t, st)
	names, err := disk.List(".")
	if err != nil {
		t.Error(err)
	}
	kept := slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, "torn-") })
	if torn && (got.total != 3 || !kept) {
		t.Errorf("call %d, %s: %v, %q", n, what, got, names)
	}
	closeStore(t, st)
	return more
}
