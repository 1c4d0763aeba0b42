package command

import "strings"

// nearest returns the word that is nearest to one that was mistyped; "" where none is near.
func nearest(said string, known []string) (best string) {
	// One letter of two may be wrong, and one of three for each further: beyond that a word is another word.
	most := (len(said) + 1) / 3
	for _, word := range known {
		if n := mistakes(said, word); n <= most {
			best = word
			most = n - 1
		}
	}
	// The first letters of a word may stand for it.
	if best == "" {
		for _, word := range known {
			if len(said) > 2 && strings.HasPrefix(word, said) {
				return word
			}
		}
	}
	return best
}

// mistakes counts the letters that are to be put in, left out, exchanged for others or with the next, to make
// one word of another.
func mistakes(a, b string) int {
	// last[k] are the mistakes between what of a was read so far and the first k letters of b; before is the
	// row above it, for letters that were exchanged with the next.
	before := []int(nil)
	last := make([]int, len(b)+1)
	for k := range last {
		last[k] = k
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for k := 1; k <= len(b); k++ {
			exchanged := last[k-1]
			if a[i-1] != b[k-1] {
				exchanged++
			}
			row[k] = min(row[k-1]+1, last[k]+1, exchanged)
			if i > 1 && k > 1 && a[i-1] == b[k-2] && a[i-2] == b[k-1] {
				row[k] = min(row[k], before[k-2]+1)
			}
		}
		before = last
		last = row
	}
	return last[len(b)]
}
