package ids

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// An index finds what a map does, whatever was added, replaced and removed before.
func TestIndexFindsWhatAMapDoes(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	x := NewIndex()
	want := map[ID]uint32{}
	var added []ID
	for n := range uint32(30_000) {
		var id ID
		binary.LittleEndian.PutUint64(id[rnd.IntN(9):], rnd.Uint64())
		x.Add(id, n)
		want[id] = n
		added = append(added, id)
		other := added[rnd.IntN(len(added))]
		was, known := want[other]
		switch {
		case known && n%3 == 0:
			x.Remove(other, was)
			delete(want, other)
		case known && n%3 == 1:
			x.Replace(other, was, was+1_000_000)
			want[other] = was + 1_000_000
		}
	}
	if x.Len() != len(want) {
		t.Errorf("%d ids, want %d", x.Len(), len(want))
	}
	more := 0
	for _, id := range added {
		got := slices.Collect(x.Candidates(id))
		number, known := want[id]
		if known && !slices.Contains(got, number) {
			t.Fatalf("%s: %d, want %d", id, got, number)
		}
		more += len(got)
	}
	// What two ids have in common is rare, or a caller would have to look at too much.
	if more > len(want)+3 {
		t.Errorf("%d candidates for %d ids", more, len(want))
	}
}

// An index takes at most 16 bytes for each id.
func TestIndexIsSmall(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	x := NewIndex()
	const n = 200_000
	for i := range uint32(n) {
		var id ID
		binary.LittleEndian.PutUint64(id[:], rnd.Uint64())
		x.Add(id, i)
	}
	places := 0
	for i := range x.parts {
		places += cap(x.parts[i].places)
	}
	if size := places * 8 / n; size > 16 {
		t.Errorf("%d bytes an id", size)
	}
}

// What comes and goes takes no room in the end.
func TestIndexDoesNotGrowByWhatIsRemoved(t *testing.T) {
	x := NewIndex()
	for i := range uint32(200_000) {
		var id ID
		binary.LittleEndian.PutUint32(id[:], i)
		x.Add(id, i)
		x.Remove(id, i)
	}
	places := 0
	for i := range x.parts {
		places += len(x.parts[i].places)
	}
	if most := 16 * len(x.parts); places > most || x.Len() != 0 {
		t.Errorf("%d places for %d ids, at most %d", places, x.Len(), most)
	}
}

// Who replaces what is not there learns so: a forged journal must not have a start go round for ever.
func TestIndexReplacesOnlyWhatIsThere(t *testing.T) {
	x := NewIndex()
	for range 2 {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("it was replaced")
				}
			}()
			x.Replace(ID{1}, 1, 2)
		}()
		x.Add(ID{1}, 7)
	}
}

// An index that is made at once finds what one does that grew, and of an id that came twice the later number.
func TestIndexIsMadeAtOnce(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	g := Gather()
	want := map[ID]uint32{}
	byNumber := map[uint32]ID{}
	var added []ID
	for n := range uint32(50_000) {
		var id ID
		binary.LittleEndian.PutUint64(id[:], rnd.Uint64())
		if n%1000 == 999 {
			id = added[rnd.IntN(len(added))]
		}
		g.Add(id, n)
		want[id] = n
		byNumber[n] = id
		added = append(added, id)
	}
	x := g.Index(func(was, later uint32) bool {
		return byNumber[was] == byNumber[later]
	})
	if x.Len() != len(want) {
		t.Errorf("%d ids, want %d", x.Len(), len(want))
	}
	for id, number := range want {
		if got := slices.Collect(x.Candidates(id)); !slices.Contains(got, number) || len(got) > 2 {
			t.Fatalf("%s: %d, want %d", id, got, number)
		}
	}
	// It goes on as one that grew.
	id := ID{1}
	x.Add(id, 7)
	x.Remove(id, 7)
	x.Replace(added[0], want[added[0]], 8)
	if !slices.Contains(slices.Collect(x.Candidates(added[0])), 8) {
		t.Error("it is not found by its new number")
	}
}
