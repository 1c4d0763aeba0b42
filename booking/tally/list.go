package tally

import "slices"

// A List is numbers that rise, as those of bookings in the order they were made, and how many of something
// each has. The zero value is empty.
type List struct {
	Numbers []uint32
	Counts  Tally // by position
}

// Position returns where a number stands, or would.
func (l *List) Position(number uint32) int {
	end := len(l.Numbers)
	if end == 0 || l.Numbers[end-1] < number {
		return end // a new one, as almost always
	}
	at, _ := slices.BinarySearch(l.Numbers, number)
	return at
}

// Insert puts a number in its place, which is almost always the end.
func (l *List) Insert(number uint32, count int) {
	at := l.Position(number)
	if at == len(l.Numbers) {
		l.Numbers = append(l.Numbers, number)
		l.Counts = l.Counts.Push(count)
		return
	}
	counts := l.Counts.Counts()
	counts = slices.Insert(counts, at, count)
	l.Numbers = slices.Insert(l.Numbers, at, number)
	l.Counts = Of(counts)
}

// Remove takes a number off, and reports whether it was the last.
func (l *List) Remove(number uint32) (empty bool) {
	at := l.Position(number)
	counts := l.Counts.Counts()
	counts = slices.Delete(counts, at, at+1)
	l.Numbers = slices.Delete(l.Numbers, at, at+1)
	l.Counts = Of(counts)
	return len(l.Numbers) == 0
}
