package store_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// within is a directory of another FS.
type within struct {
	durable.FS
	dir string
}

func (w within) in(name string) string                      { return path.Join(w.dir, name) }
func (w within) Open(name string) (durable.Readable, error) { return w.FS.Open(w.in(name)) }
func (w within) Create(name string) (durable.File, error)   { return w.FS.Create(w.in(name)) }
func (w within) Append(name string) (durable.File, error)   { return w.FS.Append(w.in(name)) }
func (w within) Rename(from, to string) error               { return w.FS.Rename(w.in(from), w.in(to)) }
func (w within) Remove(name string) error                   { return w.FS.Remove(w.in(name)) }
func (w within) List(dir string) ([]string, error)          { return w.FS.List(w.in(dir)) }
func (w within) Mkdir(dir string) error                     { return w.FS.Mkdir(w.in(dir)) }
func (w within) SyncDir(dir string) error                   { return w.FS.SyncDir(w.in(dir)) }
func (w within) Seal(name string) error                     { return w.FS.Seal(w.in(name)) }
func (w within) Lock(name string) (io.Closer, error)        { return io.NopCloser(nil), nil }

// TestBackupBesideWriters: a backup that is made while 32 clients write has all that was acknowledged before
// it began, verifies, starts, and is not written into what is there already. They write while it is made, and
// not while it is looked at.
func TestBackupBesideWriters(t *testing.T) {
	dir := t.TempDir()
	to := t.TempDir()
	cfg := config(durable.Dir(dir))
	cfg.SegmentBytes = 20_000
	st := open(t, cfg)
	var stop atomic.Bool
	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	var pause sync.RWMutex
	for range 32 {
		wg.Go(func() {
			for !stop.Load() {
				pause.RLock()
				_, err := st.Update(func(*sum, time.Time) ([]add, error) {
					return []add{{N: 1, Name: "Mo"}}, nil
				}, nil)
				pause.RUnlock()
				if err != nil {
					t.Error(err)
					return
				}
				acknowledged.Add(1)
			}
		})
	}
	for k := range 3 {
		for acknowledged.Load() < int64(300*(k+1)) {
			time.Sleep(time.Millisecond) // a real disk's pace
		}
		out := durable.Dir(path.Join(to, fmt.Sprint(k)))
		before := acknowledged.Load()
		if err := inspect.Backup(durable.Dir(dir), out, true); err != nil {
			t.Fatal(err)
		}
		pause.Lock()
		rep, end, err := check(config(out), false)
		if err != nil || end.total < before || rep.Torn != nil {
			t.Errorf("backup %d has %d of %d acknowledged: %+v, %v", k, end.total, before, rep, err)
		}
		copied := open(t, config(out))
		put(t, copied, add{N: 1})
		closeStore(t, copied)
		if err := inspect.Backup(durable.Dir(dir), out, true); err == nil {
			t.Error("a backup was written into a directory that is not empty")
		}
		pause.Unlock()
	}
	stop.Store(true)
	wg.Wait()
	closeStore(t, st)
}

// TestBackupOfATornEnd: what was never acknowledged is not copied.
func TestBackupOfATornEnd(t *testing.T) {
	all := killedJournal(t, false)
	last := named(all, "journal/")[1]
	all[last] = all[last][:len(all[last])-3]
	out := within{newDisk(), "b"}
	if err := inspect.Backup(diskOf(all), out, false); err != nil {
		t.Fatal(err)
	}
	rep, _, err := check(config(out), false)
	if err != nil || rep.Torn != nil || int(rep.Head.Seq) != len(journalLines(all))-1 {
		t.Error(rep, err)
	}
}

// losing is a directory in which a file is not found, once, when something of it was copied.
type losing struct {
	*disk
	name string
	to   *disk
}

func (l *losing) Open(name string) (durable.Readable, error) {
	if name == l.name && len(l.to.files()) > 0 {
		l.name = ""
		return nil, fs.ErrNotExist
	}
	return l.disk.Open(name)
}

// Decision copies.whole: what does not end with the line that it should end with is no copy.
func TestACopyThatEndsElsewhereIsNone(t *testing.T) {
	all := killedJournal(t, false)
	journals := named(all, "journal/")
	for _, name := range []string{journals[0], journals[len(journals)-1]} {
		to := newDisk()
		err := inspect.Backup(&losing{diskOf(all), name, to}, within{to, "b"}, false)
		if err == nil || !strings.Contains(err.Error(), "the last line should be line ") {
			t.Errorf("without %s a backup says %v", name, err)
		}
	}
	to := newDisk()
	from := &losing{diskOf(all), journals[0], to}
	_, err := repair(config(from), within{to, "b"}, inspect.Cut{At: 3, Reason: "x", Force: true})
	if err == nil || !strings.Contains(err.Error(), "the last line should be line 3") {
		t.Errorf("without %s a repair says %v", journals[0], err)
	}
}

// moving is a directory that goes on from one state to the next as soon as one of its checkpoints is read.
type moving struct {
	*held
	next map[string]string
}

func (m moving) Open(name string) (durable.Readable, error) {
	f, err := m.held.Open(name)
	if strings.HasPrefix(name, "checkpoint") {
		m.held.files = m.next
	}
	return f, err
}

// TestBackupBesideACheckpoint: one that is made between the reading of the newest and of the log leaves no
// newest that is not in the log.
func TestBackupBesideACheckpoint(t *testing.T) {
	d := newDisk()
	var states []map[string]string
	for range 2 {
		st := open(t, config(d))
		put(t, st, add{N: 1})
		closeStore(t, st)
		states = append(states, d.files())
	}
	out := within{newDisk(), "b"}
	if err := inspect.Backup(moving{&held{files: states[0]}, states[1]}, out, true); err != nil {
		t.Fatal(err)
	}
	if rep, end, err := check(config(out), false); err != nil || end.total != 2 || rep.Checkpoints != 3 {
		t.Error(rep, end, err)
	}
}

// TestRepair: the good lines before a damaged one go into a new directory, with a line that says so, and with
// the checkpoints that vouch for them; it starts and is sound. What an auditor kept shows the cut.
func TestRepair(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	cfg.SegmentBytes = 900
	st := open(t, cfg)
	for n := range 8 {
		put(t, st, add{N: int64(n), Name: "Hal"})
	}
	closeStore(t, st)
	all := files(t, dir)
	kept := all["checkpoint"]
	key := must(checkpoint.PublicKey(durable.Dir(dir)))
	spoilt := edit(t, all, 6, "Hal", "Hel")
	for cutAt, want := range map[uint64]string{
		7: "has a personal part that is not the original", 1: "the first line cannot be cut", 100: "not good",
	} {
		to := newDisk()
		_, err := repair(config(diskOf(spoilt)), within{to, "b"}, inspect.Cut{At: cutAt, Reason: "x"})
		if len(to.files()) > 0 || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("cut at %d: %v", cutAt, err)
		}
	}
	to := newDisk()
	out := within{to, "b"}
	loss, err := repair(config(diskOf(spoilt)), out, inspect.Cut{At: 6, Reason: `one "bit"`})
	if err != nil || loss.Lines != 0 {
		t.Fatalf("%d lines that were not damaged, %v", loss.Lines, err)
	}
	text := strings.Join(journalLines(under(to, "b/")), "")
	if want := `"type":"repaired","data":{"reason":"one \"bit\""}}`; !strings.Contains(text, want) {
		t.Errorf("%s\nlacks %s", text, want)
	}
	sound := func(events int) {
		t.Helper()
		rep, end, err := check(config(out), false)
		if err != nil || len(end.items) != events || rep.Checkpoints == 0 {
			t.Errorf("%+v, %+v, %v", rep, end, err)
		}
	}
	sound(4)
	st = open(t, config(out))
	put(t, st, add{N: 1})
	closeStore(t, st)
	sound(5)
	_, err = verifyWith(config(out), false, keptNote([]byte(kept), key),
		func(*sum, journal.Stamp, add) error { return nil }, func(*sum, journal.Stamp) error { return nil })
	if wrong, ok := errors.AsType[*journal.Damage](err); !ok || wrong.Forked == "" {
		t.Error("against the checkpoint that was kept the repaired journal passes:", err)
	}
	// The same lines without the one that says so.
	for _, name := range named(all, "journal/")[1:] {
		delete(all, name)
	}
	if _, _, err := store.Open(config(diskOf(all))); !errors.As(err, new(*journal.Damage)) {
		t.Error("a journal that was cut by hand starts:", err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// under returns the files below a directory, by their names there.
func under(d *disk, dir string) map[string]string {
	all := map[string]string{}
	for name, text := range d.files() {
		if name, ok := strings.CutPrefix(name, dir); ok {
			all[name] = text
		}
	}
	return all
}

// TestRepairTwice: also where the server was started in between, so that the newest checkpoint is not that of
// the highest seq, the directory starts and is sound.
func TestRepairTwice(t *testing.T) {
	dirs := []durable.FS{within{newDisk(), "a"}, within{newDisk(), "b"}, within{newDisk(), "c"}}
	st := open(t, config(dirs[0]))
	for range 12 {
		put(t, st, add{N: 1})
	}
	closeStore(t, st)
	for i, cutAt := range []uint64{9, 5} {
		cut := inspect.Cut{At: cutAt, Reason: "x", Force: true}
		if _, err := repair(config(dirs[i]), dirs[i+1], cut); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			closeStore(t, open(t, config(dirs[i+1])))
			if _, _, err := check(config(dirs[i+1]), false); err != nil {
				t.Errorf("repair %d: %v", i+1, err)
			}
		}
	}
}

// TestSpoiltNewestCheckpoint: the last note of the log proves as much, each time.
func TestSpoiltNewestCheckpoint(t *testing.T) {
	d := newDisk()
	st := open(t, config(d))
	put(t, st, add{N: 1}, add{N: 2})
	closeStore(t, st)
	all := d.files()
	for _, name := range named(all, "snapshots/") {
		delete(all, name)
	}
	lines := journalLines(all)
	all["journal/000000000001.jsonl"] = strings.Join(lines[:2], "")
	logged := all["checkpoints.log"]
	for _, newest := range []string{"x", "", strings.Replace(all["checkpoint"], "\n3\n", "\n2\n", 1),
		"gone"} {
		all["checkpoint"] = newest
		if newest == "gone" {
			delete(all, "checkpoint")
		}
		for range 4 {
			d := diskOf(all)
			_, _, err := store.Open(config(d))
			if !errors.As(err, new(*journal.Damage)) || d.files()["checkpoints.log"] != logged {
				t.Errorf("with the newest checkpoint %q: %v", newest, err)
			}
		}
	}
}
