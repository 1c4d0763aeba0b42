package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/store"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// erase journals that names are erased from lines, and erases them.
func erase(st *sumStore, lines ...uint64) error {
	if err := nameErased(st, lines...); err != nil {
		return err
	}
	return eraseNamed(st)
}

// nameErased journals that names are erased from lines.
func nameErased(st *sumStore, lines ...uint64) error {
	var named []journal.Erasure
	_, err := st.Update(func(_ *sum, now time.Time) ([]add, error) {
		named = nil
		for _, seq := range lines {
			named = append(named, journal.Erasure{Seq: seq, At: now})
		}
		return []add{erasing(lines...)}, nil
	}, func(*sum, time.Time) { st.ToErase(named) })
	return err
}

// eraseNamed erases what lines have named.
func eraseNamed(st *sumStore) error {
	return st.Erase(context.Background(), func() error { return nil })
}

// hold tells in which files a text stands.
func hold(all map[string]string, text string) (names []string) {
	for _, name := range named(all, "") {
		if strings.Contains(all[name], text) {
			names = append(names, name)
		}
	}
	return names
}

// TestErase: no file holds what was erased, the chain is as it was, and what was not erased is there.
func TestErase(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	cfg.SegmentBytes = 700
	st := open(t, cfg)
	put(t, st, add{N: 1, Name: "Halyna"}, add{N: 2, Name: "Ostap"})
	if err := st.Snapshot(); err != nil {
		t.Fatal(err)
	}
	put(t, st, add{N: 3}, add{N: 4, Name: "Halyna"})
	put(t, st, add{N: 5, Name: "Mavka"})
	before := journalLines(d.files())
	if err := erase(st, 2, 5); err != nil {
		t.Fatal(err)
	}
	put(t, st, add{N: 6, Name: "Lukash"})
	live := look(t, st)
	for _, when := range []string{"while it is open", "when it is closed", "when it was opened again"} {
		all := d.files()
		if names := hold(all, "Halyna"); len(names) > 0 {
			t.Errorf("%s the name stands in %q", when, names)
		}
		for _, name := range []string{"Ostap", "Mavka", "Lukash"} {
			if len(hold(all, name)) == 0 {
				t.Errorf("%s nobody knows of %s", when, name)
			}
		}
		for i, line := range journalLines(all)[:len(before)] {
			if line[:75] != before[i][:75] || (line == before[i]) == (i == 1 || i == 4) {
				t.Errorf("%s line %d is %s", when, i+1, line)
			}
		}
		rep, end, err := check(cfg, when == "while it is open")
		if err != nil || !end.equal(live) || len(rep.Unerased) != 0 {
			t.Errorf("%s: %+v, %+v, %v", when, rep, end, err)
		}
		switch when {
		case "while it is open":
			closeStore(t, st)
		case "when it is closed":
			closeStore(t, open(t, cfg))
		}
	}
	all := d.files()
	erased := fmt.Sprintf(`{"erased":%q}`,
		frames(t, journalLines(all))[len(before)].Time.Format("2006-01-02T15:04:05.000Z"))
	if n := strings.Count(strings.Join(journalLines(all), ""), erased); n != 2 {
		t.Errorf("%s stands %d times in the journal", erased, n)
	}
	// Where the line that says so is cut off by a repair, the repair says so.
	out := within{newDisk(), "b"}
	cut := inspect.Cut{At: 7, Reason: "x", Force: true}
	if _, err := repair(config(diskOf(all)), out, cut); err != nil {
		t.Error(err)
	}
	_, end, err := check(config(out), false)
	if err != nil || len(end.items) != 5 || end.items[0].Name != "" {
		t.Errorf("repaired: %+v, %v", end, err)
	}
	for _, name := range named(all, "snapshots/") {
		delete(all, name)
	}
	// An erased part that no line speaks of, or another time in one, is damage.
	for what, edited := range map[string]map[string]string{
		"another time":    edit(t, all, 2, `"erased":"2026-11-20T16:39`, `"erased":"2026-11-20T16:38`),
		"no line says so": edit(t, all, 6, `{"salt":"c0ffee","name":"Mavka"}`, erased),
	} {
		_, _, err := check(config(diskOf(edited)), false)
		if !errors.As(err, new(*journal.Damage)) ||
			!strings.Contains(err.Error(), "no line says that it was erased") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestRepairAfterErase: a journal can be cut where it is damaged, also where the line that has erased a name
// stands after the damage, or is damaged itself.
func TestRepairAfterErase(t *testing.T) {
	d := newDisk()
	st := open(t, config(d))
	put(t, st, add{N: 1, Name: "Ida"}, add{N: 2}, add{N: 3})
	if err := erase(st, 2); err != nil {
		t.Fatal(err)
	}
	put(t, st, add{N: 4})
	closeStore(t, st)
	all := d.files()
	for _, c := range []struct {
		what     string
		line     int
		old, new string
		missing  []uint64
	}{
		{"a line before it", 4, `"type"`, `"tipe"`, nil},
		{"what it has besides", 5, `"hash":"`, `"hash":"0`, []uint64{2}},
		{"its name", 5, `"type"`, `"tipe"`, []uint64{2}},
		{"its time", 5, `"time":"2026`, `"time":"2025`, []uint64{2}},
		{"its number that was durable", 5, `"synced":4`, `"synced":3`, nil},
	} {
		spoilt := edit(t, all, c.line, c.old, c.new)
		_, _, err := check(config(diskOf(spoilt)), false)
		wrong, ok := errors.AsType[*journal.Damage](err)
		if !ok {
			t.Fatalf("%s is damaged: %v", c.what, err)
		}
		out := within{newDisk(), "b"}
		loss, err := repair(config(diskOf(spoilt)), out, inspect.Cut{At: wrong.Seq, Reason: "x"})
		if err != nil || !slices.Equal(loss.Missing, c.missing) {
			t.Errorf("%s is damaged: missing %v, want %v; %v", c.what, loss.Missing, c.missing, err)
			continue
		}
		_, end, err := check(config(out), false)
		if err != nil || end.items[0].Name != "" {
			t.Errorf("%s is damaged, repaired: %+v, %v", c.what, end, err)
		}
	}
}

// TestEraseStopped: wherever a process ends, or the power goes, or a call fails, the journal is sound, each
// name is there or erased, and to erase again does the rest.
func TestEraseStopped(t *testing.T) {
	t.Parallel()
	life := func(d *disk) error {
		cfg := config(d)
		cfg.SegmentBytes = 700
		st, _, err := store.Open(cfg)
		if err != nil {
			return err
		}
		defer st.Close()
		for n := range 5 {
			_, err := st.Update(func(*sum, time.Time) ([]add, error) {
				return []add{{N: int64(n), Name: "Halyna"}, {N: int64(n), Name: "Ostap"}}, nil
			}, nil)
			if err != nil {
				return err
			}
		}
		return erase(st, 2, 4, 6)
	}
	whole := newDisk()
	synctest.Test(t, func(t *testing.T) {
		if err := life(whole); err != nil {
			t.Fatal(err)
		}
	})
	for n := 1; n <= whole.calls; n += min(stride, 13) {
		for _, how := range []act{ends, endsHalf, endsAfter, fails, failsFull} {
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(uint64(n), uint64(how)))
				d := newDisk()
				at := ""
				d.before = func(i int, op string) act {
					if i == n {
						at = op
						return how
					}
					return works
				}
				life(d)
				for _, left := range []*disk{d.restarted(r), d.crash(r, nothing, nothing),
					d.crash(r, mixed, mixed)} {
					st, fresh, err := store.Open(config(left))
					if err != nil {
						t.Fatalf("%s, act %d: %v", at, how, err)
					}
					if _, _, err := check(config(left), true); err != nil {
						t.Errorf("%s, act %d: verify: %v", at, how, err)
					}
					if got := look(t, st); fresh || got.total < 20 { // it ended before the last line to erase
						closeStore(t, st)
						continue
					}
					if err := erase(st, 2, 4, 6); err != nil {
						t.Fatalf("%s, act %d: again: %v", at, how, err)
					}
					closeStore(t, st)
					rep, end, err := check(config(left), false)
					if err != nil || len(rep.Unerased) != 0 || end.items[0].Name != "" ||
						end.items[1].Name != "Ostap" {
						t.Errorf("%s, act %d: %+v, %+v, %v", at, how, rep, end, err)
					}
					for _, line := range []int{2, 4, 6} {
						if text := journalLines(left.files())[line-1]; strings.Contains(text, "Halyna") {
							t.Errorf("%s, act %d: line %d is %s", at, how, line, text)
						}
					}
				}
			})
		}
	}
}
