package tour

import (
	"crypto/ed25519"
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// shown is how many lines the picture has.
const shown = 8

// drawing is the end of a journal: its last lines as a chain, and above them the tree of all its lines up to
// the root that the newest note signs, with the hashes that they really have. One line is marked twice: what
// proves that it is in the journal, and what would no longer fit if a character of it were another.
type drawing struct {
	before [32]byte    // the hash that the first line shown goes on from
	lines  []drawnLine // the oldest first
	leaves []tree.Hash // of all lines
	root   *node
	marked uint64 // the line whose proof is marked
	proof  []*node
}

// drawnLine is a line of the chain.
type drawnLine struct {
	journal.Head
	kind string
	node *node // its leaf
	// broken reports that its hash would be another if a character of the marked line were.
	broken bool
}

// node is a node of the tree: a leaf, one above two others, or one that stands for all lines below it.
type node struct {
	first, last uint64 // the lines below it
	hash        tree.Hash
	left, right *node // nil of a leaf, and of a box
	box         bool  // it stands for lines that are not shown
	number      int   // its place in the proof, from 1; 0 is none
	broken      bool  // it would be another if a character of the marked line were

	// Where it is drawn.
	row int // counted from the leaves
	x   int // of its middle
}

// size returns how many lines are below the node.
func (n *node) size() uint64 { return n.last - n.first + 1 }

// draw reads a journal that is signed whole, and marks the proof of a line.
func draw(t *testing.T, fsys durable.ReadFS, key ed25519.PublicKey, marked uint64) *drawing {
	t.Helper()
	text, err := checkpoint.Newest(fsys)
	if err != nil {
		t.Fatal(err)
	}
	note, err := checkpoint.Parse(text, key)
	if err != nil {
		t.Fatal(err)
	}
	d := &drawing{marked: marked}
	seqs := make([]uint64, note.Seq)
	for i := range seqs {
		seqs[i] = uint64(i) + 1
	}
	err = journal.NewLines(fsys).Read(seqs, func(l *journal.Line) error {
		d.leaves = append(d.leaves, tree.Leaf(l.Chained))
		if l.Seq == note.Seq-shown {
			d.before = l.Hash
		}
		if l.Seq > note.Seq-shown {
			d.lines = append(d.lines, drawnLine{Head: l.Head, kind: l.Type, broken: l.Seq >= marked})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	d.root = d.grow(0, note.Seq)
	if d.root.hash != note.Root {
		t.Errorf("the root is %x, and %x is signed", d.root.hash, note.Root)
	}
	d.proof = d.root.prove(marked)
	for i, n := range d.proof {
		n.number = i + 1
	}
	d.place()
	return d
}

// grow returns the node above the lines from start on and before end, counted from 0, with what is drawn
// below it.
func (d *drawing) grow(start, end uint64) *node {
	n := &node{first: start + 1, last: end}
	left := uint64(len(d.leaves) - shown) // lines before those that are shown
	if end-start == 1 {
		n.hash = d.leaves[start]
		n.box = end <= left
		if !n.box {
			d.lines[start-left].node = n
		}
		return n
	}
	middle := start + 1<<(bits.Len64(end-start-1)-1)
	n.left, n.right = d.grow(start, middle), d.grow(middle, end)
	n.hash = tree.Node(n.left.hash, n.right.hash)
	if end <= left {
		n.left, n.right, n.box = nil, nil, true
	}
	return n
}

// prove marks the nodes from a line up to this one as broken, and returns the neighbours of those below it,
// from the leaf's on: the line's proof.
func (n *node) prove(line uint64) []*node {
	n.broken = true
	switch {
	case n.left == nil:
		return nil
	case line <= n.left.last:
		return append(n.left.prove(line), n.right)
	}
	return append(n.right.prove(line), n.left)
}

// sentences says what the picture shows.
func (d *drawing) sentences() []string {
	var hashes []string
	for _, n := range d.proof {
		hashes = append(hashes, fmt.Sprintf("%d %s (%s)", n.number, short(n.hash[:]), n.covers()))
	}
	proven := fmt.Sprintf("That line %d is in the journal is proven by its leaf and %d of the other hashes: ", d.marked,
		len(d.proof)) + strings.Join(hashes, ", ")
	return []string{
		fmt.Sprintf("The tree is that of all %d lines of the journal (RFC 6962): its root is %s.", d.root.last,
			short(d.root.hash[:])),
		fmt.Sprintf("The note of line %d signs this root.", d.root.last),
		proven + ". Each is hashed together with what came out before, and the last one gives the root.",
		fmt.Sprintf("If a character of line %d were another, these would be too: its hash, the hash of each line up to "+
			"%d, as each goes on from the one before, its leaf, and each node above that, up to the root. The note would "+
			"no longer be of this journal. Nothing is changed here.", d.marked, d.root.last),
	}
}

// covers says which lines are below a node.
func (n *node) covers() string {
	if n.size() == 1 {
		return fmt.Sprintf("line %d", n.first)
	}
	return fmt.Sprintf("lines %d–%d", n.first, n.last)
}
