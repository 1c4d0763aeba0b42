package store_test

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// life is what one process after the other does with a store, by the steps of a workload, until it is killed
// or the journal has failed. It runs in a bubble, so that what goes on in the background is over when a step
// is.
type life struct {
	*ledger
	disk      *disk      // what fsys keeps its files on; or nil
	fsys      durable.FS // the disk, or what a lie makes of it
	untrusted bool       // a reader does not wait until what it saw is durable: a lie

	st      *sumStore
	opening bool
	broken  bool // the store has reported that its journal has failed
	log     logBook
	errs    []error // of the steps
	last    error   // of the last of them
	readers sync.WaitGroup
	reading atomic.Pointer[sumStore] // where a reader looks whenever the journal is written
	beside  atomic.Bool              // and, once, asks for a snapshot
}

// step is a part of a workload. It works with the open store, l.st, or with the disk, l.fsys, and returns
// what it is told: an error of what is not the journal is the step's alone, and the workload goes on. What is
// done in the background tells the log.
type step struct {
	name string
	run  func(*life) error
}

// workload is what a campaign crashes everywhere. It must make the same calls each time. A further step goes
// wherever the store is open, with no rotation in a step that does something beside the writer.
var workload = []step{
	{"open", opened(3400)},
	{"update", updated(1, 3, 1)},
	{"second process", (*life).intrude},
	{"snapshot", (*life).snapshot},
	{"snapshot beside an update", (*life).snapshotBeside},
	{"backup", (*life).backup},
	{"update over a file's end", updated(2, 1, 3)},
	{"close", (*life).close},
	{"open, which begins a file", opened(600)},
	{"update", updated(1, 2)},
	{"snapshot", (*life).snapshot},
	{"update, after which a snapshot is due", updated(10)},
	{"close", (*life).close},
}

// recovery is what is done after a crash, until the next.
var recovery = []step{
	{"open", opened(1500)},
	{"update", updated(2)},
	{"snapshot", (*life).snapshot},
	{"update", updated(1)},
}

func newLife(d *disk) *life { return &life{ledger: new(ledger), disk: d, fsys: d} }

// config is of a store that begins a new file from so many bytes on.
func (l *life) config(segment int64) sumConfig {
	cfg := config(l.fsys)
	cfg.SegmentBytes = segment
	cfg.Now = l.now
	cfg.Log = slog.New(slog.NewTextHandler(&l.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return cfg
}

// run goes through the steps; what follows a failure of the journal is tried as well, up to the next start.
// Nothing may fail but by a fault. A store that no step has closed is killed.
func (l *life) run(steps []step) {
	for _, s := range steps {
		st := l.st
		err := s.run(l)
		synctest.Wait()
		l.broken = l.broken || st != nil && isClosed(st.Failed())
		if l.last = err; err != nil {
			l.errs = append(l.errs, fmt.Errorf("%s: %w", s.name, err))
			if !errors.Is(err, errFault) && !errors.Is(err, errKilled) {
				l.complain("%s is refused: %v", s.name, err)
			}
		}
		if l.killed() || err != nil && l.st == nil {
			break
		}
	}
	l.readers.Wait()
	if l.st != nil {
		l.disk.kill()
		l.st.Close() // gives its goroutines back; a killed process changes nothing any more
		l.reading.Store(nil)
		l.st = nil
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func opened(segment int64) func(*life) error {
	return func(l *life) error {
		var before, after map[string]string
		if l.disk != nil {
			before = l.disk.files()
		}
		l.opening = true
		st, _, err := store.Open(l.config(segment))
		l.opening = false
		if err != nil {
			return err
		}
		l.st = st
		var items []item
		if err := st.View(func(s *sum, _ time.Time) { items = s.items }); err != nil {
			return err
		}
		if l.disk != nil {
			after = l.disk.files()
		}
		l.started(before, after, items)
		l.reading.Store(st)
		return nil
	}
}

// updated makes updates of so many events each.
func updated(counts ...int) func(*life) error {
	return func(l *life) (first error) {
		for _, n := range counts {
			err := l.update(l.st, n)
			if err == nil && first != nil {
				l.complain("an update was acknowledged after one had failed: %v", first)
			}
			first = cmp.Or(first, err)
			synctest.Wait()
		}
		return first
	}
}

func (l *life) update(st *sumStore, n int) error {
	var have int
	var now time.Time
	seq, err := st.Update(func(s *sum, at time.Time) ([]add, error) {
		have = len(s.items)
		now = at
		return l.hand(have, n), nil
	}, nil)
	if err == nil {
		l.acknowledge(have, n, seq, now)
	}
	return err
}

// read looks at the store when the journal is about to be written, so that it sees what is not durable yet.
func (l *life) read() {
	st := l.reading.Load()
	if st == nil {
		return
	}
	if l.beside.CompareAndSwap(true, false) {
		l.readers.Go(func() {
			if err := st.Snapshot(); err != nil {
				fmt.Fprintln(&l.log, "level=WARN", err) // who asked for it is told
			}
		})
		synctest.Wait() // it has got as far as it may before the journal is written
	}
	var items []item
	wait, err := st.Glance(func(s *sum, _ time.Time) { items = s.items })
	if err != nil {
		return
	}
	if l.untrusted {
		l.shown(items)
		return
	}
	l.readers.Go(func() {
		if wait() == nil {
			l.shown(items)
		}
	})
}

// intrude is a second process on the directory; it must be told that it is one.
func (l *life) intrude() error {
	st, _, err := store.Open(l.config(0))
	if errors.Is(err, durable.ErrLocked) || l.killed() {
		return nil
	}
	if err != nil {
		return err
	}
	l.complain("a second process has the directory open")
	return errors.Join(l.update(st, 1), st.Close())
}

func (l *life) killed() bool { return l.disk != nil && l.disk.killed() }

func (l *life) snapshot() error { return l.st.Snapshot() }

// snapshotBeside asks for a snapshot while the journal is written.
func (l *life) snapshotBeside() error {
	l.beside.Store(true)
	return l.update(l.st, 1)
}

// backupDir is where the backup goes: so that the disk it is on crashes too.
const backupDir = "backup"

func (l *life) backup() error {
	l.mu.Lock()
	l.backed = l.sure
	l.mu.Unlock()
	return inspect.Backup(l.fsys, within{l.fsys, backupDir}, true)
}

// checkBackup: one that has its FORMAT is whole.
func (l *life) checkBackup() {
	if l.disk.files()[backupDir+"/FORMAT"] == "" {
		return
	}
	_, end, err := check(config(within{l.disk, backupDir}), false)
	if err != nil || len(end.items) < l.backed {
		l.complain("the backup has %d of %d events: %v", len(end.items), l.backed, err)
	}
}

func (l *life) close() error {
	st := l.st
	l.reading.Store(nil)
	l.st = nil
	return st.Close()
}

// check opens what is left, goes on, and finds nothing wrong in the files.
func (l *life) check() {
	l.run([]step{{"open", opened(0)}, {"update", updated(1)}, {"close", (*life).close}})
	_, end, err := check(config(l.disk), false)
	if err != nil {
		l.complain("verify: %v", err)
		return
	}
	l.shown(end.items)
	l.checkBackup()
	for name := range l.disk.files() {
		if strings.HasSuffix(name, ".tmp") && !strings.HasPrefix(name, backupDir) {
			l.complain("%s is left", name)
		}
	}
}

// TestNameOfLastFile: a file that a killed process began may have a name that
// is not on the disk, also where a snapshot proves all that stands before it.
func TestNameOfLastFile(t *testing.T) {
	for _, first := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLife(newDisk())
			if !first {
				l.run([]step{{"open", opened(0)}, {"update", updated(3)}, {"close", (*life).close}})
			}
			l.disk.before = func(_ int, op string) act {
				if op == "syncdir journal" {
					return ends
				}
				return works
			}
			l.run([]step{{"open", opened(1)}}) // the opened line begins a file
			if !errors.Is(l.last, errKilled) {
				t.Fatal(l.last)
			}
			d := l.disk.restarted(nil)
			next := &life{ledger: l.ledger, disk: d, fsys: d}
			next.run([]step{{"open", opened(0)}, {"update", updated(2)}})
			d = d.crash(rand.New(rand.NewPCG(0, 0)), nothing, nothing)
			(&life{ledger: l.ledger, disk: d, fsys: d}).check()
			for _, wrong := range l.complaints() {
				t.Errorf("the first file: %v: %s", first, wrong)
			}
		})
	}
}
