package store_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"waybill/store/journal"
)

// TestLines: single lines are read by their numbers while the journal grows, over several files, and after an
// erasure has moved them; a line that is not there is an error.
func TestLines(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	cfg.SegmentBytes = 900
	st := open(t, cfg)
	lines := journal.NewLines(d)
	rnd := rand.New(rand.NewPCG(1, 2))
	for n := int64(2); n < 120; n++ {
		name := ""
		if n%3 == 0 {
			name = strings.Repeat("x", rnd.IntN(40)+1)
		}
		put(t, st, add{N: n, Name: name})
		if n == 60 {
			if err := erase(st, 3, 9, 30); err != nil {
				t.Fatal(err)
			}
		}
		written := journalLines(d.files())
		var want []uint64
		for range rnd.IntN(5) + 1 {
			want = append(want, uint64(rnd.IntN(len(written))+1))
		}
		slices.Sort(want)
		want = slices.Compact(want)
		var got []uint64
		err := lines.Read(want, func(l *journal.Line) error {
			if !strings.Contains(written[l.Seq-1],
				fmt.Sprintf(`"type":%q,"data":%s`, l.Type, strings.TrimSuffix(string(l.Data), "}"))) {
				t.Errorf("line %d: %s, want %s", l.Seq, l.Data, written[l.Seq-1])
			}
			got = append(got, l.Seq)
			return nil
		})
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d: %v, want %v: %v", n, got, want, err)
		}
	}
	for _, seq := range []uint64{0, 1000} {
		if err := lines.Read([]uint64{seq}, func(*journal.Line) error { return nil }); err == nil {
			t.Errorf("there is a line %d", seq)
		}
	}
	enough := errors.New("enough")
	if err := lines.Read([]uint64{1, 2}, func(*journal.Line) error { return enough }); err != enough {
		t.Errorf("a visit's error is %v", err)
	}
	closeStore(t, st)
}

// A line that came after a file was looked through, and that an erasure has moved since, is found: what is
// remembered of where lines end is no longer so.
func TestLinesAreFoundAfterAnErasure(t *testing.T) {
	for more := 1; more < 12; more++ {
		d := newDisk()
		st := open(t, config(d))
		for n := int64(1); n < 6; n++ {
			put(t, st, add{N: n, Name: strings.Repeat("x", 300)})
		}
		lines := journal.NewLines(d)
		last, err := lines.Last()
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(more) {
			put(t, st, add{N: n})
		}
		if err := erase(st, 2, 3, 4); err != nil {
			t.Fatal(err)
		}
		for seq := last + uint64(more); seq >= last; seq-- {
			if err := lines.Read([]uint64{seq}, func(*journal.Line) error { return nil }); err != nil {
				t.Errorf("with %d more: line %d: %v", more, seq, err)
			}
		}
		closeStore(t, st)
	}
}

// What is shown of a line is what was written: one that was altered in its file, also with a hash that fits
// its new bytes, is damage, wherever it stands.
func TestAlteredLinesAreNotShown(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	cfg.SegmentBytes = 900
	st := open(t, cfg)
	for n := int64(1); n < 40; n++ {
		put(t, st, add{N: n, Text: "altered"})
	}
	closeStore(t, st)
	all := d.files()
	last := uint64(len(journalLines(all)))
	for seq := uint64(2); seq <= last; seq++ {
		lines := journalLines(all)
		whole := edit(t, all, int(seq), `"synced":`, `"synced":0`)
		if strings.Contains(lines[seq-1], "altered") {
			whole = edit(t, all, int(seq), "altered", "ALTERED")
		}
		for what, changed := range map[string]map[string]string{
			"its bytes":              whole,
			"its bytes and its hash": rehashed(t, whole, int(seq)),
		} {
			if what != "its bytes" && seq == last {
				continue // nothing was written after it: only a checkpoint can tell
			}
			err := journal.NewLines(diskOf(changed)).Read([]uint64{seq}, func(l *journal.Line) error {
				t.Errorf("line %d is shown, of which %s are changed: %s", seq, what, l.Data)
				return nil
			})
			if !errors.As(err, new(*journal.Damage)) {
				t.Errorf("line %d, of which %s are changed: %v", seq, what, err)
			}
		}
		err := journal.NewLines(diskOf(all)).Read([]uint64{seq}, func(*journal.Line) error {
			return nil
		})
		if err != nil {
			t.Errorf("line %d: %v", seq, err)
		}
	}
}

// rehashed gives a line of a journal the hash that its bytes have after the line before it.
func rehashed(t *testing.T, all map[string]string, seq int) map[string]string {
	t.Helper()
	lines := journalLines(all)
	line := lines[seq-1]
	hashed, _, _ := strings.Cut(line[75:len(line)-1], `,"personal":{`)
	sum := sha256.Sum256([]byte(lines[seq-2][9:73] + hashed))
	changed := maps.Clone(all)
	for name, text := range changed {
		if strings.HasPrefix(name, "journal/") {
			changed[name] = strings.Replace(text, line, fmt.Sprintf(`{"hash":"%x%s`, sum, line[73:]), 1)
		}
	}
	return changed
}

// While a line is being looked at, others read lines of the same file: nobody waits for another's disk. They
// read what is there, also while the journal grows and an erasure moves its lines.
func TestLinesAreReadBesideEachOther(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	cfg.SegmentBytes = 4000
	st := open(t, cfg)
	put(t, st, add{N: 1, Name: "x"})
	lines := journal.NewLines(d)
	read := func(seq uint64, visit func()) {
		found := uint64(0)
		err := lines.Read([]uint64{seq}, func(l *journal.Line) error {
			found = l.Seq
			visit()
			return nil
		})
		if err != nil || found != seq {
			t.Errorf("line %d: %d, %v", seq, found, err)
		}
	}
	read(2, func() { read(1, func() {}) })
	last := new(atomic.Uint64)
	last.Store(2)
	var readers sync.WaitGroup
	for n := range uint64(4) {
		readers.Go(func() {
			for i := range uint64(2000) {
				read(1+(i*(n+1))%last.Load(), func() {})
				read(last.Load(), func() {})
			}
		})
	}
	for n := int64(2); n < 200; n++ {
		put(t, st, add{N: n, Name: "name"})
		if n%20 == 0 {
			if err := erase(st, uint64(n)); err != nil {
				t.Fatal(err)
			}
		}
		last.Store(uint64(len(journalLines(d.files()))))
	}
	readers.Wait()
	closeStore(t, st)
}
