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
	n, hashed := x.hash(id)
	return &x.parts[n], hashed
}

// hash returns which part an id belongs to, and what stands in its place there, without the number.
func (x *Index) hash(id ID) (part, hashed uint64) {
	h := maphash.Bytes(x.seed, id[:])
	return h >> (64 - partBits), taken | h<<partBits>>1&^(1<<32-1)
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

// A Gathering has the ids of an index that is made at once. With a million ids that takes a quarter of the
// time of adding them one by one, since the entries lie side by side.
type Gathering struct {
	index *Index
	parts [1 << partBits][]uint64 // what will stand in the places of each part, in the order it was added
}

// Gather returns a gathering without ids.
func Gather() *Gathering {
	return &Gathering{index: NewIndex()}
}

// Add adds an id.
func (g *Gathering) Add(id ID, number uint32) {
	part, hashed := g.index.hash(id)
	g.parts[part] = append(g.parts[part], hashed|uint64(number+1))
}

// Index returns the index. Where two ids look alike, same reports whether they are one. Then the id stands
// for the later number.
func (g *Gathering) Index(same func(was, later uint32) bool) *Index {
	for i, entries := range g.parts {
		p := &g.index.parts[i]
		p.makeRoom(len(entries))
		for _, entry := range entries {
			if !p.replaceSame(entry, same) {
				p.put(entry)
				g.index.count++
			}
		}
		g.parts[i] = nil
	}
	return g.index
}

// replaceSame replaces the entry of an id that is there already, as only a forged journal has it.
func (p *part) replaceSame(entry uint64, same func(was, later uint32) bool) bool {
	number := uint32(entry)
	for at := p.start(entry); p.places[at] != 0; at = p.after(at) {
		was := uint32(p.places[at])
		if p.places[at]-uint64(was) == entry-uint64(number) && same(was-1, number-1) {
			p.places[at] = entry
			return true
		}
	}
	return false
}

// put puts a new entry into a free place.
func (p *part) put(entry uint64) {
	at := p.start(entry)
	for p.places[at] != 0 {
		at = p.after(at)
	}
	p.places[at] = entry
	p.used++
}

// grow makes room for more, and leaves out removed entries.
func (p *part) grow() {
	old := p.places
	there := 0
	for _, entry := range old {
		if uint32(entry) != 0 {
			there++
		}
	}
	p.makeRoom(there)
	for _, entry := range old {
		if uint32(entry) != 0 {
			p.put(entry)
		}
	}
}

// makeRoom makes places, two thirds of which the ids will take.
func (p *part) makeRoom(ids int) {
	const least = 8
	p.places = make([]uint64, max(least, ids+ids/2))
	p.used = 0
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

// replace replaces an entry. It panics where there is none, which only a forged journal causes. Of two ids
// with the same hash and number it does not matter which is replaced.
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
