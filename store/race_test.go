package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/store/durable"
)

// TestConcurrentUse lets many goroutines use all methods at once, over file ends. It
// is for the race detector; but each also sees its own updates, and time and seq never fall.
func TestConcurrentUse(t *testing.T) {
	const writers, readers, rounds = 16, 8, 60
	dir := t.TempDir()
	cfg := config(quick(dir))
	clock := newClock()
	cfg.Now = clock.now
	cfg.SegmentBytes = 20_000
	st := open(t, cfg)
	refusal := errors.New("no")
	var updates atomic.Int64
	var writing, wg sync.WaitGroup
	for range writers {
		writing.Go(func() {
			var last uint64
			for i := range rounds {
				clock.add(time.Millisecond)
				if i%10 == 9 {
					_, err := st.Update(func(*sum, time.Time) ([]add, error) {
						return nil, refusal
					}, nil)
					if err != refusal {
						t.Error("refusal: ", err)
					}
					continue
				}
				events := []add{{N: 1}, {N: 1, Name: "Pia"}}[:1+i%2]
				var seen uint64
				seq, err := st.Update(func(*sum, time.Time) ([]add, error) { return events, nil },
					func(s *sum, _ time.Time) { seen = s.items[len(s.items)-1].Seq })
				if err != nil || seq <= last || seq != seen {
					t.Errorf("seq %d after %d, state at %d, %v", seq, last, seen, err)
				}
				last = seq
				updates.Add(int64(len(events)))
			}
		})
	}
	done := make(chan struct{})
	for i := range readers {
		wg.Go(func() { readUntil(t, st, i, done) })
	}
	writing.Wait()
	close(done)
	wg.Wait()
	want := look(t, st)
	closeStore(t, st)
	if want.total != updates.Load() {
		t.Errorf("total %d, want %d", want.total, updates.Load())
	}
	rep, got, err := check(config(durable.Dir(dir)), false)
	if err != nil || !got.equal(want) || rep.Snapshots == 0 {
		t.Errorf("verify: total %d, want %d, %d snapshots, %v", got.total, want.total, rep.Snapshots, err)
	}
}

// readUntil reads in one of three ways until done; what it sees never falls.
func readUntil(t *testing.T, st *sumStore, way int, done <-chan struct{}) {
	var total int64
	var now time.Time
	read := func(s *sum, at time.Time) {
		if s.total < total || at.Before(now) {
			t.Errorf("total %d after %d, at %v after %v", s.total, total, at, now)
		}
		total = s.total
		now = at
	}
	for {
		select {
		case <-done:
			return
		case <-st.Failed():
			t.Error("failed")
			return
		default:
		}
		var err error
		switch way % 3 {
		case 0:
			err = st.View(read)
		case 1:
			var wait func() error
			wait, err = st.Glance(read)
			err = errors.Join(err, wait())
		case 2:
			err = st.Snapshot()
		}
		if err != nil {
			t.Error(err)
		}
	}
}
