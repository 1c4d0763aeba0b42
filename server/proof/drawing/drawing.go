// Package drawing draws the end of a journal: its last lines as a chain, and above them the tree of all its
// lines up to the root, with the hashes that they really have (decision desk.drawing).
//
//	d, err := drawing.Read(fsys, lines, key, newest, 0)
//	err = d.WriteSVG(w, drawing.OnAPage)
//
// One line is marked twice: what proves that it is in the journal, and what would no longer fit if a
// character of it were another. What is drawn has been checked: the lines against their neighbours, the
// hashes beside the journal against the root that the directory has signed. Where they do not fit there is no
// drawing, and the error says what is wrong.
package drawing

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"

	"waybill/store/checkpoint"
	"waybill/store/durable/readonly"
	"waybill/store/journal"
	"waybill/store/journal/seek"
	"waybill/store/tree"
	"waybill/store/tree/stored"
)

// Shown is how many lines a drawing has. A shorter journal is drawn whole.
const Shown = 8

// unsignedRead is how many lines after the newest note are read for a drawing: a second's, and more. The
// hashes of the others are in files.
const unsignedRead = 2_000

// Drawing is the end of a journal, to be drawn.
type Drawing struct {
	Before [32]byte // the hash that the first line shown goes on from
	Lines  []Line   // the oldest first
	Root   *Node
	Signed uint64 // the line of the newest note; 0 is none
	Later  uint64 // lines of the journal after those that are drawn
	Marked uint64 // the line whose proof is marked
	Proof  []*Node
}

// Line is a line of the chain.
type Line struct {
	journal.Head
	Type string
	Node *Node // its leaf
	// Broken reports that its hash would be another if a character of the marked line were.
	Broken bool
}

// Node is a node of the tree: a leaf, one above two others, or one that stands for all lines below it.
type Node struct {
	First, Last uint64 // the lines below it
	Hash        tree.Hash
	Left, Right *Node // nil of a leaf, and of a box
	Box         bool  // it stands for lines that are not shown
	Number      int   // its place in the proof, from 1; 0 is none
	Broken      bool  // it would be another if a character of the marked line were

	// Where it is drawn.
	row int // counted from the leaves
	x   int // of its middle
}

// Size returns how many lines are below the node.
func (n *Node) Size() uint64 { return n.Last - n.First + 1 }

// Size returns how many lines the tree has that is drawn.
func (d *Drawing) Size() uint64 { return d.Root.Last }

// IsSigned reports whether the root that is drawn is that of the newest note.
func (d *Drawing) IsSigned() bool { return d.Signed == d.Size() }

// Read reads the end of a journal, also beside a running server. newest is the last line that is on the
// disk. The proof of the line marked is marked, or of the oldest shown where that one is not shown.
func Read(fsys readonly.FS, lines *seek.Lines, key ed25519.PublicKey, newest, marked uint64) (*Drawing,
	error) {
	note, err := newestNote(fsys, key)
	if err != nil {
		return nil, err
	}
	newest = max(newest, note.Seq)
	r := &reader{
		note: note,
		size: newest,
	}
	// Of many lines that are not signed yet, only those before are drawn, whose hashes are in files.
	if newest-min(newest, note.Seq) > unsignedRead {
		r.size = note.Seq
	}
	if r.size == 0 {
		return nil, fmt.Errorf("no note is there, and %d lines are too many to hash again for a drawing", newest)
	}
	r.left = r.size - min(r.size, Shown)
	r.drawing = &Drawing{
		Signed: note.Seq,
		Later:  newest - r.size,
	}
	if err := r.read(fsys, lines); err != nil {
		return nil, err
	}
	r.drawing.Root = r.grow(0, r.size)
	r.drawing.mark(marked)
	r.drawing.place()
	return r.drawing, nil
}

// newestNote returns the newest checkpoint; the zero value where there is none.
func newestNote(fsys readonly.FS, key ed25519.PublicKey) (checkpoint.Checkpoint, error) {
	text, err := checkpoint.Newest(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		return checkpoint.Checkpoint{}, nil
	}
	if err != nil {
		return checkpoint.Checkpoint{}, err
	}
	note, err := checkpoint.Parse(text, key)
	if err != nil {
		err = journal.InFile(checkpoint.File, err.Error())
	}
	return note, err
}

// reader reads what is drawn.
type reader struct {
	note    checkpoint.Checkpoint
	size    uint64 // lines of the tree that is drawn
	left    uint64 // lines before those that are shown
	edge    tree.Edge
	boxes   []tree.Hash // the roots of the full trees of the lines before those that are shown
	leaves  []tree.Hash // of the lines that are shown
	drawing *Drawing
}

// read reads the lines, and has the tree grow up to the last of them. Where the newest note is passed, the
// root must be the note's.
func (r *reader) read(fsys readonly.FS, lines *seek.Lines) (err error) {
	start := min(r.left, r.note.Seq)
	if r.edge, err = stored.EdgeAt(fsys, start); err != nil {
		return fmt.Errorf("the hashes of the tree cannot be read: %w", err)
	}
	if r.left == 0 {
		_, r.drawing.Before, err = journal.ReadOrigin(fsys)
		if err != nil {
			return err
		}
	}
	if err := r.passed(nil); err != nil {
		return err
	}
	// The line before the first one shown is read for its hash, be its leaf in the files or not.
	var seqs []uint64
	for seq := max(1, min(start+1, r.left)); seq <= r.size; seq++ {
		seqs = append(seqs, seq)
	}
	return lines.Read(seqs, r.add)
}

// add adds a line.
func (r *reader) add(l *journal.Line) error {
	if l.Seq == r.left {
		r.drawing.Before = l.Hash
	}
	if l.Seq > r.left {
		r.drawing.Lines = append(r.drawing.Lines, Line{
			Head: l.Head,
			Type: l.Type,
		})
	}
	if l.Seq <= r.edge.Size() {
		return nil // its leaf is in the files
	}
	leaf := tree.Leaf(l.Chained)
	if l.Seq > r.left {
		r.leaves = append(r.leaves, leaf)
	}
	r.edge.Add(leaf)
	return r.passed(l)
}

// passed is called with each size that the tree has on its way, and the line that it ends in, if that was
// read.
func (r *reader) passed(l *journal.Line) error {
	size := r.edge.Size()
	if size == r.left {
		r.boxes = r.edge.Roots()
	}
	if size != r.note.Seq || size == 0 {
		return nil
	}
	if r.edge.Root() != r.note.Root || l != nil && l.Hash != r.note.Hash {
		return fmt.Errorf("the hashes in the directory tree, and the lines, do not lead to the root that is "+
			"signed in the note of line %d", size)
	}
	return nil
}

// grow returns the node above the lines from start on and before end, counted from 0, with what is drawn
// below it. It is asked for nodes from the left to the right.
func (r *reader) grow(start, end uint64) *Node {
	n := &Node{First: start + 1, Last: end}
	switch {
	case end <= r.left: // such a tree is full: it is one of those that the lines before are made up of
		n.Box = true
		n.Hash = r.boxes[0]
		r.boxes = r.boxes[1:]
	case end-start == 1:
		i := start - r.left
		n.Hash = r.leaves[i]
		r.drawing.Lines[i].Node = n
	default:
		middle := start + 1<<(bits.Len64(end-start-1)-1)
		n.Left = r.grow(start, middle)
		n.Right = r.grow(middle, end)
		n.Hash = tree.Node(n.Left.Hash, n.Right.Hash)
	}
	return n
}

// mark marks the proof of a line, the oldest shown where that one is not shown, and what its change breaks.
func (d *Drawing) mark(line uint64) {
	d.Marked = line
	if line < d.Lines[0].Seq || line > d.Size() {
		d.Marked = d.Lines[0].Seq
	}
	for i := range d.Lines {
		d.Lines[i].Broken = d.Lines[i].Seq >= d.Marked
	}
	d.Proof = d.Root.prove(d.Marked)
	for i, n := range d.Proof {
		n.Number = i + 1
	}
}

// prove marks the nodes from a line up to this one as broken, and returns the neighbours of those below it,
// from the leaf's on: the line's proof.
func (n *Node) prove(line uint64) []*Node {
	n.Broken = true
	switch {
	case n.Left == nil:
		return nil
	case line <= n.Left.Last:
		return append(n.Left.prove(line), n.Right)
	}
	return append(n.Right.prove(line), n.Left)
}

// Nodes returns the nodes above the leaves, and those that stand for lines that are not shown: the root
// first.
func (d *Drawing) Nodes() []*Node { return d.Root.list(nil) }

// list appends the node, unless it is a leaf that is shown, and what is below it.
func (n *Node) list(nodes []*Node) []*Node {
	if n.Left == nil {
		return nodes
	}
	nodes = append(nodes, n)
	for _, below := range []*Node{n.Left, n.Right} {
		if below.Box {
			nodes = append(nodes, below)
		}
	}
	return n.Right.list(n.Left.list(nodes))
}
