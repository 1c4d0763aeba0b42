package tally

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A tally tells the same as its numbers, however it came about.
func TestTally(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var list []int
	var sums Tally
	for range 3000 {
		switch at := rnd.IntN(len(list) + 1); rnd.IntN(3) {
		case 0:
			n := rnd.IntN(5)
			list = append(list, n)
			sums = sums.Push(n)
		case 1:
			if at < len(list) {
				list[at]++
				sums.Add(at, 1)
			}
		}
		if len(list) == 0 {
			continue
		}
		at := rnd.IntN(len(list) + 1)
		total := 0
		for _, n := range list[:at] {
			total += n
		}
		if got := sums.Before(at); got != total {
			t.Fatalf("before %d: %d, want %d", at, got, total)
		}
		if at < len(list) && list[at] > 0 {
			if got := sums.Find(total + rnd.IntN(list[at])); got != at {
				t.Fatalf("find: %d, want %d", got, at)
			}
		}
		if rnd.IntN(50) == 0 && !slices.Equal(sums.Counts(), list) {
			t.Fatalf("%v, want %v", sums.Counts(), list)
		}
	}
}
