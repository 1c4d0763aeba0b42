package store_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/live"
)

// TestFullDisk: without a MiB reserved beyond all that is queued an update is refused, at once, and changes
// nothing; reads go on, and so do updates as soon as there is room.
func TestFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		log := new(logBook)
		d.limited = true
		d.free = 3 << 20
		cfg := config(d)
		cfg.Log = slog.New(slog.NewTextHandler(log, nil))
		st := open(t, cfg)
		taken := func(n int64) { // by somebody else
			d.mu.Lock()
			defer d.mu.Unlock()
			d.free = n
		}
		total := int64(0)
		for cycle := range 8 {
			taken(0)
			acknowledged := 0
			for refused := false; !refused; {
				_, err := st.Update(func(*sum, time.Time) ([]add, error) {
					return []add{{N: 1, Text: strings.Repeat("x", 100<<10)}}, nil
				}, nil)
				switch {
				case err == nil:
					total++
					acknowledged++
				case errors.Is(err, live.ErrFull):
					refused = true
				default:
					t.Fatal(err)
				}
			}
			synctest.Wait() // the writer has noticed
			if got := look(t, st); got.total != total {
				t.Fatalf("cycle %d: the total is %d, %d were acknowledged", cycle, got.total, total)
			}
			if acknowledged > 40 {
				t.Errorf("cycle %d: %d lines of 100 KiB went into 4 MiB", cycle, acknowledged)
			}
			taken(4 << 20)
			time.Sleep(time.Second)
			synctest.Wait()
			put(t, st, add{N: 1})
			total++
		}
		n, m := strings.Count(log.String(), "the disk is full"), strings.Count(log.String(),
			"room on the disk again")
		if n < 8 || n != m {
			t.Errorf("said %d times that the disk is full, %d times that it is not", n, m)
		}
		closeStore(t, st)
		if _, end, err := check(config(d), false); err != nil || end.total != total {
			t.Errorf("%d, %v; want %d", end.total, err, total)
		}
	})
}

// TestNoRoomToStart: a start says how many bytes are missing: for a copy of the last file, if that is needed,
// and 2 MiB.
func TestNoRoomToStart(t *testing.T) {
	all := killedJournal(t, false)
	for _, free := range []int64{0, 1 << 20} {
		d := diskOf(all)
		d.limited = true
		d.free = free
		_, _, err := store.Open(config(d))
		var room *store.NoRoom
		last := named(all, "journal/")[1]
		want := 2<<20 + int64(len(all[last])) - free
		if !errors.As(err, &room) || room.Missing != want ||
			!strings.Contains(err.Error(), fmt.Sprint(want)) {
			t.Errorf("with %d bytes free: %v, want %d missing", free, err, want)
		}
		if !sameFiles(t, all, d.files()) {
			t.Error("a start without room changed something")
		}
		d.free += room.Missing
		closeStore(t, open(t, config(d)))
	}
}

// TestRotationOnAFullDisk: a file that is full is gone on with where the disk has no room for another.
func TestRotationOnAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.before = func(_ int, op string) act {
			if strings.HasPrefix(op, "create journal/") && !strings.HasSuffix(op, ".tmp") {
				return failsFull
			}
			return works
		}
		cfg := config(d)
		cfg.SegmentBytes = 600
		st := open(t, cfg)
		for range 5 {
			put(t, st, add{N: 1})
		}
		if names := named(d.files(), "journal/"); len(names) != 1 {
			t.Errorf("files %q", names)
		}
		d.mu.Lock()
		d.before = nil
		d.mu.Unlock()
		put(t, st, add{N: 1})
		synctest.Wait()
		if names := named(d.files(), "journal/"); len(names) != 2 {
			t.Errorf("files %q", names)
		}
		closeStore(t, st)
		if _, end, err := check(config(d), false); err != nil || end.total != 6 {
			t.Errorf("%d, %v", end.total, err)
		}
	})
}

// TestRoomIsGivenBack: a closed directory takes no more of the disk than its files are long.
func TestRoomIsGivenBack(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	cfg.SegmentBytes = 500
	st := open(t, cfg)
	for range 4 {
		put(t, st, add{N: 1})
	}
	last := allocated(t, dir)
	closeStore(t, st)
	for name, n := range allocated(t, dir) {
		if n > 64<<10 {
			t.Errorf("%s takes %d bytes of the disk, %d while it was open", name, n, last[name])
		}
	}
}

// allocated returns how many bytes of the disk each journal file takes.
func allocated(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "journal/*"))
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{}
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = info.Sys().(*syscall.Stat_t).Blocks * 512
	}
	return sizes
}

// Decision disk.full: a line larger than what is always reserved is written where the disk has room for it,
// and is refused before anything of it is done where it has not. Neither ends the store.
func TestLinesLargerThanTheReserve(t *testing.T) {
	for _, disk := range []struct {
		name  string
		free  int64
		sizes []int // of the texts, in MiB
		fits  []bool
	}{
		{"room for all", 1 << 30, []int{2, 5, 20, 1}, []bool{true, true, true, true}},
		{"room for small ones", 4 << 20, []int{6, 0, 20, 0}, []bool{false, true, false, true}},
	} {
		t.Run(disk.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDisk()
				d.limited = true
				d.free = disk.free
				st := open(t, config(d))
				for i, size := range disk.sizes {
					before := look(t, st).total
					_, err := st.Update(func(*sum, time.Time) ([]add, error) {
						return []add{{N: 1, Text: strings.Repeat("x", size<<20)}}, nil
					}, nil)
					if fits := err == nil; fits != disk.fits[i] || err != nil &&
						!errors.Is(err, live.ErrFull) {
						t.Errorf("a line of %d MiB: %v", size, err)
					}
					if now := look(t, st).total; (now > before) != disk.fits[i] {
						t.Errorf("a line of %d MiB: the total was %d and is %d", size, before, now)
					}
				}
				select {
				case <-st.Failed():
					t.Error("the store has failed")
				default:
				}
				closeStore(t, st)
			})
		})
	}
}

// Decision disk.full: many large updates at a time, and none is lost or ends the store. By default there are
// 12, and with -crashes 32.
func TestManyLargeLinesAtATime(t *testing.T) {
	d := newDisk()
	d.limited = true
	d.free = 1 << 30
	cfg := config(d)
	cfg.SegmentBytes = 16 << 20
	st := open(t, cfg)
	many := 12
	if *crashes > 0 {
		many = 32
	}
	var wg sync.WaitGroup
	for range many {
		wg.Go(func() {
			_, err := st.Update(func(*sum, time.Time) ([]add, error) {
				return []add{{N: 1, Text: strings.Repeat("x", 3<<20)}}, nil
			}, nil)
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := look(t, st).total; got != int64(many) {
		t.Errorf("the total is %d", got)
	}
	closeStore(t, st)
}

// Decision disk.full: a quota that is used up is a full disk, also where a new file is to be begun.
func TestQuotasAreFullDisks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		d.quota = true
		d.limited = true
		d.free = 32 << 20
		cfg := config(d)
		cfg.SegmentBytes = 1 << 10
		st := open(t, cfg)
		put(t, st, add{N: 1, Text: strings.Repeat("x", 2<<10)})
		d.mu.Lock()
		d.free = 0
		d.mu.Unlock()
		var err error
		for n := 0; err == nil && n < 1000; n++ {
			_, err = st.Update(func(*sum, time.Time) ([]add, error) {
				return []add{{N: 1, Text: strings.Repeat("x", 64<<10)}}, nil
			}, nil)
		}
		if !errors.Is(err, live.ErrFull) {
			t.Errorf("%v, want ErrFull", err)
		}
		d.mu.Lock()
		d.free = 32 << 20
		d.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		put(t, st, add{N: 1})
		closeStore(t, st)
	})
}
