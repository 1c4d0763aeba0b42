// Package tally counts what lies before a place in a list whose numbers change, in a number of steps that is
// the logarithm of its length (a Fenwick tree). Pages of tickets are found so, without going through the
// bookings before them.
//
//	t := tally.Of([]int{2, 0, 3})
//	t.Before(2) // 2
//	t.Find(4)   // 2: the fifth unit lies in the third number
package tally

// A Tally is numbers, and the sums of those before any of them. The element i holds the sum of the numbers
// from i+1-lowest(i+1) to i. Numbers are not below zero.
type Tally []uint32

// lowest returns the lowest bit of i that is set.
func lowest(i int) int { return i & -i }

// Of returns a tally of numbers.
func Of(counts []int) Tally {
	t := make(Tally, 0, len(counts))
	for _, n := range counts {
		t = t.Push(n)
	}
	return t
}

// Push adds a number at the end.
func (t Tally) Push(n int) Tally {
	i := len(t) + 1
	sum := uint32(n)
	for j := i - 1; j > i-lowest(i); j -= lowest(j) {
		sum += t[j-1]
	}
	return append(t, sum)
}

// Add changes the number at a position.
func (t Tally) Add(position, by int) {
	for i := position + 1; i <= len(t); i += lowest(i) {
		t[i-1] += uint32(by)
	}
}

// Before returns the sum of the numbers before a position.
func (t Tally) Before(position int) (sum int) {
	for i := position; i > 0; i -= lowest(i) {
		sum += int(t[i-1])
	}
	return sum
}

// Find returns the position of the number in which the x-th unit lies, counted from 0.
func (t Tally) Find(x int) (position int) {
	step := 1
	for step*2 <= len(t) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		next := position + step
		if next <= len(t) && int(t[next-1]) <= x {
			position = next
			x -= int(t[next-1])
		}
	}
	return position
}

// Counts returns the numbers.
func (t Tally) Counts() []int {
	list := make([]int, len(t))
	for i := range t {
		list[i] = t.Before(i+1) - t.Before(i)
	}
	return list
}
