// Package observe has what a journal must agree with besides its own chain. Each type is one concern, and an
// observer of a reading (package chain):
//
//   - [Names]: the names that the directory has had, and their keys
//   - [Notes]: signed checkpoints, the directory's own and those that somebody has kept
//   - [Witnesses]: who has signed these besides
//   - [Leaves]: the tree over the lines, whose root checkpoints say
//   - [Erasures]: personal parts that are gone, and the lines that name them
//   - [Repairs]: repairs that have cut the journal
//   - [Snapshots]: snapshots that prove that their lines were durable
//
// A caller lists the observers that its reading needs. One that others ask about a line comes before them:
//
//	names, err := observe.NewNames(fsys)
//	erasures := observe.NewErasures()
//	end, err := chain.Reader{FS: fsys}.Read(erasures, names)
//	err = erasures.Unexplained(fsys, end.Head)
package observe

import (
	"fmt"

	"waybill/store/chain"
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
func (Leaves) End(*chain.End) error { return nil }

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
func (r *Repairs) End(*chain.End) error { return nil }

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
func (x Snapshots) End(end *chain.End) error {
	if x.Newest > end.Head.Seq {
		return end.Lost(fmt.Sprintf("a snapshot proves that seq %d was on the disk", x.Newest))
	}
	return nil
}
