package booking

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
)

// A copy stays as it was, whatever becomes of the list, and the list does not notice its copies.
func TestACopyStaysAsItWas(t *testing.T) {
	type copied struct {
		frozen frozenPages
		want   []string
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	var l pageList
	var want []string
	var copies []copied
	for i := range 5_000 {
		text := strconv.Itoa(i)
		switch at := rnd.IntN(len(want) + 1); {
		case at < len(want) && i%3 > 0:
			l.Set(at, text)
			want[at] = text
		default:
			l.Append(text)
			want = append(want, text)
		}
		if i%100 == 0 {
			copies = append(copies, copied{l.Freeze(), slices.Clone(want)})
		}
	}
	copies = append(copies, copied{l.frozenPages, want})
	for _, c := range copies {
		var got []string
		for i := range c.frozen.Len() {
			got = append(got, c.frozen.At(i))
		}
		if !slices.Equal(got, c.want) {
			t.Fatalf("%d texts differ from the %d there were", len(got), len(c.want))
		}
	}
}

// A copy is read while the list changes; the race detector looks on.
func TestACopyIsReadWhileTheListChanges(t *testing.T) {
	var l pageList
	for range 2 * pageSize {
		l.Append("a")
	}
	was := l.Freeze()
	done := make(chan int)
	go func() {
		n := 0
		for i := range was.Len() {
			n += len(was.At(i))
		}
		done <- n
	}()
	for i := range 3 * pageSize {
		l.Append("longer")
		l.Set(i, "longer")
	}
	if n := <-done; n != 2*pageSize {
		t.Errorf("%d bytes, want %d", n, 2*pageSize)
	}
}
