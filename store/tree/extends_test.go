package tree

import (
	"math/bits"
	"slices"
	"testing"
)

// A proof shows that a tree extends one other tree, and no third.
func TestAProofThatATreeExtendsAnother(t *testing.T) {
	const most = 40
	d := leaves(most)
	fsys, _ := written(t, d, most)
	for size := range uint64(most + 1) {
		root := rootOf(d[:size])
		for old := uint64(1); old <= size; old++ {
			was := rootOf(d[:old])
			proof, err := Consistency(fsys, old, size)
			if err != nil || !shows(proof, old, size, was, root) {
				t.Fatalf("%d to %d is not shown: %v", old, size, err)
			}
			for other := range size + 2 {
				if other != old && shows(proof, other, size, was, root) {
					t.Errorf("%d to %d is shown by the proof for %d", other, size, old)
				}
			}
			if old < size && shows(proof, old, size, root, root) ||
				shows(proof, old, size, was, Leaf(nil)) {
				t.Errorf("%d to %d is shown of other roots", old, size)
			}
			if shows(append(slices.Clone(proof), root), old, size, was, root) {
				t.Errorf("%d to %d is shown by a longer proof", old, size)
			}
			for i := range proof {
				if shows(slices.Delete(slices.Clone(proof), i, i+1), old, size, was, root) {
					t.Errorf("%d to %d is shown without hash %d", old, size, i)
				}
				bad := slices.Clone(proof)
				bad[i][7] ^= 1
				if shows(bad, old, size, was, root) {
					t.Errorf("%d to %d is shown with another hash %d", old, size, i)
				}
			}
		}
	}
}

// shows reports whether a proof shows that the tree of the first size leaves, with its root, extends the tree
// of the first old ones, with its own (RFC 9162, 2.1.4.2). That it extends the empty tree needs no proof.
func shows(proof []Hash, old, size uint64, oldRoot, root Hash) bool {
	if old == 0 || old > size {
		return false
	}
	if old == size {
		return len(proof) == 0 && oldRoot == root
	}
	if old&(old-1) == 0 { // the older tree is a node of the longer one: whoever checks knows its hash
		proof = append([]Hash{oldRoot}, proof...)
	}
	if len(proof) == 0 {
		return false
	}
	// Both trees grow out of the first hash. node and last number two nodes of a level, as in Includes.
	node := old - 1
	last := size - 1
	skip := bits.TrailingZeros64(^node)
	node >>= skip
	last >>= skip
	was := proof[0]
	is := proof[0]
	for _, hash := range proof[1:] {
		if last == 0 {
			return false // the proof is too long
		}
		if node&1 == 1 || node == last {
			was = Node(hash, was)
			is = Node(hash, is)
			if node&1 == 0 {
				skip := bits.TrailingZeros64(node)
				node >>= skip
				last >>= skip
			}
		} else {
			is = Node(is, hash)
		}
		node >>= 1
		last >>= 1
	}
	return last == 0 && was == oldRoot && is == root
}
