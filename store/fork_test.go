package store_test

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Decision worlds.forks: a fork beside writers has a state that the parent had, in a history of its own name,
// in which no note of the parent's fits. They write while it is made, and not while it is looked at.
func TestForkBesideWriters(t *testing.T) {
	dir := durable.Dir(t.TempDir())
	to := t.TempDir()
	cfg := config(dir)
	cfg.SegmentBytes = 5_000
	st := open(t, cfg)
	var stop atomic.Bool
	var acknowledged atomic.Int64
	var writers sync.WaitGroup
	var pause sync.RWMutex
	for range 8 {
		writers.Go(func() {
			for !stop.Load() {
				pause.RLock()
				put(t, st, add{N: 1, Name: "Mo"})
				pause.RUnlock()
				acknowledged.Add(1)
			}
		})
	}
	names := map[string]bool{}
	for k := range 4 {
		for acknowledged.Load() < int64(100*(k+1)) {
			time.Sleep(time.Millisecond) // a real disk's pace
		}
		out := durable.Dir(path.Join(to, fmt.Sprint(k)))
		before := acknowledged.Load()
		left, err := st.Fork(out)
		if err != nil {
			t.Fatal(err)
		}
		pause.Lock()
		rep, end, err := check(config(out), false)
		if err != nil || end.total < before || rep.Head.Seq != left.Seq || rep.Head.Hash != left.Hash {
			t.Errorf(
				"fork %d has %d of %d acknowledged, and left at %+v: %+v, %v",
				k,
				end.total,
				before,
				left,
				rep,
				err,
			)
		}
		put(t, st, add{N: 1, Name: "Mo"}) // which the fork does not have
		acknowledged.Add(1)
		note, err := st.Sign()
		if err != nil {
			t.Fatal(err)
		}
		key, err := checkpoint.PublicKey(dir)
		if err != nil {
			t.Fatal(err)
		}
		_, err = verifyWith(config(out), false, keptNote(note, key), unchecked, uninspected)
		if err == nil {
			t.Error("a note of the parent's fits the fork")
		}
		forked := open(t, config(out))
		put(t, forked, add{N: 1})
		closeStore(t, forked)
		own, err := checkpoint.PublicKey(out)
		if err != nil || string(own) == string(key) || names[string(own)] {
			t.Errorf("fork %d signs with a key that was there: %v", k, err)
		}
		names[string(own)] = true
		if _, err := st.Fork(out); err == nil {
			t.Error("a fork was written into a directory that is not empty")
		}
		pause.Unlock()
	}
	stop.Store(true)
	writers.Wait()
	closeStore(t, st)
	if _, err := st.Fork(durable.Dir(path.Join(to, "late"))); err == nil {
		t.Error("a store that is closed was forked")
	}
}

// unchecked and uninspected have no objection to lines and states.
func unchecked(*sum, journal.Stamp, add) error { return nil }

func uninspected(*sum, journal.Stamp) error { return nil }

// A fork of which a part could not be written has no line, or does not start.
func TestForkThatIsCutShort(t *testing.T) {
	for _, name := range []string{"snapshots", "journal", "FORMAT"} {
		dir := durable.Dir(t.TempDir())
		st := open(t, config(dir))
		put(t, st, add{N: 1})
		out := durable.Dir(path.Join(t.TempDir(), "out"))
		_, err := st.Fork(failsAt{out, name})
		closeStore(t, st)
		if err == nil {
			t.Errorf("without %s there is no error", name)
		}
		cut, _, err := store.Open(config(out))
		if err == nil {
			if seq := put(t, cut, add{N: 1}); seq > 2 {
				t.Errorf("without %s it is opened, and goes on at line %d", name, seq)
			}
			closeStore(t, cut)
		}
	}
}

// A fork would have what is to be erased: while there is any, there is none.
func TestForkBesideAnErasure(t *testing.T) {
	st := open(t, config(durable.Dir(t.TempDir())))
	put(t, st, add{N: 1, Name: "Mo"})
	broken := errors.New("what is beside the journal cannot be erased")
	if err := nameErased(st, 2); err != nil {
		t.Fatal(err)
	}
	err := st.Erase(context.Background(), func() error { return broken })
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if _, err := st.Fork(durable.Dir(path.Join(t.TempDir(), "early"))); !errors.Is(err, store.ErrErasing) {
		t.Error(err)
	}
	if err := eraseNamed(st); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Fork(durable.Dir(path.Join(t.TempDir(), "late"))); err != nil {
		t.Error(err)
	}
	closeStore(t, st)
}

// failsAt is a directory in which nothing can be published under a name.
type failsAt struct {
	durable.FS
	name string
}

func (f failsAt) Rename(from, to string) error {
	if path.Base(to) == f.name || path.Dir(to) == f.name {
		return fmt.Errorf("%s: no", to)
	}
	return f.FS.Rename(from, to)
}
