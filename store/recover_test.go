package store_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"waybill/store"
	"waybill/store/journal"
)

// killedJournal returns the files of a store that was killed: two journal files,
// in the last of which stand several batches, and with snapshots one of a line in each.
func killedJournal(t testing.TB, snapshots bool) map[string]string {
	t.Helper()
	d := newDisk()
	// What goes with the second file comes at a time of its own: no checkpoint is written, and no snapshot
	// but these two.
	d.before = func(_ int, op string) act {
		switch {
		case snapshots && (strings.HasSuffix(op, "4.jsonl.tmp") || strings.HasSuffix(op, "7.jsonl.tmp")):
		case op == "write checkpoints.log", strings.HasPrefix(op, "create snapshots/"):
			return fails
		}
		return works
	}
	cfg := config(d)
	cfg.SegmentBytes = 1500
	st := open(t, cfg)
	for i, events := range [][]add{
		{{N: 1, Text: strings.Repeat("x", 550)}, {N: 2, Name: "Mo"}},
		{{N: 3}},
		{{N: 4}, {N: 5}},
		{{N: 6, Name: "Ned"}},
		{{N: 7}, {N: 8}, {N: 9, Name: "Oz"}},
	} {
		put(t, st, events...)
		if snapshots && (i == 1 || i == 3) {
			if err := st.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := d.files()
	if err := st.Close(); !errors.Is(err, errFault) { // the last lines cannot be signed
		t.Fatal("Close: ", err)
	}
	delete(all, "checkpoints.log")
	delete(all, "tree/00")
	if names := named(all, "journal/"); len(names) != 2 || strings.Count(all[names[1]], "\n") < 5 {
		t.Fatalf("journal files %q", names)
	}
	return all
}

// TestKilledJournalIsTheSameEachTime: what a rotation starts beside the lines leaves nothing in it that comes
// and goes.
func TestKilledJournalIsTheSameEachTime(t *testing.T) {
	want := []string{
		"FORMAT", "checkpoint.key", "checkpoint.pub", "journal/000000000001.jsonl", "journal/000000000005.jsonl",
		"snapshots/000000000004.jsonl", "snapshots/000000000007.jsonl",
	}
	for i := range 400 {
		all := slices.Sorted(maps.Keys(killedJournal(t, i%2 > 0)))
		if want := want[:len(want)-2+i%2*2]; !slices.Equal(all, want) {
			t.Fatalf("it has %q, want %q", all, want)
		}
	}
}

// TestCutEverywhere cuts the journal at every byte of its last file. Open
// succeeds exactly if no snapshot proves more; then every line before the cut is there,
// the torn bytes are kept, and the next Open finds a clean end.
func TestCutEverywhere(t *testing.T) {
	t.Parallel()
	for _, snapshots := range []bool{false, true} {
		all := killedJournal(t, snapshots)
		proven := uint64(0)
		if snapshots {
			proven = 7
		}
		names := named(all, "journal/")
		last := names[len(names)-1]
		lines := frames(t, journalLines(all))
		before := strings.Count(all[names[0]], "\n") // lines in the first file
		for cut := range len(all[last]) + 1 {
			if cut%stride > 0 &&
				!strings.Contains(all[last][max(cut-2, 0):min(cut+1, len(all[last]))], "\n") {
				continue
			}
			left := maps.Clone(all)
			left[last] = all[last][:cut]
			whole := before + strings.Count(left[last], "\n")
			start := strings.LastIndexByte(left[last], '\n') + 1
			what := fmt.Sprintf("snapshots %v, cut at %d, after %d lines", snapshots, cut, whole)
			d := diskOf(left)
			if uint64(whole) < proven {
				var damage *journal.Damage
				_, _, err := store.Open(config(d))
				if !errors.As(err, &damage) || damage.Seq != uint64(whole+1) {
					t.Fatalf("%s: %v", what, err)
				}
				if start < cut && damage.Place != (journal.Place{
					File:   last,
					Line:   whole - before + 1,
					Offset: int64(start),
				}) {
					t.Fatalf("%s: %v", what, damage)
				}
				if !maps.Equal(d.files(), left) {
					t.Fatalf("%s: a refused Open changed something", what)
				}
				continue
			}
			checkCut(t, what, d, lines[:whole], left[last][start:], uint64(whole) == proven)
		}
	}
}

// checkCut opens a cut journal and finds these lines and these torn bytes.
func checkCut(t *testing.T, what string, d *disk, lines []frame, torn string, proven bool) {
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("%s: %s", what, fmt.Sprintf(format, args...))
	}
	rep, _, err := check(config(d), false)
	if err != nil || (rep.Torn != nil) != (torn != "") || rep.Torn != nil &&
		rep.Torn.Bytes != int64(len(torn)) {
		fail("verify: %+v, %v", rep, err)
	}
	st, fresh, err := store.Open(config(d))
	if err != nil || fresh {
		fail("Open: fresh %v, %v", fresh, err)
	}
	want := slices.DeleteFunc(slices.Clone(lines), func(l frame) bool { return l.Type == "opened" })
	got := look(t, st)
	if len(got.items) != len(want) {
		fail("%d events, want %d", len(got.items), len(want))
	}
	for i, it := range got.items {
		if it.Seq != want[i].Seq || it.N != int64(i+1) {
			fail("event %d is %+v, want seq %d", i, it, want[i].Seq)
		}
	}
	put(t, st, add{N: 99})
	closeStore(t, st)
	if _, _, err := check(config(d), false); err != nil {
		fail("verify after the restart: %v", err)
	}
	st = open(t, config(d))
	if got := look(t, st); len(got.items) != len(want)+1 {
		fail("at the second restart %d events", len(got.items))
	}
	closeStore(t, st)

	all := d.files()
	kept := named(all, "torn-")
	if torn == "" && len(kept) > 0 || torn != "" && (len(kept) != 1 || all[kept[0]] != torn) {
		fail("kept %q, want the bytes %q", kept, torn)
	}
	var opened []string
	for _, l := range frames(t, journalLines(all))[len(lines):] {
		if l.Type == "opened" {
			opened = append(opened, string(l.Data))
		}
	}
	first := `{"after":"unclean end"`
	if proven && torn == "" {
		first = `{"after":"clean end"`
	}
	if torn != "" {
		first += fmt.Sprintf(`,"torn":{"file":%q,"bytes":%d,"cutFrom":`, kept[0], len(torn))
	}
	if len(opened) != 2 || !strings.HasPrefix(opened[0], first) || opened[1] != `{"after":"clean end"}` {
		fail("opened %q, want %s…", opened, first)
	}
}

// TestTornAgain: the bytes of a second torn tail at the same line are kept beside those of the first.
func TestTornAgain(t *testing.T) {
	all := killedJournal(t, false)
	name := named(all, "journal/")[1]
	all[name] += "one"
	d := diskOf(all)
	d.before = func(_ int, op string) act {
		if op == "rename "+name { // of the copy, when the torn bytes are kept already
			return ends
		}
		return works
	}
	if _, _, err := store.Open(config(d)); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	d = d.restarted(nil)
	st := open(t, config(d))
	closeStore(t, st)
	all = d.files()
	kept := named(all, "torn-")
	if len(kept) != 2 || all[kept[0]] != "one" || all[kept[1]] != "one" {
		t.Errorf("kept %q", kept)
	}
}

// TestGarbageTail: whatever stands behind the last durable line and proves nothing is torn.
func TestGarbageTail(t *testing.T) {
	for _, snapshots := range []bool{false, true} {
		all := killedJournal(t, snapshots)
		name := named(all, "journal/")[1]
		lines := journalLines(all)
		for _, tail := range []string{
			"\n", "\n\n\n", "{}\n", "\x00", strings.Repeat("\x00", 5000), "garbage\nand more\n", "\xff\xfe\n",
			lines[0], lines[3], lines[len(lines)-1], // lines that were written before
			lines[0] + lines[1], strings.TrimSuffix(lines[2], "\n"),
		} {
			left := maps.Clone(all)
			left[name] += tail
			checkCut(t, fmt.Sprintf("snapshots %v, tail %.40q", snapshots, tail), diskOf(left),
				frames(t, lines), tail, false)
		}
	}
}

// TestEmptyLastFile: a file that was begun and not written is gone on with, and is no torn tail.
func TestEmptyLastFile(t *testing.T) {
	for _, snapshots := range []bool{false, true} {
		all := killedJournal(t, snapshots)
		lines := journalLines(all)
		next := fmt.Sprintf("journal/%012d.jsonl", len(lines)+1)
		all[next] = ""
		d := diskOf(all)
		checkCut(t, "an empty last file", d, frames(t, lines), "", false)
		if got := d.files(); strings.Count(got[next], "\n") != 3 {
			t.Errorf("the next lines stand elsewhere: %q", got[next])
		}
		all[next] = `{"hash":"`
		checkCut(t, "a torn first line", diskOf(all), frames(t, lines), all[next], false)
	}
}
