package store_test

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

// clockConfig is of a state whose clock can be set: an event without a text sets it.
func clockConfig(fsys durable.FS, clock *clock) sumConfig {
	cfg := config(fsys)
	cfg.Now = clock.now
	cfg.Encode = func(e add, data, personal []byte) (string, []byte, []byte) {
		kind, data, personal := encode(e, data, personal)
		if e.Text == "clock" {
			kind = journal.KindClock
		}
		return kind, data, personal
	}
	cfg.Decode = func(kind string, data, personal []byte) (add, error) {
		if kind == journal.KindClock {
			kind = "added"
		}
		return decode(kind, data, personal)
	}
	return cfg
}

// TestSetClock: time goes on from where the clock was set to, also from before
// the last line; it does so for good, over restarts.
func TestSetClock(t *testing.T) {
	for _, by := range []time.Duration{-48 * time.Hour, -time.Millisecond, 0, 48 * time.Hour} {
		d := newDisk()
		clock := newClock()
		cfg := clockConfig(d, clock)
		st := open(t, cfg)
		put(t, st, add{N: 1})
		clock.add(by)
		if err := st.SetClock(epoch.Add(by).Add(999*time.Microsecond), add{N: 2, Text: "clock"}); err != nil {
			t.Fatal(err)
		}
		put(t, st, add{N: 3})
		clock.add(time.Second)
		put(t, st, add{N: 4, Name: "Rae"})
		want := look(t, st)
		left := d.files()
		closeStore(t, st)
		for i, after := range []time.Duration{0, by, by, by + time.Second} {
			if got := want.items[i].Time; !got.Equal(epoch.Add(after)) {
				t.Errorf("by %v: event %d at %v, want %v", by, i, got, epoch.Add(after))
			}
		}
		for _, files := range []map[string]string{left, d.files()} {
			cfg.FS = diskOf(files)
			if _, end, err := check(cfg, false); err != nil || !end.equal(want) {
				t.Errorf("by %v: verify: %v", by, err)
			}
			st = open(t, cfg)
			if got := look(t, st); !got.equal(want) {
				t.Errorf("by %v: %v, want %v", by, got, want)
			}
			err := st.View(func(_ *sum, now time.Time) {
				if !now.Equal(epoch.Add(by + time.Second)) {
					t.Errorf("by %v: time goes on from %v", by, now)
				}
			})
			if err != nil {
				t.Error(err)
			}
			closeStore(t, st)
		}
	}
}

// TestSetClockOnAFullDisk: a setting that is refused leaves the time where it was.
func TestSetClockOnAFullDisk(t *testing.T) {
	for _, by := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			d := newDisk()
			clock := newClock()
			d.limited = true
			d.free = 2 << 20
			st := open(t, clockConfig(d, clock))
			d.mu.Lock()
			d.free = 0
			d.mu.Unlock()
			var err error
			for err == nil {
				_, err = st.Update(func(*sum, time.Time) ([]add, error) {
					return []add{{N: 1, Text: strings.Repeat("x", 100<<10)}}, nil
				}, nil)
			}
			want := look(t, st)
			clock.add(min(by, 0)) // time stands still, rather than fall
			if err := st.SetClock(epoch.Add(by), add{
				N:    2,
				Text: "clock",
			}); !errors.Is(err, live.ErrFull) || !look(t, st).equal(want) {
				t.Errorf("by %v: %v", by, err)
			}
			if err := st.View(func(_ *sum, now time.Time) {
				if !now.Equal(epoch) {
					t.Errorf("by %v: refused, and time goes on from %v", by, now)
				}
			}); err != nil {
				t.Error(err)
			}
			closeStore(t, st)
		})
	}
}

// TestSetClockByOtherEvent: only a line that says that the clock was set may be
// older than the one before; any other would not be read back, so it must not be acknowledged.
func TestSetClockByOtherEvent(t *testing.T) {
	d := newDisk()
	clock := newClock()
	cfg := clockConfig(d, clock)
	st := open(t, cfg)
	put(t, st, add{N: 1})
	acknowledged := st.SetClock(epoch.Add(-time.Hour), add{N: 2}) == nil
	d = diskOf(d.files())
	st.Close()
	st = open(t, config(d))
	if got := look(t, st); acknowledged && got.total != 3 {
		t.Errorf("acknowledged; after a restart the total is %d, and kept is %q", got.total,
			named(d.files(), "torn-"))
	}
	closeStore(t, st)
}

// TestCreated: a directory was made at its first line's time, whatever files and snapshots came after and how
// often it was opened.
func TestCreated(t *testing.T) {
	d := newDisk()
	clock := newClock()
	cfg := clockConfig(d, clock)
	cfg.SegmentBytes = 1
	for i := range 3 {
		st := open(t, cfg)
		if got := st.Created(); !got.Equal(epoch) {
			t.Errorf("open %d: created %v, want %v", i, got, epoch)
		}
		clock.add(time.Hour)
		put(t, st, add{N: 1})
		if err := st.Snapshot(); err != nil {
			t.Fatal(err)
		}
		closeStore(t, st)
	}
}

// Decision unsigned.span: lines that are not signed accuse somebody where they were written over more than a
// killed server leaves so. The time until a start does not count, nor that by which a clock was set.
func TestUnsignedLinesOfAServerThatWasKilled(t *testing.T) {
	for _, c := range []struct {
		what string
		do   func(*testing.T, sumConfig, *clock) *sumStore
		want string // in the log
	}{
		{"a start", func(t *testing.T, cfg sumConfig, _ *clock) *sumStore {
			return open(t, cfg)
		}, ""},
		{"two starts", func(t *testing.T, cfg sumConfig, clock *clock) *sumStore {
			closeStore(t, open(t, cfg))
			clock.add(time.Hour)
			return open(t, cfg)
		}, ""},
		{"a clock that was set", func(t *testing.T, cfg sumConfig, clock *clock) *sumStore {
			st := open(t, cfg)
			put(t, st, add{N: 2})
			clock.add(time.Hour)
			if err := st.SetClock(clock.now(nil), add{N: 3, Text: "clock"}); err != nil {
				t.Fatal(err)
			}
			clock.add(5 * time.Second)
			put(t, st, add{N: 4}, add{N: 5, Text: "clock"})
			clock.add(time.Hour)
			put(t, st, add{N: 6})
			return st
		}, ""},
		{"lines of some seconds", func(t *testing.T, cfg sumConfig, clock *clock) *sumStore {
			st := open(t, cfg)
			clock.add(5001 * time.Millisecond)
			put(t, st, add{N: 2})
			return st
		}, `lines=2 span=5.001s`},
	} {
		clock := newClock()
		d := newDisk()
		cfg := clockConfig(d, clock)
		st := open(t, cfg)
		put(t, st, add{N: 1})
		closeStore(t, st)
		signed := d.files()
		clock.add(time.Hour)
		killed := c.do(t, cfg, clock)
		left := withoutSnapshots(d.files())
		closeStore(t, killed)
		for _, name := range []string{"checkpoint", "checkpoints.log"} {
			left[name] = signed[name]
		}
		log := new(logBook)
		cfg.FS = diskOf(left)
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		closeStore(t, open(t, cfg))
		const accuses = "removed checkpoints"
		said := log.String()
		if strings.Contains(said, accuses) != (c.want != "") || !strings.Contains(said, c.want) {
			t.Errorf("%s, killed before it was signed: %s", c.what, said)
		}
	}
}
