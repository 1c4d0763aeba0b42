package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"waybill/store"
)

// TestLines: single lines are read by their numbers while the journal grows, over several files, and after an erasure
// has moved them; a line that is not there is an error.
func TestLines(t *testing.T) {
	d := newDisk()
	cfg := config(d)
	cfg.SegmentBytes = 900
	st := open(t, cfg)
	lines := store.NewLines(d)
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
		if err := lines.Read(want, func(l *store.Line) error {
			if !strings.Contains(written[l.Seq-1], fmt.Sprintf(`"type":%q,"data":%s`, l.Type, strings.TrimSuffix(string(l.Data), "}"))) {
				t.Errorf("line %d: %s, want %s", l.Seq, l.Data, written[l.Seq-1])
			}
			got = append(got, l.Seq)
			return nil
		}); err != nil || !slices.Equal(got, want) {
			t.Fatalf("%d: %v, want %v: %v", n, got, want, err)
		}
	}
	for _, seq := range []uint64{0, 1000} {
		if err := lines.Read([]uint64{seq}, func(*store.Line) error { return nil }); err == nil {
			t.Errorf("there is a line %d", seq)
		}
	}
	enough := errors.New("enough")
	if err := lines.Read([]uint64{1, 2}, func(*store.Line) error { return enough }); err != enough {
		t.Errorf("a visit's error is %v", err)
	}
	closeStore(t, st)
}
