package store_test

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/journal"
)

// TestPermissions: directories 0700, files 0600, also those a recovery makes.
func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	closeStore(t, st)
	st = open(t, cfg)
	put(t, st, add{N: 2})
	crash := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(crash, 0o700); err != nil {
		t.Fatal(err)
	}
	all := files(t, dir)
	closeStore(t, st)
	name := named(all, "journal/")[0]
	all[name] += "torn"
	writeFiles(t, crash, all)
	cfg.FS = durable.Dir(crash)
	closeStore(t, open(t, cfg))
	if len(named(files(t, crash), "torn-")) != 1 {
		t.Error("no torn-*.bin")
	}
	for _, root := range []string{dir, crash} {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			want := os.FileMode(0o600)
			if d.IsDir() {
				want = 0o700
			}
			if info, err := d.Info(); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: mode %v, want %v, %v", path, info.Mode().Perm(), want, err)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// TestLocked: one process at a time; the lock ends with Close and with an Open that fails.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	before := files(t, dir)
	for range 2 {
		if _, _, err := store.Open(cfg); !errors.Is(err, durable.ErrLocked) {
			t.Fatal("a second Open: ", err)
		}
	}
	if !sameFiles(t, before, files(t, dir)) {
		t.Error("a refused Open changed something")
	}
	put(t, st, add{N: 2})
	closeStore(t, st)
	damaged := cfg
	damaged.Thaw, damaged.Decode = nil, func(string, []byte, []byte) (add, error) {
		return add{}, errors.New("cannot")
	}
	if err := os.RemoveAll(filepath.Join(dir, "snapshots")); err != nil {
		t.Fatal(err)
	}
	var damage *journal.Damage
	if _, _, err := store.Open(damaged); !errors.As(err, &damage) {
		t.Fatal("an event that cannot be decoded: ", err)
	}
	closeStore(t, open(t, cfg))
}

// TestNewer: what a later version of the program wrote is refused as such, and left alone.
func TestNewer(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	all := files(t, dir)
	closeStore(t, st)
	for _, c := range []struct {
		name string
		edit func(all map[string]string, cfg *sumConfig)
		text string
	}{
		{"format", func(all map[string]string, _ *sumConfig) {
			all["FORMAT"] = strings.Replace(all["FORMAT"], " v3 ", " v4 ", 1)
		}, "version 4"},
		{"kind", func(_ map[string]string, cfg *sumConfig) {
			cfg.Decode = func(kind string, _, _ []byte) (add, error) {
				return add{}, fmt.Errorf("%w: unknown type %q", journal.ErrNewer, kind)
			}
		}, `line 2 of journal/000000000001.jsonl: written by a newer version: unknown type "added"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := cfg
			changed := map[string]string{}
			maps.Copy(changed, all)
			c.edit(changed, &cfg)
			writeFiles(t, dir, changed)
			cfg.FS = durable.Dir(dir)
			_, _, err := store.Open(cfg)
			if !errors.Is(err, journal.ErrNewer) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%v, want ErrNewer and %q", err, c.text)
			}
			if !sameFiles(t, changed, files(t, dir)) {
				t.Error("a refused Open changed something")
			}
		})
	}
}

// TestBadFormat: a FORMAT that says nothing, or is gone, is damage; a new one is never made up.
func TestBadFormat(t *testing.T) {
	cfg := config(nil)
	for _, c := range []struct {
		name, format string
		drop         string // also removed
	}{
		{"empty", "", ""},
		{"other", "waybill-journal\n", ""},
		{"no newline", "waybill-journal v3 X", ""},
		{"no number", "waybill-journal vX Y\n", ""},
		{"gone", "-", ""},
		{"gone, and the journal", "-", "journal/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := cfg
			cfg.FS = durable.Dir(dir)
			st := open(t, cfg)
			put(t, st, add{N: 1})
			closeStore(t, st)
			all := files(t, dir)
			all["FORMAT"] = c.format
			if c.format == "-" {
				delete(all, "FORMAT")
			}
			for _, name := range named(all, "journal/") {
				if c.drop != "" {
					delete(all, name)
				}
			}
			dir = t.TempDir()
			writeFiles(t, dir, all)
			cfg.FS = durable.Dir(dir)
			var damage *journal.Damage
			if _, _, err := store.Open(cfg); !errors.As(err, &damage) {
				t.Errorf("Open: %v, want Damage", err)
			} else if damage.File == "" {
				t.Errorf("%v: names no file", err)
			}
			if !sameFiles(t, all, files(t, dir)) {
				t.Error("a refused Open changed something")
			}
		})
	}
}

// TestClockBehind: a last line more than a minute ahead of the clock is not
// opened; up to that time stands still.
func TestClockBehind(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	clock := newClock()
	cfg.Now = clock.now
	st := open(t, cfg)
	put(t, st, add{N: 1})
	closeStore(t, st)
	before := files(t, dir)
	clock.add(-time.Minute - time.Millisecond)
	var ce *store.ClockError
	_, _, err := store.Open(cfg)
	if !errors.As(err, &ce) || !ce.Last.Equal(epoch) || !ce.Now.Equal(epoch.Add(-60001*time.Millisecond)) {
		t.Fatal("Open: ", err)
	} else if text := ce.Error(); !strings.Contains(text, "2026-11-20T16:39:00.123Z") ||
		!strings.Contains(text, "2026-11-20T16:38:00.122Z") {
		t.Error("does not name both times: ", text)
	}
	if !sameFiles(t, before, files(t, dir)) {
		t.Error("a refused Open changed something")
	}
	clock.add(time.Millisecond)
	st = open(t, cfg)
	put(t, st, add{N: 2})
	for _, it := range look(t, st).items {
		if !it.Time.Equal(epoch) {
			t.Errorf("an event at %v, want %v", it.Time, epoch)
		}
	}
	closeStore(t, st)
}

// inode tells one file from another of the same name.
func inode(t testing.TB, path string) uint64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// lastOpened returns the data of the journal's newest opened line.
func lastOpened(t testing.TB, dir string) (data string) {
	t.Helper()
	for _, l := range frames(t, journalLines(files(t, dir))) {
		if l.Type == "opened" {
			data = string(l.Data)
		}
	}
	return data
}

// TestCopiedForward: after anything but a clean end the last file is written
// anew, synced and renamed before a line is added; after a clean end it goes on as it is.
func TestCopiedForward(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	crash := crashed(t, dir)
	want := look(t, st)
	closeStore(t, st)
	const last = "journal/000000000001.jsonl"
	for _, c := range []struct {
		name, dir, after string
		copied           bool
		calls            string
	}{
		{"clean", dir, `{"after":"clean end"}`, false,
			"append last write last sync last"},
		{"unclean", crash, `{"after":"unclean end","unsigned":{"from":2,"lines":1}}`, true,
			"create last.tmp write last.tmp sync last.tmp close last.tmp rename last syncdir journal append last write last sync last"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(c.dir, last)
			before := inode(t, path)
			kept, err := os.Open(path) // so that its number is not given to another file
			if err != nil {
				t.Fatal(err)
			}
			defer kept.Close()
			fsys := tap(c.dir)
			cfg := cfg
			cfg.FS = fsys
			var book logBook
			cfg.Log = slog.New(slog.NewTextHandler(&book, nil))
			st := open(t, cfg)
			var calls []string
			for _, call := range fsys.calls {
				op, name, _ := strings.Cut(call, " ")
				if strings.HasPrefix(name, "journal") &&
					!strings.Contains("list open read remove mkdir size", op) && call != "close "+last {
					calls = append(calls, strings.Replace(call, last, "last", 1))
				}
			}
			if got := strings.TrimPrefix(strings.Join(calls, " "), "syncdir journal "); got != c.calls {
				t.Errorf("calls %s\nwant  %s", got, c.calls)
			}
			if copied := inode(t, path) != before; copied != c.copied {
				t.Errorf("copied: %v, want %v", copied, c.copied)
			}
			if got := lastOpened(t, c.dir); got != c.after {
				t.Errorf("opened: %s, want %s", got, c.after)
			}
			if !look(t, st).equal(want) {
				t.Error("not the state that was left")
			}
			closeStore(t, st)
			if left := fsys.left(); len(left) > 0 {
				t.Errorf("left open: %q", left)
			}
			if book.String() != "" {
				t.Errorf("logged: %s", book.String())
			}
		})
	}
}

// TestTemporaryFiles: what an interrupted Publish left behind is dropped at Open.
func TestTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	st := open(t, cfg)
	put(t, st, add{N: 1})
	closeStore(t, st)
	all := files(t, dir)
	for _, name := range []string{"FORMAT.tmp", "journal/000000000001.jsonl.tmp",
		"snapshots/000000000009.jsonl.tmp"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := check(cfg, false); err != nil {
		t.Error("verify: ", err)
	}
	closeStore(t, open(t, cfg))
	for name := range files(t, dir) {
		if strings.HasSuffix(name, ".tmp") {
			t.Errorf("%s is left", name)
		}
	}
	if names := named(files(t, dir), "journal/"); len(names) != len(named(all, "journal/")) {
		t.Errorf("journal files %q", names)
	}
}

// TestFreshAfterFailedCreation: a directory whose first Open failed holds
// nothing yet, so the next Open still finds it new.
func TestFreshAfterFailedCreation(t *testing.T) {
	dir := t.TempDir()
	fsys := tap(dir)
	fsys.before = func(op, name string) error {
		if op == "create" && strings.HasPrefix(name, "journal/") {
			return errFault
		}
		return nil
	}
	if _, _, err := store.Open(config(fsys)); !errors.Is(err, errFault) {
		t.Fatal("Open: ", err)
	}
	st, fresh, err := store.Open(config(durable.Dir(dir)))
	if err != nil {
		t.Fatal(err)
	}
	if got := lastOpened(t, dir); !fresh || !strings.HasPrefix(got, `{"after":"creation",`) {
		t.Errorf("fresh %v, opened %s: no line was ever written before", fresh, got)
	}
	closeStore(t, st)
}

// TestNilLog: Log is the one field that is not required.
func TestNilLog(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	cfg.Log = nil
	st := open(t, cfg)
	put(t, st, add{N: 1})
	all := files(t, dir)
	closeStore(t, st)
	name := named(all, "journal/")[0]
	all[name] = strings.TrimSuffix(all[name], "\n")
	torn := t.TempDir()
	writeFiles(t, torn, all)
	cfg.FS = durable.Dir(torn)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("a torn tail without a Log: panic: %v", r)
		}
	}()
	closeStore(t, open(t, cfg))
}
