package store_test

import (
	"strings"
	"testing"
	"testing/synctest"
)

// TestSnapshotsCostNoMoreThanTheJournal: the more there is, the rarer are snapshots: all of them together
// have no more bytes than the journal, but for the last; and there are some.
func TestSnapshotsCostNoMoreThanTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDisk()
		cfg := config(d)
		cfg.SegmentBytes = 4000
		made := 0
		written := 0
		last := 0
		d.before = func(_ int, op string) act {
			if name, ok := strings.CutPrefix(op, "rename snapshots/"); ok {
				made++
				written = written + last
				last = len(d.files()["snapshots/"+name+".tmp"])
			}
			return works
		}
		st := open(t, cfg)
		for range 500 {
			put(t, st, add{N: 1})
			synctest.Wait()
		}
		journal := 0
		for _, line := range journalLines(d.files()) {
			journal += len(line)
		}
		if made < 5 || written > journal || written < journal/4 {
			t.Errorf("%d snapshots, of %d bytes without the last, beside a journal of %d", made, written,
				journal)
		}
		closeStore(t, st)
	})
}
