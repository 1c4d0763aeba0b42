package store_test

import (
	"errors"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"waybill/store"
	"waybill/store/durable"
	"waybill/store/journal"
)

// damaged is a killed journal, edited, and the line that must be named for it.
type damaged struct {
	name      string
	snapshots bool
	edit      func(all map[string]string)
	file      string
	line      int // 0: the report need not say
	reason    string
}

func damages(plain, withSnapshots map[string]string) []damaged {
	names := named(plain, "journal/")
	first := names[0]
	last := names[1]
	// setLines changes the lines of one file.
	setLines := func(name string, change func(lines []string) []string) func(map[string]string) {
		return func(all map[string]string) {
			all[name] = strings.Join(change(slices.Collect(strings.Lines(all[name]))), "")
		}
	}
	flip := func(name string, line int) func(map[string]string) {
		return setLines(name, func(lines []string) []string {
			lines[line-1] = strings.Replace(lines[line-1], `"n":`, `"m":`, 1)
			return lines
		})
	}
	return []damaged{
		{"a line of the last file", false, flip(last, 1), last, 1, "shows that seq"},
		{"its bytes are zero", false, setLines(last, func(lines []string) []string {
			lines[1] = strings.Repeat("\x00", len(lines[1])-1) + "\n"
			return lines
		}), last, 2, "shows that seq"},
		{"a zeroed page over a newline", false, setLines(last, func(lines []string) []string {
			lines[1] = strings.Repeat("\x00", len(lines[1]))
			return lines
		}), last, 2, "shows that seq"},
		{"a line deleted", false, setLines(last, func(lines []string) []string {
			return slices.Delete(lines, 0, 1)
		}), last, 1, "has seq 6 where 5 is expected"},
		{"a line doubled", false, setLines(last, func(lines []string) []string {
			return slices.Insert(lines, 0, lines[0])
		}), last, 2, "has seq 5 where 6 is expected"},
		{"two lines swapped", false, setLines(last, func(lines []string) []string {
			lines[0], lines[1] = lines[1], lines[0]
			return lines
		}), last, 1, "has seq 6 where 5 is expected"},
		{"another journal's line", false, setLines(last, func(lines []string) []string {
			lines[0] = slices.Collect(strings.Lines(withSnapshots[last]))[0]
			return lines
		}), last, 1, "hash"},
		{"the last line of the first file", false, flip(first, 4), first, 4, "later files exist"},
		{"the first file cut", false, func(all map[string]string) {
			all[first] = all[first][:len(all[first])-1]
		}, first, 4, "later files exist"},
		{"the first file short of a " +
			"line", false, setLines(first, func(lines []string) []string { return lines[:3] }), last, 1, "missing"},
		{"the first file empty", false, func(all map[string]string) { all[first] = "" }, last, 1, "missing"},
		{"the first file " +
			"gone", false, func(all map[string]string) { delete(all, first) }, last, 1, "missing"},
		{"the first file under another number", false, func(all map[string]string) {
			all["journal/000000000002.jsonl"] = all[first]
			delete(all, first)
		}, "journal/000000000002.jsonl", 1, "missing"},
		{"a file in the middle gone", false, func(all map[string]string) {
			lines := slices.Collect(strings.Lines(all[last]))
			all[last] = lines[0]
			all["journal/000000000007.jsonl"] = strings.Join(lines[2:], "")
		}, "journal/000000000007.jsonl", 1, "missing"},
		{"the line of a snapshot", true, flip(last, 3), last, 3, ""},
		{"the journal ends before a " +
			"snapshot", true, setLines(last, func(lines []string) []string { return lines[:1] }), "", 0, "seq 7"},
		{"the last file gone before a " +
			"snapshot", true, func(all map[string]string) { delete(all, last) }, "", 0, "seq 7"},
		{"no journal, but a " +
			"snapshot", true, func(all map[string]string) { delete(all, first); delete(all, last) }, "", 0, "seq 7"},
	}
}

// TestDamage: what cannot be a torn tail is refused by Open and found by
// Verify, both naming the place; nothing is changed on the disk.
func TestDamage(t *testing.T) {
	plain := killedJournal(t, false)
	withSnapshots := killedJournal(t, true)
	for _, c := range damages(plain, withSnapshots) {
		t.Run(c.name, func(t *testing.T) {
			all := maps.Clone(plain)
			if c.snapshots {
				all = maps.Clone(withSnapshots)
			}
			c.edit(all)
			dir := t.TempDir()
			writeFiles(t, dir, all)
			cfg := config(durable.Dir(dir))
			_, _, verr := check(cfg, false)
			_, _, oerr := store.Open(cfg)
			for who, err := range map[string]error{"Verify": verr, "Open": oerr} {
				var d *journal.Damage
				if !errors.As(err, &d) || d.File == "" || d.Seq == 0 ||
					!strings.Contains(err.Error(), c.reason) {
					t.Errorf("%s: %v, want %q", who, err, c.reason)
				} else if c.line != 0 &&
					(d.File != c.file || d.Line != c.line || int(d.Offset) != offsetOf(all[c.file], c.line)) {
					t.Errorf("%s: %v, want %s, line %d, byte %d", who, err, c.file, c.line,
						offsetOf(all[c.file], c.line))
				}
			}
			if !sameFiles(t, all, files(t, dir)) {
				t.Error("a refused Open changed something")
			}
			// The directory is free again, and the refusal stands.
			if _, _, err := store.Open(cfg); err == nil || err.Error() != oerr.Error() {
				t.Errorf("again: %v, want %v", err, oerr)
			}
		})
	}
}

// TestEarlierFiles: Open reads from the newest snapshot on, but sees that the files before it are there to
// their ends.
func TestEarlierFiles(t *testing.T) {
	all := killedJournal(t, true)
	names := named(all, "journal/")
	for what, edit := range map[string]func(all map[string]string){
		"gone":  func(all map[string]string) { delete(all, names[0]) },
		"empty": func(all map[string]string) { all[names[0]] = "" },
		"short of a " +
			"byte": func(all map[string]string) { all[names[0]] = all[names[0]][:len(all[names[0]])-1] },
		"short of a " +
			"line": func(all map[string]string) { all[names[0]] = strings.Join(journalLines(all)[:3], "") },
		"longer by garbage": func(all map[string]string) { all[names[0]] += "x\n" },
		"longer by a line":  func(all map[string]string) { all[names[0]] += journalLines(all)[4] },
	} {
		left := maps.Clone(all)
		edit(left)
		d := diskOf(left)
		var damage *journal.Damage
		_, _, err := store.Open(config(d))
		if !errors.As(err, &damage) || !strings.HasPrefix(damage.File, "journal/") {
			t.Errorf("%s: Open: %v", what, err)
		}
		if _, _, err := check(config(d), false); !errors.As(err, &damage) || damage.Line == 0 {
			t.Errorf("%s: Verify: %v", what, err)
		}
		if !maps.Equal(d.files(), left) {
			t.Errorf("%s: a refused Open changed something", what)
		}
	}
}

// TestDamagedFirstLine: Open reads from it when the directory was made, also in a file that it skips, and
// before it changes anything.
func TestDamagedFirstLine(t *testing.T) {
	all := killedJournal(t, true)
	first := named(all, "journal/")[0]
	last := named(all, "journal/")[1]
	all[first] = strings.Replace(all[first], `"seq":1`, `"sec":1`, 1)
	for _, torn := range []string{"", "torn"} {
		left := maps.Clone(all)
		left[last] += torn
		d := diskOf(left)
		var damage *journal.Damage
		_, _, err := store.Open(config(d))
		if !errors.As(err, &damage) || damage.Place != (journal.Place{
			File: first,
			Line: 1,
		}) || damage.Seq != 1 {
			t.Errorf("Open: %v", err)
		}
		if !sameFiles(t, left, d.files()) {
			t.Error("a refused Open changed something")
		}
	}
}

// offsetOf returns where a line starts.
func offsetOf(text string, line int) (offset int) {
	for range line - 1 {
		offset += strings.IndexByte(text[offset:], '\n') + 1
	}
	return offset
}

// TestUnprovable: inside the last batch nothing proves what was durable: the good part is gone on with.
func TestUnprovable(t *testing.T) {
	all := killedJournal(t, false)
	last := named(all, "journal/")[1]
	lines := slices.Collect(strings.Lines(all[last]))
	n := len(lines) // the last batch is of three lines
	for _, c := range []struct {
		name  string
		lines []string
		good  int
	}{
		{"a line deleted", slices.Concat(lines[:n-2], lines[n-1:]), n - 2},
		{"a line doubled", slices.Concat(lines[:n-1], lines[n-2:]), n - 1},
		{"two swapped", slices.Concat(lines[:n-2], lines[n-1:], lines[n-2:n-1]), n - 2},
		{"the first deleted", slices.Concat(lines[:n-3], lines[n-2:]), n - 3},
	} {
		left := maps.Clone(all)
		left[last] = strings.Join(c.lines, "")
		torn := strings.Join(c.lines[c.good:], "")
		checkCut(t, c.name, diskOf(left), frames(t, journalLines(all))[:len(journalLines(all))-n+c.good],
			torn, false)
	}
}

// TestSnapshotOfAnotherHistory: a whole snapshot whose line the journal has
// with another hash is damage, not a cache to ignore.
func TestSnapshotOfAnotherHistory(t *testing.T) {
	all := killedJournal(t, true)
	other := killedJournal(t, true)
	maps.DeleteFunc(all, func(name, _ string) bool { return strings.HasPrefix(name, "snapshots/") })
	all["snapshots/000000000007.jsonl"] = other["snapshots/000000000007.jsonl"]
	d := diskOf(all)
	var damage *journal.Damage
	if _, _, err := store.Open(config(d)); !errors.As(err, &damage) || damage.Seq != 7 {
		t.Error("Open: ", err)
	}
	if _, _, err := check(config(d), false); !errors.As(err, &damage) {
		t.Error("Verify: ", err)
	}
	if !maps.Equal(d.files(), all) {
		t.Error("a refused Open changed something")
	}
}

// TestSnapshotOfAnotherProgram: a whole snapshot that this program cannot read, of
// an older or newer one, is no state to start from; but it proves as well that its line was durable.
func TestSnapshotOfAnotherProgram(t *testing.T) {
	all := killedJournal(t, true)
	last := named(all, "journal/")[1]
	lines := slices.Collect(strings.Lines(all[last]))
	all[last] = lines[0] + lines[1] + lines[2][:20] // of seq 7, which a snapshot names
	d := diskOf(all)
	cfg := config(d)
	cfg.Thaw = func(io.Reader) (*sum, error) { return nil, errors.New("no state of mine") }
	var damage *journal.Damage
	if _, _, err := store.Open(cfg); !errors.As(err, &damage) || damage.Seq != 7 {
		t.Errorf("a durable line was cut as a torn tail: %v", err)
	}
	if !maps.Equal(d.files(), all) {
		t.Errorf("changed to %q", named(d.files(), ""))
	}
}

// TestLastLineOfEarlierFile: however long the last line of a file is that ends
// before the snapshot, Open finds it, and finds out where it does not go on.
func TestLastLineOfEarlierFile(t *testing.T) {
	for _, size := range []int{1, 1 << 16, 1<<16 - 200, 1 << 18, 1 << 20} {
		d := newDisk()
		cfg := config(d)
		cfg.SegmentBytes = 1
		st := open(t, cfg)
		put(t, st, add{N: 1, Text: "short"}, add{N: 2, Text: strings.Repeat("x", size), Name: "Quin"})
		put(t, st, add{N: 3})
		if err := st.Snapshot(); err != nil {
			t.Fatal(err)
		}
		want := look(t, st)
		closeStore(t, st)
		all := d.files()
		st = open(t, config(diskOf(all)))
		if got := look(t, st); !got.equal(want) {
			t.Errorf("%d bytes: total %d, want %d", size, got.total, want.total)
		}
		closeStore(t, st)
		earlier := named(all, "journal/")[1]
		for i := range all[earlier] {
			if i > 3 && i < len(all[earlier])-3 {
				continue
			}
			cut := maps.Clone(all)
			cut[earlier] = all[earlier][:i]
			var damage *journal.Damage
			_, _, err := store.Open(config(diskOf(cut)))
			if !errors.As(err, &damage) || damage.File != earlier {
				t.Fatalf("%d bytes, cut at %d: %v", size, i, err)
			}
		}
	}
}
