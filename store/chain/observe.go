package chain

import (
	"fmt"

	"waybill/store/journal"
	"waybill/store/tree"
)

// Tree is a growing tree over the lines. A start has one that is kept in files; a check compares one with
// the files.
type Tree interface {
	Size() uint64
	Add(leaf tree.Hash)
	Root() tree.Hash
}

// Leaves adds the leaf of each line that the tree does not have yet.
type Leaves struct{ Tree Tree }

// Line adds the leaf.
func (x Leaves) Line(_ journal.Place, l *journal.Line) error {
	if l.Seq > x.Tree.Size() {
		x.Tree.Add(tree.Leaf(l.Chained))
	}
	return nil
}

// End checks nothing.
func (Leaves) End(*End) error { return nil }

// Repairs collects the repairs that have cut the journal. They excuse nothing. Errors of notes mention them,
// as a repair is often why a note does not fit.
type Repairs struct {
	list []repair
}

// repair is a repair that has cut the journal before its line.
type repair struct {
	seq    uint64
	reason string
}

// Line takes up a repair.
func (r *Repairs) Line(_ journal.Place, l *journal.Line) error {
	if l.Type != journal.KindRepaired {
		return nil
	}
	if _, err := journal.ErasedBy(l); err != nil {
		return err
	}
	var said journal.Repaired
	if err := l.Says(&said); err != nil {
		return err
	}
	r.list = append(r.list, repair{l.Seq, said.Reason})
	return nil
}

// End checks nothing.
func (r *Repairs) End(*End) error { return nil }

// story returns which lines repairs have cut, as the end of an error.
func (r *Repairs) story() (text string) {
	for _, x := range r.list {
		text += fmt.Sprintf("; a repair cut the journal at seq %d: %s", x.seq, x.reason)
	}
	return text
}

// Snapshots checks that the journal has the line that the newest snapshot was made after. A snapshot that is
// whole proves that its line was durable.
type Snapshots struct {
	Newest uint64 // 0: there is none
}

// Line checks nothing.
func (x Snapshots) Line(journal.Place, *journal.Line) error { return nil }

// End checks that the journal goes as far.
func (x Snapshots) End(end *End) error {
	if x.Newest > end.Head.Seq {
		return end.Lost(fmt.Sprintf("a snapshot proves that seq %d was on the disk", x.Newest))
	}
	return nil
}
