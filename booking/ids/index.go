package ids

import (
	"hash/maphash"
	"iter"
)

// An Index finds the numbers that ids stand for, as a map would, in a third of a map's memory. It does not
// keep the ids: what it finds are candidates, which the caller holds against what has the number. Hardly ever
// is there more than one.
//
//	x.Add(b.ID, number)
//	for number := range x.Candidates(id) {
//		if bookings[number].ID == id { … }
//	}
//
// It holds no pointers for a garbage collection to follow, and grows a thousandth at a time, so that nobody
// waits while all of it is made anew.
type Index struct {
	seed  maphash.Seed
	parts [1 << partBits]part
	count int
}

// A part is an open-addressed table with linear probing. A place is 0 while it is free; else its top bit is
// set, 31 bits of the id's hash follow, and then the number plus one, which is 0 in what was removed.
type part struct {
	places []uint64
	used   int // places that are not free
}

const (
	partBits = 10
	hashBits = 31
	taken    = 1 << 63
)

// NewIndex returns an empty index.
func NewIndex() *Index {
	return &Index{seed: maphash.MakeSeed()}
}

// Len returns how many ids it has.
func (x *Index) Len() int {
	return x.count
}

// find returns the part that an id belongs to, and what stands in its place there, without the number.
func (x *Index) find(id ID) (p *part, hashed uint64) {
	h := maphash.Bytes(x.seed, id[:])
	return &x.parts[h>>(64-partBits)], taken | h<<partBits>>1&^(1<<32-1)
}

// start returns the place where a search for something with this hash begins.
func (p *part) start(hashed uint64) int {
	return int((hashed &^ taken) >> 32 * uint64(len(p.places)) >> hashBits)
}

// after returns the place after one.
func (p *part) after(at int) int {
	if at++; at == len(p.places) {
		return 0
	}
	return at
}

// Add adds an id that is not there.
func (x *Index) Add(id ID, number uint32) {
	p, hashed := x.find(id)
	if 5*(p.used+1) > 4*len(p.places) {
		p.grow()
	}
	p.put(hashed | uint64(number+1))
	x.count++
}

// put puts what was not there into a free place.
func (p *part) put(entry uint64) {
	at := p.start(entry)
	for p.places[at] != 0 {
		at = p.after(at)
	}
	p.places[at] = entry
	p.used++
}

// grow makes room for more: two thirds of the places are taken then. What was removed is left out.
func (p *part) grow() {
	const least = 8
	old := p.places
	there := 0
	for _, entry := range old {
		if uint32(entry) != 0 {
			there++
		}
	}
	p.places = make([]uint64, max(least, there+there/2))
	p.used = 0
	for _, entry := range old {
		if uint32(entry) != 0 {
			p.put(entry)
		}
	}
}

// Candidates returns the numbers that an id may stand for.
func (x *Index) Candidates(id ID) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		p, hashed := x.find(id)
		if len(p.places) == 0 {
			return
		}
		for at := p.start(hashed); p.places[at] != 0; at = p.after(at) {
			number := uint32(p.places[at])
			if p.places[at]-uint64(number) == hashed && number != 0 && !yield(number-1) {
				return
			}
		}
	}
}

// Replace has an id stand for another number than before.
func (x *Index) Replace(id ID, was, now uint32) {
	p, hashed := x.find(id)
	p.replace(hashed|uint64(was+1), hashed|uint64(now+1))
}

// Remove removes an id that stands for a number.
func (x *Index) Remove(id ID, was uint32) {
	p, hashed := x.find(id)
	p.replace(hashed|uint64(was+1), hashed)
	x.count--
}

// replace replaces what is there; it panics where it is not, as only a forged journal has it. Of two ids with
// the same hash and number it does not matter which it is.
func (p *part) replace(was, now uint64) {
	if len(p.places) == 0 {
		panic("ids: an empty index has no such id")
	}
	at := p.start(was)
	for p.places[at] != was {
		if p.places[at] == 0 {
			panic("ids: the index has no such id")
		}
		at = p.after(at)
	}
	p.places[at] = now
}
