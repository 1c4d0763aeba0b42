package tree

import (
	"errors"
	"math/bits"

	"waybill/store/durable"
)

// Inclusion returns the proof that a leaf, counted from 0, is in the tree of the first size leaves (RFC 6962,
// 2.1.1). It begins with the hash of the leaf's sibling.
func Inclusion(fsys durable.ReadFS, leaf, size uint64) ([]Hash, error) {
	if leaf >= size {
		return nil, errors.New("tree: no such leaf")
	}
	r := &reader{fsys: fsys}
	proof := r.path(leaf, 0, size)
	return proof, r.close()
}

// Consistency returns the proof that the tree of the first size leaves extends the tree of the first old ones
// (RFC 6962, 2.1.2). It is empty where old is 0 or size.
func Consistency(fsys durable.ReadFS, old, size uint64) ([]Hash, error) {
	if old > size {
		return nil, errors.New("tree: the tree that should be longer is shorter")
	}
	if old == 0 || old == size {
		return nil, nil
	}
	r := &reader{fsys: fsys}
	proof := r.extends(old, 0, size, true)
	return proof, r.close()
}

// Includes reports whether a proof leads from a leaf to the root of a tree.
func Includes(proof []Hash, hash Hash, leaf, size uint64, root Hash) bool {
	if leaf >= size {
		return false
	}
	// On the way up, leaf and last number two nodes of a level: the one on the leaf's path, and the last one.
	// Where both are the same, the node is on the right edge. If it has no sibling there, it is a node of the
	// next level too.
	last := size - 1
	for _, sibling := range proof {
		if last == 0 {
			return false // the proof is too long
		}
		if leaf&1 == 1 || leaf == last {
			hash = Node(sibling, hash)
			skip := bits.TrailingZeros64(leaf)
			leaf >>= skip
			last >>= skip
		} else {
			hash = Node(hash, sibling)
		}
		leaf >>= 1
		last >>= 1
	}
	return last == 0 && hash == root
}

// split returns the size of the left of the two trees that a tree of n leaves has: the largest power of two
// that is less than n.
func split(n uint64) uint64 {
	return 1 << (bits.Len64(n-1) - 1)
}

// path returns the path from a leaf to the root of the tree of the leaves from start on and before end.
func (r *reader) path(leaf, start, end uint64) []Hash {
	if end-start == 1 {
		return nil
	}
	middle := start + split(end-start)
	if leaf < middle {
		return append(r.path(leaf, start, middle), r.root(middle, end))
	}
	return append(r.path(leaf, middle, end), r.root(start, middle))
}

// extends returns the proof for the leaves from start on and before end, of which those before old are the
// older tree's. whole says that the checker of the proof knows the hash of all of these.
func (r *reader) extends(old, start, end uint64, whole bool) []Hash {
	if old == end {
		if whole {
			return nil
		}
		return []Hash{r.root(start, end)}
	}
	middle := start + split(end-start)
	if old <= middle {
		return append(r.extends(old, start, middle, whole), r.root(middle, end))
	}
	return append(r.extends(old, middle, end, false), r.root(start, middle))
}

// root returns the root of the leaves from start on and before end. start is a multiple of a power of two
// that is no less than their number.
func (r *reader) root(start, end uint64) Hash {
	n := end - start
	if n&(n-1) == 0 {
		level := bits.TrailingZeros64(n)
		return r.full(level, start>>level)
	}
	middle := start + split(n)
	return Node(r.root(start, middle), r.root(middle, end))
}
