package chain

import (
	"encoding/base64"
	"fmt"

	"waybill/store/journal"
)

// anotherJournal is the relation of a note to a journal of another name.
const anotherJournal = "another journal"

// twoHistories is the relation of a note to a journal of the same name and key that it does not fit.
func (c *claim) twoHistories() string {
	return fmt.Sprintf("two histories: this journal and the note are both signed by %s", c.key)
}

// said returns what a note says, as the end of an error: of whom, of which line, and of which lines so far.
func (c *claim) said() string {
	root := base64.StdEncoding.EncodeToString(c.Root[:])
	return fmt.Sprintf("; the note is of %s, line %d, root %s", c.Origin, c.Seq, root)
}

// Forks are notes that do not fit: the first of the directory's own, and the first of those that an auditor
// has kept. Mostly no later one fits either.
type Forks struct {
	Own, Kept *journal.Damage // nil: all fit
	// MoreOwn and MoreKept are how many more there are of each.
	MoreOwn, MoreKept int
}

// First returns the error of the first note that does not fit; nil where all do.
func (f *Forks) First() error {
	switch {
	case f.Own != nil:
		return f.Own
	case f.Kept != nil:
		return f.Kept
	}
	return nil
}

// fork takes up that a note does not fit. It returns the error where the reading is not to go on.
func (n *Notes) fork(c *claim, wrong *journal.Damage) error {
	if !n.GoOn {
		return wrong
	}
	switch f := &n.Forks; {
	case c.kept && f.Kept == nil:
		f.Kept = wrong
	case c.kept:
		f.MoreKept++
	case f.Own == nil:
		f.Own = wrong
	default:
		f.MoreOwn++
	}
	return nil
}

// concerns reports whether a checkpoint is one of this directory, as far as the journal was read.
func (n *Notes) concerns(c *claim) bool {
	x := n.Names.of(c.Origin)
	return x != nil && (x.left == 0 || c.Seq <= x.left) && (x.saidAt == 0 || x.key.Equal(c.key))
}

// Foreign returns an error for a checkpoint of another history: of a journal that has never been this
// directory, of the directory's parent after it had left that, or signed under the directory's name with
// somebody else's key. Where the reading goes on after these, Forks has them.
func (n *Notes) Foreign() error {
	for _, c := range n.sorted() {
		wrong := n.foreign(c)
		if wrong == nil {
			continue
		}
		if err := n.fork(c, wrong); err != nil {
			return err
		}
	}
	return nil
}

// foreign returns why a checkpoint is not one of this directory; nil where it is one.
func (n *Notes) foreign(c *claim) *journal.Damage {
	x := n.Names.of(c.Origin)
	forked := anotherJournal
	whose := ""
	switch {
	case x == nil:
		whose = "is of another journal, " + c.Origin
	case x.saidAt > 0 && !x.key.Equal(c.key):
		whose = fmt.Sprintf("is not signed with the key of %s that line %d names", x.origin, x.saidAt)
	case x.left > 0 && c.Seq > x.left:
		forked = c.twoHistories()
		whose = fmt.Sprintf("covers line %d of %s, which this directory left after line %d to become %s%s",
			c.Seq, c.Origin, x.left, n.Names.now().origin, n.Repairs.story())
	default:
		return nil
	}
	whose += c.said()
	if forked == anotherJournal { // else the relation names the key
		whose += fmt.Sprintf(", signed by %s", c.key)
	}
	wrong := journal.InFile(c.from, whose)
	wrong.Forked = forked
	return wrong
}
