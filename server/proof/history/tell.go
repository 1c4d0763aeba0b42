package history

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/durable"
	"waybill/store/journal"
)

// Told is a line that tells of a booking or a ticket.
type Told struct {
	Seq uint64
	// RunOnly says that the line is another booking's, and is the one that describes a run of this one.
	RunOnly bool
}

// Tell writes the history of a booking or a ticket, as [Log] does, and returns the lines that tell of it, in
// their order: those of the history, those that say what was erased of them, and those that describe the
// runs.
func Tell(fsys durable.ReadFS, inUse bool, f Filter, out io.Writer) ([]Told, error) {
	told := map[uint64]bool{} // whether the line is told of for its run only
	s := newHistory(f, out)
	s.shown = func(seq uint64) { told[seq] = false }
	// What was sold of a run names what the first line of it describes.
	described := descriptions{
		runs:  map[ids.RunID]uint64{},
		forms: map[string]uint64{},
	}
	erasures := map[uint64][]uint64{} // lines, and those that they say are erased
	gone := map[uint64]bool{}         // lines whose personal parts are not there
	s.read = func(l *journal.Line, x ledger.Entry) error {
		switch e := x.Event.(type) {
		case *booking.Created:
			described.record(e, l.Seq)
		case *booking.RunMoved:
			for _, r := range s.Bookings.MovedRuns(e) {
				described.runs[r.ID] = l.Seq
			}
		}
		if journal.Erased(l.Personal) {
			gone[l.Seq] = true
		}
		return recordErasure(erasures, l)
	}
	if err := s.tell(fsys, inUse, nil); err != nil {
		return nil, err
	}
	for _, run := range s.runs() {
		for _, seq := range []uint64{described.runs[run.ID], described.forms[run.Form.Key()]} {
			if _, own := told[seq]; seq > 0 && !own {
				told[seq] = true
			}
		}
	}
	for _, lines := range erasures {
		for _, seq := range lines {
			delete(gone, seq)
		}
	}
	for seq, runOnly := range told {
		if gone[seq] && !runOnly {
			return nil, fmt.Errorf("line %d has no personal part, and no line says that it was erased; "+
				"run waybill verify", seq)
		}
	}
	for seq, lines := range erasures {
		if slices.ContainsFunc(lines, func(line uint64) bool {
			runOnly, isTold := told[line]
			return isTold && !runOnly
		}) {
			told[seq] = false
		}
	}
	var list []Told
	for _, seq := range slices.Sorted(maps.Keys(told)) {
		list = append(list, Told{seq, told[seq]})
	}
	return list, nil
}

// descriptions are the lines that describe runs, and the forms that they are sold in, for the first time.
type descriptions struct {
	runs  map[ids.RunID]uint64
	forms map[string]uint64 // by key
}

// record remembers which runs and forms a line describes.
func (d *descriptions) record(e *booking.Created, seq uint64) {
	for _, r := range e.Runs {
		if d.runs[r.ID] == 0 {
			d.runs[r.ID] = seq
		}
	}
	for _, f := range e.Forms {
		if d.forms[f.Key()] == 0 {
			d.forms[f.Key()] = seq
		}
	}
}

// recordErasure remembers which lines a line says are erased.
func recordErasure(erasures map[uint64][]uint64, l *journal.Line) error {
	erased, err := journal.ErasedBy(l)
	for _, x := range erased {
		erasures[l.Seq] = append(erasures[l.Seq], x.Seq)
	}
	return err
}

// runs returns the runs that the story's tickets are on.
func (s *history) runs() (list []*booking.Run) {
	tickets := slices.Clone(s.tickets)
	if id, ok := ids.Parse(s.Booking); ok {
		if b := s.Bookings.Any(id); b != nil {
			for i := range b.Tickets {
				tickets = append(tickets, b.Tickets[i].ID)
			}
		}
	}
	for _, id := range tickets {
		_, t := s.Bookings.AnyTicket(id)
		if t == nil {
			continue
		}
		for _, leg := range t.Itinerary() {
			list = append(list, leg.Run)
		}
	}
	return list
}
