package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"waybill/store"
	"waybill/store/durable"
)

// TestTwoSnapshots: each snapshot names its line, ends in the SHA-256 of its
// bytes, and only the newest two are kept.
func TestTwoSnapshots(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	for i := range 4 {
		put(t, st, add{N: int64(i)}, add{N: 1, Name: "Cy"})
		for range 2 { // the second finds nothing to do
			if err := st.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	closeStore(t, st)
	all := files(t, dir)
	got, want := named(all, "snapshots/"), []string{"snapshots/000000000007.jsonl",
		"snapshots/000000000009.jsonl"}
	if !slices.Equal(got, want) {
		t.Fatalf("snapshots %q, want %q", got, want)
	}
	lines := frames(t, journalLines(all))
	for _, name := range named(all, "snapshots/") {
		text := all[name]
		body := text[:len(text)-len(`{"sha256":""}`)-65]
		end := text[len(text)-len(`{"sha256":""}`)-65:]
		if want := fmt.Sprintf("{\"sha256\":\"%x\"}\n", sha256.Sum256([]byte(body))); end != want {
			t.Errorf("%s ends in %s, want %s", name, end, want)
		}
		var seq int
		fmt.Sscanf(name, "snapshots/%d.jsonl", &seq)
		l := lines[seq-1]
		first := fmt.Sprintf("{\"hash\":%q,\"seq\":%d,\"time\":%q}\n", l.Hash, l.Seq,
			l.Time.Format("2006-01-02T15:04:05.000Z"))
		if !strings.HasPrefix(text, first) {
			t.Errorf("%s: starts with %.120s, want %s", name, text, first)
		}
	}
}

// TestSnapshotAtOpen: Open reads the newest whole snapshot and only the lines
// after it; a spoiled one is warned of and costs nothing; without any, all is there.
func TestSnapshotAtOpen(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	put(t, st, add{N: 1}, add{N: 2, Name: "Di"})
	if err := st.Snapshot(); err != nil { // seq 3
		t.Fatal(err)
	}
	put(t, st, add{N: 3})
	if err := st.Snapshot(); err != nil { // seq 4
		t.Fatal(err)
	}
	put(t, st, add{N: 4}, add{N: 5})
	want := look(t, st)
	all := files(t, dir)
	closeStore(t, st)
	const older, newer = "snapshots/000000000003.jsonl", "snapshots/000000000004.jsonl"
	cut := func(names ...string) func(map[string]string) {
		return func(all map[string]string) {
			for _, name := range names {
				all[name] = all[name][:len(all[name])-1]
			}
		}
	}
	for _, c := range []struct {
		name    string
		edit    func(all map[string]string)
		decoded int // lines that had to be read
		warned  int
	}{
		{"newest", func(map[string]string) {}, 2, 0},
		{"newest cut", cut(newer), 3, 1},
		{"newest empty", func(all map[string]string) { all[newer] = "" }, 3, 1},
		{"newest of other content", func(all map[string]string) { all[newer] = strings.Replace(all[newer], "[6]", "[7]", 1) }, 3, 1},
		{"newest under another name", func(all map[string]string) { all[newer] = all[older] }, 3, 1},
		{"both cut", cut(older, newer), 5, 2},
		{"none", func(all map[string]string) { delete(all, older); delete(all, newer) }, 5, 0},
		{"other files beside", func(all map[string]string) {
			all["snapshots/9.jsonl"] = "x"
			all["snapshots/notes"] = "y"
			all["journal/notes"] = "z"
			all["journal/7.jsonl"] = "x"
		}, 2, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			all := maps.Clone(all)
			c.edit(all)
			writeFiles(t, dir, all)
			cfg := config(durable.Dir(dir))
			decoded := 0
			cfg.Decode = func(kind string, data, personal []byte) (add, error) {
				decoded++
				return decode(kind, data, personal)
			}
			var book logBook
			cfg.Log = slog.New(slog.NewTextHandler(&book, nil))
			st := open(t, cfg)
			if got := look(t, st); !got.equal(want) {
				t.Errorf("state %v, want %v", got, want)
			}
			closeStore(t, st)
			if decoded != c.decoded {
				t.Errorf("%d lines were decoded, want %d", decoded, c.decoded)
			}
			if n := strings.Count(book.String(), "level=WARN"); n != c.warned {
				t.Errorf("%d warnings, want %d: %s", n, c.warned, book.String())
			}
		})
	}
}

// TestSnapshotBesideWriters: a snapshot does not stop writers, and holds the
// state as it was when it was asked for.
func TestSnapshotBesideWriters(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := tap(dir)
		hold := make(chan struct{})
		fsys.before = func(op, name string) error {
			if op == "write" && strings.HasPrefix(name, "snapshots/") {
				<-hold
			}
			return nil
		}
		cfg := config(fsys)
		st := open(t, cfg)
		put(t, st, add{N: 1})
		var wg sync.WaitGroup
		wg.Go(func() {
			if err := st.Snapshot(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		for range 10 {
			put(t, st, add{N: 1})
		}
		close(hold)
		wg.Wait()
		text := files(t, dir)["snapshots/000000000002.jsonl"]
		if !strings.Contains(text, "\n[1]\n") || strings.Count(text, "\n") != 4 {
			t.Errorf("the snapshot holds\n%s", text)
		}
		closeStore(t, st)
		if rep, _, err := check(cfg, false); err != nil || rep.Snapshots != 2 {
			t.Errorf("verify: %+v, %v", rep, err)
		}
	})
}

// TestSnapshotWaits: what is not durable yet is in no snapshot.
func TestSnapshotWaits(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := tap(dir)
		hold := make(chan struct{})
		armed := false
		fsys.before = func(op, name string) error {
			if armed && op == "sync" && strings.HasPrefix(name, "journal/") {
				<-hold
			}
			return nil
		}
		cfg := config(fsys)
		st := open(t, cfg)
		armed = true
		var wg sync.WaitGroup
		wg.Go(func() { put(t, st, add{N: 1}) })
		synctest.Wait()
		wg.Go(func() { put(t, st, add{N: 2}) }) // pending behind the first
		synctest.Wait()
		wg.Go(func() {
			if err := st.Snapshot(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		wg.Go(func() { put(t, st, add{N: 3}) }) // in the same batch, but after the snapshot
		synctest.Wait()
		if n := fsys.count("create", "snapshots/"); n > 0 {
			t.Error("a snapshot of what is not durable")
		}
		close(hold)
		wg.Wait()
		if text := files(t, dir)["snapshots/000000000003.jsonl"]; !strings.Contains(text, "\n[3]\n") {
			t.Errorf("the snapshot holds\n%s", text)
		}
		closeStore(t, st)
		if _, _, err := check(cfg, false); err != nil {
			t.Error(err)
		}
	})
}

// TestSnapshotFails: one that cannot be written is an error of Snapshot, a
// warning of Close, and nothing else; the next one is tried in its turn.
func TestSnapshotFails(t *testing.T) {
	for _, op := range []string{"list", "create", "write", "sync", "close", "rename", "syncdir"} {
		for _, by := range []error{errFault, errHalf, errShort} {
			if by != errFault && op != "write" {
				continue
			}
			t.Run(op+" "+by.Error(), func(t *testing.T) {
				dir := t.TempDir()
				fsys := tap(dir)
				armed := true
				fsys.before = func(o, name string) error {
					if armed && o == op && strings.HasPrefix(name, "snapshots") {
						return by
					}
					return nil
				}
				cfg := config(fsys)
				log := new(logBook)
				cfg.Log = slog.New(slog.NewTextHandler(log, nil))
				armed = false
				st := open(t, cfg)
				put(t, st, add{N: 1})
				armed = true
				if err := st.Snapshot(); !errors.Is(err, by) && by != errShort || err == nil {
					t.Errorf("Snapshot: %v, want %v", err, by)
				}
				select {
				case <-st.Failed():
					t.Error("the store failed")
				default:
				}
				put(t, st, add{N: 2})
				crash := crashed(t, dir)
				armed = false
				put(t, st, add{N: 3})
				if err := st.Snapshot(); err != nil {
					t.Error("the next one: ", err)
				}
				put(t, st, add{N: 4})
				armed = true
				err := st.Close()
				if err != nil ||
					!strings.Contains(log.String(), "the last snapshot could not be written") {
					t.Errorf("Close: %v\n%s", err, log)
				}
				if left := fsys.left(); len(left) > 0 {
					t.Errorf("left open: %q", left)
				}
				for dir, total := range map[string]int64{crash: 3, dir: 10} {
					cfg.FS = durable.Dir(dir)
					st = open(t, cfg)
					if got := look(t, st); got.total != total {
						t.Errorf("total %d, want %d", got.total, total)
					}
					closeStore(t, st)
					names := slices.DeleteFunc(named(files(t, dir), ""), func(s string) bool {
						return !strings.HasSuffix(s, ".tmp")
					})
					if len(names) > 0 {
						t.Errorf("left: %q", names)
					}
				}
			})
		}
	}
}

// TestFailedFreeze: an error of what Freeze returned, too, is only the snapshot's.
func TestFailedFreeze(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	cfg.Freeze = func(*sum) func(io.Writer) error {
		return func(w io.Writer) error {
			w.Write([]byte("half"))
			return errFault
		}
	}
	st := open(t, cfg)
	put(t, st, add{N: 1})
	if err := st.Snapshot(); !errors.Is(err, errFault) {
		t.Error("Snapshot: ", err)
	}
	put(t, st, add{N: 2})
	closeStore(t, st)
	if names := named(files(t, dir), "snapshots/"); len(names) > 0 {
		t.Errorf("left: %q", names)
	}
	cfg = config(durable.Dir(dir))
	st = open(t, cfg)
	if got := look(t, st); got.total != 3 {
		t.Errorf("total %d, want 3", got.total)
	}
	closeStore(t, st)
}

// TestOpenedLineInNewFile: the opened line may be the one that no longer fits
// the last file. The snapshot that goes with a new file must not be made
// before that line is durable, nor name another.
func TestOpenedLineInNewFile(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprint("its sync fails: ", fails), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				fsys := tap(dir)
				armed := false
				fsys.before = func(op, name string) error {
					if !armed || op != "write" && op != "sync" || !strings.HasPrefix(name, "journal/") {
						return nil
					}
					synctest.Wait() // whatever was started meanwhile gets to its end
					if fails && op == "sync" {
						return errFault
					}
					return nil
				}
				cfg := config(fsys)
				st := open(t, cfg)
				put(t, st, add{N: 1})
				closeStore(t, st)
				cfg.SegmentBytes = 400 // what is there fits; one line more does not
				armed = true
				st, _, err := store.Open(cfg)
				armed = false
				if fails != (err != nil) {
					t.Fatal("Open: ", err)
				}
				if err == nil {
					closeStore(t, st)
				}
				if left := fsys.left(); len(left) > 0 {
					t.Errorf("left open: %q", left)
				}
				all := files(t, dir)
				if len(named(all, "journal/")) != 2 {
					t.Fatalf("no new file: %q", named(all, "journal/"))
				}
				if _, _, err := check(cfg, false); err != nil {
					t.Error("verify: ", err)
				}
				cfg.SegmentBytes = 0
				st, _, err = store.Open(cfg)
				if err != nil {
					t.Fatal("the next Open: ", err)
				}
				put(t, st, add{N: 1})
				if got := look(t, st); got.total != 2 {
					t.Errorf("total %d, want 2", got.total)
				}
				closeStore(t, st)
			})
		})
	}
}

// TestSnapshotAfterRotation: a new file is followed by a snapshot, in the background.
func TestSnapshotAfterRotation(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cfg := config(durable.Dir(dir))
		cfg.SegmentBytes = 1000
		st := open(t, cfg)
		for range 6 {
			put(t, st, add{N: 1})
			synctest.Wait()
		}
		all := files(t, dir)
		segs, snaps := named(all, "journal/"), named(all, "snapshots/")
		if len(segs) != 2 || len(snaps) != 1 {
			t.Errorf("files %q, snapshots %q", segs, snaps)
		}
		closeStore(t, st)
		if _, _, err := check(cfg, false); err != nil {
			t.Error(err)
		}
	})
}
