package observe

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"waybill/store/chain"
	"waybill/store/journal"
)

// Happened is what happened to a journal that a reader should know of and that is no mistake: lines that were
// cut, names that it has had, lines that nobody had signed when a start took them over, moves of a test
// clock, other witnesses.
type Happened struct {
	List []Event

	clocks    int
	firstMove Event
	lastMove  Event
	witnesses []string
	asked     bool // a server has said who its witnesses are
}

// Event is one such thing. Its kinds are repaired, forked, unsigned, clock and witness.
type Event struct {
	Kind string `json:"kind"`
	Seq  uint64 `json:"seq"` // of the line that says so
	Text string `json:"text"`
}

// add adds what a line says.
func (h *Happened) add(kind string, l *journal.Line, text string) {
	h.List = append(h.List, Event{kind, l.Seq, text})
}

// Line takes what a line says of the journal itself.
func (h *Happened) Line(_ journal.Place, l *journal.Line) error {
	switch l.Type {
	case journal.KindRepaired:
		var x journal.Repaired
		if err := json.Unmarshal(l.Data, &x); err != nil {
			return err
		}
		h.add("repaired", l, fmt.Sprintf("the lines after line %d were cut: %s", l.Seq-1, x.Reason))
	case journal.KindForked:
		var x journal.Forked
		if err := json.Unmarshal(l.Data, &x); err != nil {
			return err
		}
		h.add("forked", l, fmt.Sprintf("a copy of %s after its line %d; from here on it is %s", x.Parent.Origin,
			x.Parent.Seq, x.Origin))
	case journal.KindOpened:
		return h.opened(l)
	case journal.KindClock:
		h.moved(l)
	}
	return nil
}

// opened takes what a start says: whom it asks to witness, and what it found unsigned.
func (h *Happened) opened(l *journal.Line) error {
	var x journal.Opened
	if err := json.Unmarshal(l.Data, &x); err != nil {
		return err
	}
	if u := x.Unsigned; u != nil {
		h.add("unsigned", l, fmt.Sprintf("the start of line %d took over lines that no note vouched for: %d from "+
			"line %d on", l.Seq, u.Lines, u.From))
	}
	if x.Witnesses == nil {
		return nil // a verb's
	}
	if h.asked && !slices.Equal(h.witnesses, x.Witnesses) {
		h.add("witness", l, fmt.Sprintf("the witnesses were %s, and are %s", named(h.witnesses),
			named(x.Witnesses)))
	}
	h.asked = true
	h.witnesses = x.Witnesses
	return nil
}

// named lists names.
func named(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// moved takes a move of the test clock.
func (h *Happened) moved(l *journal.Line) {
	h.clocks++
	h.lastMove = Event{"clock", l.Seq, l.Time.UTC().Format(journal.TimeLayout)}
	if h.clocks == 1 {
		h.firstMove = h.lastMove
	}
}

// End says how often the test clock was moved.
func (h *Happened) End(*chain.End) error {
	if h.clocks > 0 {
		h.List = append(h.List, Event{"clock", h.firstMove.Seq, fmt.Sprintf(
			"a test clock was set %d times: first by line %d, at %s, last by line %d, at %s", h.clocks,
			h.firstMove.Seq, h.firstMove.Text, h.lastMove.Seq, h.lastMove.Text)})
	}
	return nil
}
