package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// TestVerifyLive: beside a running server that writes, rotates and makes
// snapshots, Verify finds nothing wrong, ever.
func TestVerifyLive(t *testing.T) {
	dir := t.TempDir()
	cfg := config(quick(dir))
	cfg.SegmentBytes = 100_000
	st := open(t, cfg)
	var running atomic.Int32
	var wg sync.WaitGroup
	for range 4 {
		running.Add(1)
		wg.Go(func() {
			defer running.Add(-1)
			for range 50 {
				put(t, st, add{N: 1, Text: strings.Repeat("x", 3000)}, add{N: 2, Name: "Flo"})
			}
		})
	}
	var last uint64
	for running.Load() > 0 {
		rep, end, err := check(config(durable.Dir(dir)), true)
		if err != nil || rep.Torn != nil || rep.Head.Seq < last {
			t.Errorf("after seq %d: %+v, %v", last, rep, err)
		}
		n := len(end.items)
		if err == nil && (n == 0 && rep.Head.Seq > 1 || n > 0 && end.items[n-1].Seq != rep.Head.Seq) {
			t.Errorf("head %d, %d events", rep.Head.Seq, n)
		}
		last = rep.Head.Seq
	}
	wg.Wait()
	closeStore(t, st)
	if _, _, err := check(cfg, false); err != nil {
		t.Error(err)
	}
}

// growFS is a directory in which a file grows when it has been read to its end.
type growFS struct {
	durable.FS
	grow func()
}

type growFile struct {
	durable.Readable
	grow *func()
}

func (f growFS) Open(name string) (durable.Readable, error) {
	file, err := f.FS.Open(name)
	if err == nil && strings.HasPrefix(name, "journal/") {
		file = growFile{file, &f.grow}
	}
	return file, err
}

func (f growFile) Read(b []byte) (int, error) {
	n, err := f.Readable.Read(b)
	if err == io.EOF && *f.grow != nil {
		(*f.grow)()
		*f.grow = nil
	}
	return n, err
}

// TestVerifyLiveMidWrite: a line of which only a part was there at first is no damage, although
// what the server writes in the meantime proves that it was durable.
func TestVerifyLiveMidWrite(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	for range 4 {
		put(t, st, add{N: 1, Name: "Gus"})
	}
	all := files(t, dir)
	closeStore(t, st)
	const name = "journal/000000000001.jsonl"
	whole := all[name]
	lines := journalLines(all)
	for _, cut := range []int{1, 74, 75, 100, len(lines[2]) - 2, len(lines[2]) - 1} {
		dir := t.TempDir()
		all := maps.Clone(all)
		at := len(lines[0]) + len(lines[1]) + cut
		all[name] = whole[:at]
		writeFiles(t, dir, all)
		fsys := growFS{durable.Dir(dir), func() {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(whole), 0o600); err != nil {
				t.Error(err)
			}
		}}
		rep, _, err := check(config(fsys), true)
		if err != nil || rep.Torn != nil || rep.Head.Seq != 2 && rep.Head.Seq != 5 {
			t.Errorf("cut at %d of line 3: %+v, %v", cut, rep, err)
		}
	}
}

// TestVerifyLiveErasure: lines that are erased between the look for files and the reading of them are
// explained by a line that comes after what was to be read.
func TestVerifyLiveErasure(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	defer closeStore(t, st)
	put(t, st, add{N: 1, Name: "Halyna"}, add{N: 2, Name: "Ostap"})
	put(t, st, add{N: 3})
	fsys := tap(dir)
	erased := false
	fsys.before = func(op, name string) error {
		if op != "open" || name != "journal/000000000001.jsonl" || erased {
			return nil
		}
		erased = true
		return erase(st, 2)
	}
	rep, _, err := check(config(fsys), true)
	if err != nil || !erased || len(rep.Unerased) > 0 {
		t.Errorf("%v, erased: %t, %+v", err, erased, rep)
	}
	// What no line explains is damage, also beside a server.
	all := files(t, dir)
	const name = "journal/000000000001.jsonl"
	all[name] = strings.Replace(all[name], `{"salt":"c0ffee","name":"Ostap"}`,
		`{"erased":"2026-06-01T10:00:00.000Z"}`, 1)
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "snapshots/") })
	other := t.TempDir()
	writeFiles(t, other, all)
	if _, _, err := check(config(durable.Dir(other)), true); err == nil ||
		!strings.Contains(err.Error(), "no line says that it was erased") {
		t.Error(err)
	}
}

// TestVerifyLiveDamage: what a running server cannot have left unfinished is
// reported beside it, too: only a last line without its newline is its business.
func TestVerifyLiveDamage(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	put(t, st, add{N: 1})
	put(t, st, add{N: 2}, add{N: 3})
	all := files(t, dir)
	closeStore(t, st)
	const name = "journal/000000000001.jsonl"
	for _, c := range []struct{ what, from, to string }{
		{"first line", `"creation"`, `"cremation"`},
		{"a durable line", `{"n":1}`, `{"n":9}`},
		{"first line of the last batch", `{"n":2}`, `{"n":9}`},
		{"last line", `{"n":3}`, `{"n":9}`},
	} {
		dir := t.TempDir()
		all := maps.Clone(all)
		all[name] = strings.Replace(all[name], c.from, c.to, 1)
		writeFiles(t, dir, all)
		if rep, _, err := check(config(durable.Dir(dir)), true); err == nil && rep.Torn == nil {
			t.Errorf("%s: found sound up to seq %d", c.what, rep.Head.Seq)
		}
	}
	// A snapshot that was there before the journal was read proves as much beside a server.
	d := newDisk()
	st = open(t, config(d))
	put(t, st, add{N: 1})
	put(t, st, add{N: 2})
	closeStore(t, st)
	short := d.files()
	short[name] = strings.Join(journalLines(short)[:2], "")
	if rep, _, err := check(config(diskOf(short)), true); err == nil {
		t.Errorf("lines are missing before a snapshot: found sound up to seq %d", rep.Head.Seq)
	}
	all[name] += `{"hash":"012`
	dir = t.TempDir()
	writeFiles(t, dir, all)
	rep, _, err := check(config(durable.Dir(dir)), true)
	if err != nil || rep.Torn != nil || rep.Head.Seq != 4 {
		t.Errorf("an unfinished line: %+v, %v", rep, err)
	}
	rep, _, err = check(config(durable.Dir(dir)), false)
	if err != nil || rep.Torn == nil || rep.Head.Seq != 4 {
		t.Errorf("an unfinished line without a server: %+v, %v", rep, err)
	}
}

// TestVerifySnapshots: each snapshot is compared with what replaying gives.
func TestVerifySnapshots(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	if err := st.Snapshot(); err != nil {
		t.Fatal(err)
	}
	put(t, st, add{N: 2})
	closeStore(t, st)
	all := files(t, dir)
	if rep, _, err := check(cfg, false); err != nil || rep.Snapshots != 2 {
		t.Errorf("%+v, %v", rep, err)
	}
	names := named(all, "snapshots/")
	for _, name := range names {
		text := all[name]
		for i := 0; i < len(text); i += stride {
			flipped := []byte(text)
			flipped[i] ^= 1 << (i % 8)
			if err := os.WriteFile(filepath.Join(dir, name), flipped, 0o600); err != nil {
				t.Fatal(err)
			}
			if rep, _, err := check(cfg, false); err != nil || !isSpoilt(rep, name) {
				t.Fatalf("%s: bit %d of byte %d: %v, %v", name, i%8, i, rep.Happened, err)
			}
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Of a bad snapshot and a bad line after it the line is told: a start makes the snapshot anew.
	last := named(all, "journal/")[0]
	spoilt := strings.Replace(all[names[0]], "[1]", "[7]", 1)
	journal := strings.Replace(all[last], `"n":2`, `"n":3`, 1)
	for name, text := range map[string]string{names[0]: spoilt, last: journal} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if spoilt == all[names[0]] || journal == all[last] {
		t.Fatal("nothing is spoilt")
	}
	if _, _, err := check(cfg, false); err == nil || !strings.Contains(err.Error(), last) {
		t.Errorf("of a bad snapshot and a bad line after it: %v", err)
	}
	for _, name := range []string{names[0], last} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(all[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A whole snapshot that says something else, or the same in another form, is found.
	name := names[len(names)-1]
	for old, want := range map[string]bool{"[3]": true, "[ 3]": false, "[4]": false} {
		body, _, _ := strings.Cut(strings.Replace(all[name], "[3]", old, 1), `{"sha256"`)
		text := fmt.Sprintf("%s{\"sha256\":\"%x\"}\n", body, sha256.Sum256([]byte(body)))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, _, err := check(cfg, false)
		if want != (err == nil) || err != nil &&
			!strings.Contains(err.Error(), name+": is not the snapshot that a replay") {
			t.Errorf("%s instead of [3]: %v", old, err)
		}
	}
	// A start uses none that it cannot read.
	cfg.Thaw = func(r io.Reader) (*sum, error) { return nil, errFault }
	st = open(t, cfg)
	if got := look(t, st); got.total != 3 {
		t.Errorf("without the snapshots: %+v", got)
	}
	closeStore(t, st)
}

// TestVerifyMeaning: what check and inspect say is reported, with the place of the line that check was asked
// about.
func TestVerifyMeaning(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1}, add{N: 2})
	closeStore(t, st)
	lines := journalLines(files(t, dir))
	inspected := false
	rep, err := verifyWith(cfg, false, inspect.Expected{}, func(s *sum, stamp journal.Stamp, e add) error {
		if e.N == 2 && s.total == 1 && stamp.Seq == 3 {
			return errFault
		}
		return nil
	}, func(*sum, journal.Stamp) error {
		inspected = true
		return nil
	})
	if err != nil || !inspected {
		t.Error("a line that breaks a rule ends the reading:", err)
	}
	want := journal.Damage{
		Place: journal.Place{
			File:   "journal/000000000001.jsonl",
			Line:   3,
			Offset: int64(len(lines[0]) + len(lines[1])),
		},
		Seq:    3,
		Reason: errFault.Error(),
		Books:  true,
	}
	if list := rep.Misfits.List; len(list) != 1 || *list[0] != want || rep.Misfits.Unapplied {
		t.Errorf("check: %v, want %v", list, &want)
	}
	_, err = verifyWith(cfg, false, inspect.Expected{}, func(*sum, journal.Stamp, add) error {
		return nil
	}, func(s *sum, stamp journal.Stamp) error {
		if s.total != 3 || stamp.Seq != 3 || stamp.Time != epoch.Truncate(time.Millisecond) {
			t.Errorf("inspect sees %v at %v", s, stamp)
		}
		return errFault
	})
	if err != errFault {
		t.Error("inspect: ", err)
	}
}

// TestVerifyNewer: an event of a later version of the program is no damage.
func TestVerifyNewer(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	st := open(t, cfg)
	put(t, st, add{N: 1})
	closeStore(t, st)
	cfg.Decode = func(string, []byte, []byte) (add, error) { return add{}, journal.ErrNewer }
	if _, _, err := check(cfg, false); !errors.Is(err, journal.ErrNewer) {
		t.Errorf("%v, want ErrNewer", err)
	}
}
