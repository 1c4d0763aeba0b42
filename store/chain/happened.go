package chain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"waybill/store/journal"
)

// Happened is what happened to a journal that a reader should know of and that is no mistake: lines that were
// cut, names that it has had, lines that nobody had signed when a start took them over, moves of a test
// clock, the first witnesses and other ones.
type Happened struct {
	list      []Event
	clocks    span
	unsigned  span
	witnesses []string // that the last server asked; none before the first
}

// span is of something that may have happened often: the first time, the last time, and how often.
type span struct {
	first, last Event
	n           int
}

// add adds one time.
func (s *span) add(e Event) {
	if s.n++; s.n == 1 {
		s.first = e
	}
	s.last = e
}

// event says all of them, in one event; what is how it begins.
func (s *span) event(what string) Event {
	text := fmt.Sprintf("%s once, %s", what, s.first.Text)
	if s.n > 1 {
		text = fmt.Sprintf("%s %d times: first %s, last %s", what, s.n, s.first.Text, s.last.Text)
	}
	return Event{s.first.Kind, s.first.Seq, text}
}

// Event is one such thing. Its kinds are repaired, forked, unsigned, clock and witness.
type Event struct {
	Kind string `json:"kind"`
	Seq  uint64 `json:"seq"` // of the line that says so
	Text string `json:"text"`
}

// add adds what a line says.
func (h *Happened) add(kind string, l *journal.Line, text string) {
	h.list = append(h.list, Event{kind, l.Seq, text})
}

// Line takes what a line says of the journal itself.
func (h *Happened) Line(_ journal.Place, l *journal.Line) error {
	switch l.Type {
	case journal.KindRepaired:
		var x journal.Repaired
		if err := l.Says(&x); err != nil {
			return err
		}
		h.add("repaired", l, fmt.Sprintf("the lines after line %d were cut: %s", l.Seq-1, x.Reason))
	case journal.KindForked:
		var x journal.Forked
		if err := l.Says(&x); err != nil {
			return err
		}
		h.add("forked", l, fmt.Sprintf("the directory is a copy of %s up to its line %d; from here on "+
			"its name is %s", x.Parent.Origin,
			x.Parent.Seq, x.Origin))
	case journal.KindOpened:
		return h.opened(l)
	case journal.KindClock:
		h.clocks.add(Event{"clock", l.Seq, fmt.Sprintf("by line %d, at %s", l.Seq,
			l.Time.UTC().Format(journal.TimeLayout))})
	}
	return nil
}

// opened takes what a start says: whom it asks to witness, and what it found unsigned.
func (h *Happened) opened(l *journal.Line) error {
	var x journal.Opened
	if err := l.Says(&x); err != nil {
		return err
	}
	if u := x.Unsigned; u != nil {
		h.unsigned.add(Event{"unsigned", l.Seq, fmt.Sprintf("by line %d: %d from line %d on", l.Seq, u.Lines,
			u.From)})
	}
	if x.Witnesses == nil {
		return nil // a verb's
	}
	if !slices.Equal(h.witnesses, x.Witnesses) {
		h.add("witness", l, fmt.Sprintf("the witnesses changed from %s to %s", named(h.witnesses),
			named(x.Witnesses)))
	}
	h.witnesses = x.Witnesses
	return nil
}

// named lists names.
func named(list []string) string { return cmp.Or(strings.Join(list, ", "), "none") }

// End checks nothing.
func (h *Happened) End(*End) error { return nil }

// Events returns what happened so far, in the order of the lines, but that of what may have happened often
// the first, the last and how many are one event, in the place of the first.
func (h *Happened) Events() []Event {
	all := slices.Clone(h.list)
	if h.unsigned.n > 0 {
		all = append(all, h.unsigned.event("a start took over lines that no note covered"))
	}
	if h.clocks.n > 0 {
		all = append(all, h.clocks.event("a test clock was set"))
	}
	slices.SortStableFunc(all, func(a, b Event) int { return cmp.Compare(a.Seq, b.Seq) })
	return all
}
