package chain

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

// Notes holds the journal against signed checkpoints: where the journal has the line of one, that line must
// have the checkpoint's hash, and the lines so far its root; and the journal must have the line. A checkpoint
// that was signed under a name that the directory has never had, or with another key, is not held against it:
// Foreign returns that, after the reading.
//
// The notes are taken up before the reading: all of a directory by AddAll, one that an auditor has kept by
// AddKept, and any other by Add.
type Notes struct {
	FS        durable.ReadFS
	Witnesses Witnesses // that are asked after
	// The observers that are asked about a line come before Notes in the list of the reading.
	Names   *Names
	Repairs *Repairs
	Tree    Tree // nil: roots are not checked
	// GoOn has the reading go on after a note that does not fit: Forks has these. Without it, the first such
	// note is the error of its line, or of Foreign.
	GoOn  bool
	Forks Forks
	// Spoilt is a part of a note that nobody needs, at the end of a log: a start cuts it. nil: there is none.
	Spoilt error

	bySeq map[uint64][]claim
	older *Older

	fits     uint64 // the newest line that a checkpoint agrees with
	keptFits uint64 // of the checkpoints that an auditor has kept
	// unvouched is how long the lines after fits were in the writing. before is the time of the last of them,
	// zero where there is none or that set a clock.
	unvouched time.Duration
	before    time.Time
}

// claim is a checkpoint with which the journal must agree.
type claim struct {
	checkpoint.Checkpoint
	key        note.Key // that has signed it
	from       string   // where it was found
	kept       bool     // by an auditor
	signatures []signature
}

// Line checks a line against the checkpoints of that line.
func (n *Notes) Line(at journal.Place, l *journal.Line) error {
	n.Witnesses.see(l)
	fits := n.fits
	keptFits := n.keptFits
	for _, c := range n.bySeq[l.Seq] {
		if c.Hash == l.Hash && n.hasRoot(&c) {
			fits = l.Seq
			if c.kept {
				keptFits = l.Seq
			}
			n.Witnesses.credit(c.signatures, l.Seq)
		} else if n.concerns(&c) {
			if err := n.fork(&c, n.differs(at, l, &c)); err != nil {
				return err
			}
		}
	}
	n.fits = fits
	n.keptFits = keptFits
	set := l.Type == journal.KindClock
	switch {
	case fits == l.Seq:
		n.unvouched = 0
	case n.before.IsZero(), set, journal.Own(l.Type): // before a start no line was written
	default:
		n.unvouched += l.Time.Sub(n.before)
	}
	n.before = l.Time
	if fits == l.Seq || set { // the line after one that sets a clock may have the first time of that clock
		n.before = time.Time{}
	}
	return nil
}

// End checks that the journal has the lines of all checkpoints.
func (n *Notes) End(end *End) error {
	for _, kept := range []bool{false, true} { // what the directory itself says is damage
		first := n.beyond(end.Head.Seq, kept)
		if first == nil {
			continue
		}
		lost := end.Lost(fmt.Sprintf("a checkpoint in %s proves that seq %d was on the disk, with hash "+
			"%x; %s",
			first.from, first.Seq, first.Hash, n.newestFit(first)))
		if !kept {
			return lost
		}
		lost.Forked = first.twoHistories()
		lost.Reason += first.said()
		if err := n.fork(first, lost); err != nil {
			return err
		}
	}
	return nil
}

// beyond returns the first checkpoint of a line after last, of those that an auditor has kept or of the
// others; nil when there is none.
func (n *Notes) beyond(last uint64, kept bool) (first *claim) {
	for _, c := range n.sorted() {
		if c.Seq > last && c.kept == kept && n.concerns(c) {
			return c
		}
	}
	return nil
}

// HasBeyond reports whether there is a checkpoint of a line after last.
func (n *Notes) HasBeyond(last uint64) bool {
	return n.beyond(last, false) != nil || n.beyond(last, true) != nil
}

// hasRoot reports whether the tree of the lines so far has the root that a checkpoint says. Where the tree is
// not known, it reports true.
func (n *Notes) hasRoot(c *claim) bool {
	return n.Tree == nil || n.Tree.Size() != c.Seq || n.Tree.Root() == c.Root
}

// differs returns the error of a checkpoint that was made of other lines than this journal's.
func (n *Notes) differs(at journal.Place, l *journal.Line, c *claim) *journal.Damage {
	reason := fmt.Sprintf("is not the line that the checkpoint in %s signed on %s, with hash %x; %s",
		c.from, c.Time.Format(journal.TimeLayout), c.Hash, n.newestFit(c))
	if c.Hash == l.Hash {
		reason = fmt.Sprintf("has the hash of the checkpoint in %s, but the lines up to it are not "+
			"those of its tree", c.from)
	}
	wrong := journal.DamageAt(at, l.Seq, reason+c.said())
	wrong.Forked = c.twoHistories()
	return wrong
}

// newestFit says up to which line the checkpoints from the same source agree with the journal: from the
// directory, or from an auditor who has kept them.
func (n *Notes) newestFit(c *claim) string {
	fits := n.fits
	if c.kept {
		fits = n.keptFits
	}
	text := fmt.Sprintf("the newest checkpoint that fits covers seq %d", fits)
	if fits == 0 {
		text = "none of the older checkpoints fits"
	}
	return text + n.Repairs.story()
}

// Count returns of how many lines there are checkpoints in the directory.
func (n *Notes) Count() (lines int) {
	for _, list := range n.bySeq {
		if slices.ContainsFunc(list, func(c claim) bool { return !c.kept }) {
			lines++
		}
	}
	return lines
}

// Fits returns the newest line that a checkpoint agrees with, of those that were read.
func (n *Notes) Fits() uint64 { return n.fits }

// Unvouched returns how long the lines were in the writing that no checkpoint vouches for: from the first of
// them to the last, but for the time until a start, and for moves of a test clock.
func (n *Notes) Unvouched() time.Duration { return n.unvouched }

// Vouched returns the last line that a checkpoint of this journal vouches for. last is the journal's last.
func (n *Notes) Vouched(last uint64) uint64 {
	return n.newest(func(c *claim) bool { return n.concerns(c) && c.Seq <= last })
}

// SignedAs returns the newest line that the directory has signed under a name, 0 where it has signed none.
func (n *Notes) SignedAs(origin string) uint64 {
	return n.newest(func(c *claim) bool { return c.Origin == origin })
}

// Signed returns the newest line with a checkpoint in the directory: the hashes of the tree were on the disk
// before that checkpoint was.
func (n *Notes) Signed() uint64 {
	return n.newest(func(c *claim) bool { return !c.kept })
}

// newest returns the newest line with a checkpoint for which one reports true.
func (n *Notes) newest(one func(*claim) bool) (newest uint64) {
	for seq, list := range n.bySeq {
		for i := range list {
			if one(&list[i]) {
				newest = max(newest, seq)
			}
		}
	}
	return newest
}

// Unkept is an earlier name of the directory whose checkpoints are not there.
type Unkept struct {
	Origin string
	Left   uint64 // the line that gave the directory another
}

// Unkept returns all such names.
func (n *Notes) Unkept() (names []Unkept) {
	for _, x := range n.Names.known {
		if x.left > 0 && n.SignedAs(x.origin) == 0 {
			names = append(names, Unkept{x.origin, x.left + 1})
		}
	}
	return names
}

// sorted returns all checkpoints, by their lines.
func (n *Notes) sorted() (all []*claim) {
	for _, seq := range slices.Sorted(maps.Keys(n.bySeq)) {
		list := n.bySeq[seq]
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}
