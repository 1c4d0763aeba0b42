package seating

import (
	"math/bits"

	"waybill/schedule"
)

// A Set is a set of seats: seat 1 is the lowest bit.
type Set [(schedule.MaxSeats + 63) / 64]uint64

// Has reports whether a seat is in the set.
func (s *Set) Has(seat int16) bool {
	if seat < 1 || int(seat) > 64*len(s) {
		return false
	}
	bit := seat - 1
	return s[bit/64]>>(bit%64)&1 == 1
}

// remove takes a seat out of the set, which has it.
func (s *Set) remove(seat int16) {
	bit := seat - 1
	s[bit/64] &^= 1 << (bit % 64)
}

// Count returns how many seats there are.
func (s *Set) Count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// All goes through the seats, rising.
func (s *Set) All(yield func(int16) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			bit := 64*i + bits.TrailingZeros64(word)
			if !yield(int16(bit + 1)) {
				return
			}
		}
	}
}

// Together picks n seats: the first n in a row, or else the first n there are.
func (s *Set) Together(n int) []int16 {
	first := make([]int16, 0, n)
	row := make([]int16, 0, n)
	for seat := range s.All {
		k := len(row)
		if k > 0 && row[k-1] != seat-1 {
			row = row[:0]
		}
		row = append(row, seat)
		if len(row) == n {
			return row
		}
		if len(first) < n {
			first = append(first, seat)
		}
	}
	return first
}
