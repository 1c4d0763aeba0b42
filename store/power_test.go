package store_test

import (
	"maps"
	"math/rand/v2"
	"path"
	"slices"
)

// survival says how much survives a crash of what no sync has written.
type survival int

const (
	nothing    survival = iota
	everything          // a kernel may have written it by itself
	aPrefix             // cut at a random byte, or after a random change of a name
	// each sector, or change of a name, by itself; a file may be as long as it was, or shorter
	atRandom
	withHoles // the same, but what is missing is garbage and not zeros
	mixed     // each file another of these
)

// sector is what a disk writes as one, wholly or not at all.
const sector = 512

// copied returns the disk as it is, to be gone on with by several processes, each for itself: other makes a
// file of each, in the order of their names.
func (d *disk) copied(other func(*node) *node) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	others := map[*node]*node{nil: nil}
	all := func(names map[string]*node) map[string]*node {
		to := make(map[string]*node, len(names))
		for _, name := range slices.Sorted(maps.Keys(names)) {
			f := names[name]
			if others[f] == nil {
				others[f] = other(f)
			}
			to[name] = others[f]
		}
		return to
	}
	c := &disk{now: all(d.now), kept: all(d.kept), moves: slices.Clone(d.moves)}
	for i, m := range c.moves {
		if m.f != nil && others[m.f] == nil { // it has no name any more, but crash may give it one again
			others[m.f] = other(m.f)
		}
		c.moves[i].f = others[m.f]
	}
	return c
}

// restarted hands the disk to the next process, which sees all that was written. But where pages were taken
// for clean and are not, the kernel may have dropped them since; then it reads what is on the disk. Without r
// it has not.
func (d *disk) restarted(r *rand.Rand) *disk {
	return d.copied(func(f *node) *node {
		c := *f
		c.data, c.loose = slices.Clip(f.data), slices.Clone(f.loose)
		if r != nil && r.IntN(2) == 0 {
			c.data = slices.Clone(f.data)
			for _, s := range f.loose {
				if s.lost {
					clear(c.data[s.from:s.to])
				}
			}
		}
		return &c
	})
}

// crash returns the disk as a loss of power may leave it. All that is left is durable.
func (d *disk) crash(r *rand.Rand, names, data survival) *disk {
	c := d.copied(func(f *node) *node { return f.crash(r, data) })
	if names >= mixed {
		names = survival(r.IntN(int(mixed)))
	}
	cut := r.IntN(len(c.moves) + 1)
	for i, m := range c.moves {
		if names == everything || names == aPrefix && i < cut || names >= atRandom && r.IntN(2) == 0 {
			m.apply(c.kept)
		}
	}
	maps.DeleteFunc(c.kept, func(name string, _ *node) bool {
		dir := path.Dir(name)
		return dir != "." && c.kept[dir] == nil
	})
	c.now = maps.Clone(c.kept)
	c.moves = nil
	return c
}

// crash returns the file as a loss of power may leave it. What was synced once is there.
func (f *node) crash(r *rand.Rand, data survival) *node {
	if data >= mixed {
		data = survival(r.IntN(int(mixed)))
	}
	c := *f
	c.data = slices.Clip(f.data)
	c.loose = nil
	if len(f.loose) > 0 && data != everything {
		end := len(f.data)
		cut := f.loose[0].from + r.IntN(end-f.loose[0].from+1)
		if data == nothing {
			cut = 0
		}
		c.data = slices.Clone(f.data)
		for _, s := range f.loose {
			for at := s.from; at < s.to; {
				next := min(s.to, (at/sector+1)*sector)
				switch {
				case data <= aPrefix:
					clear(c.data[min(max(at, cut), next):next])
				case r.IntN(2) == 0:
					hole(r, c.data[at:next], data)
				}
				at = next
			}
		}
		if data <= aPrefix || r.IntN(2) == 0 {
			c.data = slices.Clip(c.data[:max(f.size, cut)])
		}
	}
	c.size = len(c.data)
	return &c
}

func hole(r *rand.Rand, b []byte, data survival) {
	clear(b)
	if data == withHoles {
		for i := range b {
			b[i] = byte(r.Uint32())
		}
	}
}
