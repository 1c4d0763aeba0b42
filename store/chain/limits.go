package chain

import "waybill/store/journal"

// After shows another observer only the lines after one. Where the journal has that line, it must have its
// hash.
type After struct {
	Head journal.Head // the zero Head is before all lines
	Next Observer     // nil: only the line itself is checked
}

// Skip returns the line before that one, for a reader. The line itself must be read, so that it is checked.
func (a After) Skip() uint64 {
	return max(a.Head.Seq, 1) - 1
}

// Line checks the line after which the others come, and shows the others.
func (a After) Line(at journal.Place, l *journal.Line) error {
	switch {
	case l.Seq > a.Head.Seq && a.Next != nil:
		return a.Next.Line(at, l)
	case l.Seq == a.Head.Seq && l.Hash != a.Head.Hash:
		return journal.DamageAt(at, l.Seq, "is not the line that the snapshot of this seq follows")
	}
	return nil
}

// End shows the end.
func (a After) End(end *End) error {
	if a.Next == nil {
		return nil
	}
	return a.Next.End(end)
}

// InUse is listed where a server may be writing the journal: an unfinished line at the end is one that the
// server has not written whole yet, and nothing is torn. It comes before observers that look at the end.
type InUse struct{}

// Line checks nothing.
func (InUse) Line(journal.Place, *journal.Line) error { return nil }

// End passes over an unfinished line.
func (InUse) End(end *End) error {
	if end.Torn != nil && end.Torn.unfinished {
		end.Torn = nil
	}
	return nil
}
