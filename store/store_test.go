package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store"
	"waybill/store/durable"
)

// TestReopen: what was updated is there after a clean close, line for line.
func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "data")
	cfg := config(durable.Dir(dir))
	st, fresh, err := store.Open(cfg)
	if err != nil || !fresh {
		t.Fatal(fresh, err)
	}
	put(t, st, add{N: 5})
	put(t, st, add{N: -2, Text: "a \"quoted\" line\nand one more", Name: "Ada"})
	want := look(t, st)
	closeStore(t, st)
	if want.total != 3 || len(want.items) != 2 || want.items[1].Name != "Ada" {
		t.Fatal("after two updates: ", want)
	}
	st, fresh, err = store.Open(cfg)
	if err != nil || fresh {
		t.Fatal(fresh, err)
	}
	if got := look(t, st); !got.equal(want) {
		t.Errorf("reopened: %v, want %v", got, want)
	}
	closeStore(t, st)
	rep, got, err := check(cfg, false)
	if err != nil || !got.equal(want) || rep.Head.Seq != 4 || rep.Torn != nil || rep.Files != 1 {
		t.Errorf("verify: %+v, %v, %v", rep, got, err)
	}
}

// frame is what any line of the journal shows to a JSON reader.
type frame struct {
	Hash     string          `json:"hash"`
	Seq      uint64          `json:"seq"`
	Synced   uint64          `json:"synced"`
	Time     time.Time       `json:"time"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Personal json.RawMessage `json:"personal"`
}

func frames(t testing.TB, lines []string) []frame {
	t.Helper()
	all := make([]frame, len(lines))
	for i, line := range lines {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&all[i]); err != nil {
			t.Fatalf("line %d: %v: %s", i+1, err, line)
		}
	}
	return all
}

// TestFrame: seq rises by one from 1, synced is what was durable, and several
// lines of one update share an instant and a sync.
func TestFrame(t *testing.T) {
	dir := t.TempDir()
	fsys := tap(dir)
	cfg := config(fsys)
	clock := newClock()
	cfg.Now = clock.now
	st := open(t, cfg)
	clock.add(time.Second)
	before := fsys.count("sync", "journal/")
	if seq := put(t, st, add{N: 1}, add{N: 2, Name: "Bo"}, add{N: 3}); seq != 4 {
		t.Errorf("the last line of the update is seq %d, want 4", seq)
	}
	if n := fsys.count("sync", "journal/") - before; n != 1 {
		t.Errorf("%d syncs for one update", n)
	}
	clock.add(time.Second)
	put(t, st, add{N: 4})
	closeStore(t, st)

	want := []struct {
		seq, synced uint64
		after       time.Duration
		kind, data  string
	}{
		{1, 0, 0, "opened", `{"after":"creation","key":"waybill/`},
		{2, 1, time.Second, "added", `{"n":1}`},
		{3, 1, time.Second, "added", `{"n":2,"personal":"`},
		{4, 1, time.Second, "added", `{"n":3}`},
		{5, 4, 2 * time.Second, "added", `{"n":4}`},
	}
	got := frames(t, journalLines(files(t, dir)))
	if len(got) != len(want) {
		t.Fatalf("%d lines, want %d", len(got), len(want))
	}
	for i, w := range want {
		g := got[i]
		if g.Seq != w.seq || g.Synced != w.synced || !g.Time.Equal(epoch.Add(w.after)) || g.Type != w.kind ||
			!strings.HasPrefix(string(g.Data), w.data) || (g.Personal != nil) != (i == 2) {
			t.Errorf("line %d: %+v, want %+v", i+1, g, w)
		}
	}
}

// TestTimeNeverFalls: not when the clock is set back, and not across a restart;
// it is in whole milliseconds, in UTC, and the same for decide, after and the line.
func TestTimeNeverFalls(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	clock := newClock()
	cfg.Now = func(*sum) time.Time {
		return clock.now(nil).Add(789 * time.Microsecond).In(time.FixedZone("", 3600))
	}
	st := open(t, cfg)
	var last time.Time
	for _, step := range []time.Duration{time.Second, -time.Hour, 0, time.Millisecond, 2 * time.Hour,
		-time.Minute} {
		clock.add(step)
		var seen [2]time.Time
		_, err := st.Update(func(_ *sum, now time.Time) ([]add, error) {
			seen[0] = now
			return []add{{N: 1}}, nil
		}, func(_ *sum, now time.Time) { seen[1] = now })
		if err != nil || seen[0] != seen[1] || seen[0].Before(last) ||
			seen[0] != seen[0].UTC().Truncate(time.Millisecond) {
			t.Fatalf("after %v: %v, before %v, %v", step, seen, last, err)
		}
		last = seen[0]
	}
	if want := epoch.Add(time.Hour + time.Second + time.Millisecond); !last.Equal(want) {
		t.Errorf("time stands at %v, want %v", last, want)
	}
	for i, it := range look(t, st).items {
		if line := frames(t, journalLines(files(t, dir)))[i+1]; !line.Time.Equal(it.Time) {
			t.Errorf("line of %v, applied at %v", line.Time, it.Time)
		}
	}
	closeStore(t, st)
	st = open(t, cfg)
	err := st.View(func(_ *sum, now time.Time) {
		if !now.Equal(last) {
			t.Errorf("after a restart %v, want %v", now, last)
		}
	})
	if err != nil {
		t.Error(err)
	}
	closeStore(t, st)
}

// TestRefusal: an error of decide is given back and changes nothing; so does deciding on nothing.
func TestRefusal(t *testing.T) {
	dir := t.TempDir()
	st := open(t, config(durable.Dir(dir)))
	put(t, st, add{N: 7})
	before := files(t, dir)
	state := look(t, st)
	refusal := errors.New("no")
	for _, events := range [][]add{nil, {{N: 1}}} {
		after := false
		seq, err := st.Update(func(*sum, time.Time) ([]add, error) { return events, refusal },
			func(*sum, time.Time) { after = true })
		if err != refusal || seq != 2 || after {
			t.Errorf("refused with %v: seq %d, %v, after ran %v", events, seq, err, after)
		}
	}
	if seq := put(t, st); seq != 2 {
		t.Errorf("nothing decided: seq %d, want 2", seq)
	}
	if !sameFiles(t, before, files(t, dir)) || !look(t, st).equal(state) {
		t.Error("a refusal changed something")
	}
	if seq := put(t, st, add{N: 1}); seq != 3 {
		t.Errorf("the next line is seq %d, want 3", seq)
	}
	closeStore(t, st)
}

// sameFiles compares two directories byte by byte.
func sameFiles(t testing.TB, before, after map[string]string) bool {
	t.Helper()
	same := true
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(named(before, ""),
		named(after, "")...)))) {
		b, had := before[name]
		a, has := after[name]
		if had != has || a != b {
			t.Errorf("%s changed: there %v, %v; %d bytes, %d", name, had, has, len(b), len(a))
			same = false
		}
	}
	return same
}

// TestNothingShownBeforeDurable: a view, a refusal and the function that Glance returns wait for the sync of
// what they saw; Glance itself does not.
func TestNothingShownBeforeDurable(t *testing.T) {
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
		st := open(t, config(fsys))
		if _, err := st.Glance(func(*sum, time.Time) {}); err != nil {
			t.Fatal(err)
		}
		armed = true
		var mu sync.Mutex
		var done []string
		start := func(name string, call func() error) {
			go func() {
				err := call()
				mu.Lock()
				defer mu.Unlock()
				done = append(done, fmt.Sprint(name, " ", err))
			}()
			synctest.Wait()
		}
		no := errors.New("no")
		read := func(s *sum, _ time.Time) {
			if s.total != 9 {
				t.Errorf("total %d, want 9", s.total)
			}
		}
		start("update", func() error {
			_, err := st.Update(func(*sum, time.Time) ([]add, error) { return []add{{N: 9}}, nil }, read)
			return err
		})
		start("view", func() error { return st.View(read) })
		start("refusal", func() error {
			_, err := st.Update(func(*sum, time.Time) ([]add, error) { return nil, no }, nil)
			return err
		})
		wait, err := st.Glance(read)
		if err != nil {
			t.Fatal(err)
		}
		start("glance", wait)
		if len(done) > 0 {
			t.Errorf("answered before the sync: %q", done)
		}
		close(hold)
		synctest.Wait()
		slices.Sort(done)
		want := []string{"glance <nil>", "refusal no", "update <nil>", "view <nil>"}
		if !slices.Equal(done, want) {
			t.Errorf("answered %q, want %q", done, want)
		}
		closeStore(t, st)
	})
}

// TestGroupCommit: while one sync runs, all others gather, and the next sync is for all of them.
func TestGroupCommit(t *testing.T) {
	const workers, rounds = 64, 8
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		fsys := tap(dir)
		cfg := config(fsys)
		st := open(t, cfg)
		fsys.before = func(op, name string) error {
			if op == "sync" {
				synctest.Wait() // until every worker waits for a sync
			}
			return nil
		}
		before := fsys.count("sync", "journal/")
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range rounds {
					put(t, st, add{N: 1})
				}
			})
		}
		wg.Wait()
		fsys.before = nil
		syncs := fsys.count("sync", "journal/") - before
		if syncs > 2*rounds+2 {
			t.Errorf("%d syncs for %d lines", syncs, workers*rounds)
		}
		state := look(t, st)
		for i, it := range state.items {
			if it.Seq != uint64(i+2) {
				t.Fatalf("item %d is of seq %d", i, it.Seq)
			}
		}
		closeStore(t, st)
		if _, end, err := check(cfg, false); err != nil || !end.equal(state) || end.total != workers*rounds {
			t.Errorf("verify: total %d, %v", end.total, err)
		}
	})
}

// TestSegments: a journal file is followed by another before it grows past
// SegmentBytes, is named by its first line, and is read-only from then on.
func TestSegments(t *testing.T) {
	dir := t.TempDir()
	cfg := config(durable.Dir(dir))
	cfg.SegmentBytes = 1000
	st := open(t, cfg)
	for i := range 20 {
		put(t, st, add{N: int64(i), Text: strings.Repeat("x", i)})
	}
	put(t, st, add{N: 1, Text: strings.Repeat("long", 500)}, add{N: 1}) // larger than a file should be
	put(t, st, add{N: 1})
	want := look(t, st)
	closeStore(t, st)
	all := files(t, dir)
	names := named(all, "journal/")
	if len(names) < 6 {
		t.Fatalf("only %q", names)
	}
	for i, name := range names {
		lines := frames(t, slices.Collect(strings.Lines(all[name])))
		if want := fmt.Sprintf("journal/%012d.jsonl", lines[0].Seq); name != want {
			t.Errorf("%s is named %s", want, name)
		}
		if len(all[name]) > 1000 && len(lines) > 2 {
			t.Errorf("%s has %d bytes in %d lines", name, len(all[name]), len(lines))
		}
		mode := os.FileMode(0o400)
		if i == len(names)-1 {
			mode = 0o600
		}
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, want %v, %v", name, info.Mode(), mode, err)
		}
	}
	cfg.SegmentBytes = 0
	st = open(t, cfg)
	if got := look(t, st); !got.equal(want) {
		t.Errorf("reopened: %v, want %v", got, want)
	}
	closeStore(t, st)
}
