// Package tree is the Merkle tree of RFC 6962 over the lines of a journal: one hash that stands for all of
// them. A proof of some twenty hashes leads from it to any one line, and another one shows whether a longer
// journal extends a shorter one.
//
// The leaf of a line is the hash of the bytes that the journal's chain covers. An [Edge] is all that must be
// remembered for the tree to grow: the roots of the full trees that it is made up of.
//
//	var e tree.Edge
//	e.Add(tree.Leaf(line))
//	root := e.Root()
//
// A directory keeps hashes of its tree in files, which a [Tree] writes. [Inclusion] makes proofs of them, and
// reads some kilobytes, not the journal. A [Check] compares them with the leaves.
//
//	t, err := tree.Open(fsys, size, root) // size 0: an empty tree
//	t.Add(tree.Leaf(line))
//	err = t.Write() // what was added is on the disk
//	proof, err := tree.Inclusion(fsys, 4, t.Size())
//	ok := tree.Includes(proof, tree.Leaf(line), 4, t.Size(), t.Root())
package tree

import (
	"crypto/sha256"
	"slices"
)

// Hash is a SHA-256.
type Hash [sha256.Size]byte

// The first byte that is hashed distinguishes a leaf from the node above two others (RFC 6962, 2.1).
const (
	leafPrefix = 0
	nodePrefix = 1
)

// Leaf returns the hash of a leaf.
func Leaf(data []byte) (sum Hash) {
	h := sha256.New()
	h.Write([]byte{leafPrefix})
	h.Write(data)
	h.Sum(sum[:0])
	return sum
}

// Node returns the hash of the node above two others.
func Node(left, right Hash) Hash {
	var text [1 + 2*len(Hash{})]byte
	text[0] = nodePrefix
	copy(text[1:], left[:])
	copy(text[1+len(left):], right[:])
	return sha256.Sum256(text[:])
}

// Empty is the root of a tree without leaves.
var Empty = Hash(sha256.Sum256(nil))

// An Edge is the right edge of a tree that grows. The zero value is the edge of the empty tree.
type Edge struct {
	size uint64
	// The roots of the full trees that the leaves make up, the largest first: one for each bit that is set
	// in size.
	roots []Hash
	// Full, unless it is nil, is called for each tree that an added leaf has made full, from the leaf itself
	// on: of 1<<level leaves.
	Full func(level int, root Hash)
}

// Roots returns the roots of the full trees that the leaves make up, the largest first: one for each bit that
// is set in the size. They are nodes of every tree that has grown out of this one.
func (e *Edge) Roots() []Hash { return slices.Clone(e.roots) }

// Size returns how many leaves the tree has.
func (e *Edge) Size() uint64 { return e.size }

// Add adds a leaf.
func (e *Edge) Add(leaf Hash) {
	root := leaf
	level := 0
	e.full(level, root)
	// As in counting: a bit that is set makes the next one.
	for carry := e.size; carry&1 == 1; carry >>= 1 {
		last := len(e.roots) - 1
		root = Node(e.roots[last], root)
		e.roots = e.roots[:last]
		level++
		e.full(level, root)
	}
	e.roots = append(e.roots, root)
	e.size++
}

func (e *Edge) full(level int, root Hash) {
	if e.Full != nil {
		e.Full(level, root)
	}
}

// Root returns the root of the tree.
func (e *Edge) Root() Hash {
	last := len(e.roots) - 1
	if last < 0 {
		return Empty
	}
	root := e.roots[last]
	for i := last - 1; i >= 0; i-- {
		root = Node(e.roots[i], root)
	}
	return root
}
