package statement

import (
	"errors"
	"fmt"
	"slices"

	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// End is where a reading of a journal has ended.
type End struct {
	journal.Head
	Signed    uint64 // the newest line of it that a note of the directory vouches for; 0 is none
	Timetable string // the hash of the timetable in force; "" is none
}

// errEnd ends the reading of a journal that goes on.
var errEnd = errors.New("statement: the end of what is durable")

// read goes through the journal of a directory and calls visit for each movement. It checks the chain. Where
// a server has the directory open, it reads up to the newest note: the lines after that need not be on the
// disk yet.
func read(fsys durable.ReadFS, inUse bool, visit func(Movement)) (*reader, error) {
	if inUse {
		checkpoint.Await(fsys, 1) // of a server that has just made its directory
	}
	notes := map[uint64][32]byte{}
	newest := uint64(0)
	err := checkpoint.Each(fsys, func(n checkpoint.Note) {
		notes[n.Seq] = n.Hash
		newest = max(newest, n.Seq)
	})
	if err != nil {
		return nil, err
	}
	r := &reader{
		codec:     ledger.NewCodec(),
		movements: NewMovements(),
		visit:     visit,
		known:     map[string]bool{},
	}
	_, err = inspect.Read(fsys, inUse, func(_ journal.Place, l *journal.Line) error {
		if err := r.line(l); err != nil {
			return err
		}
		if hash, signed := notes[l.Seq]; signed && hash == l.Hash {
			r.end.Signed = l.Seq
		}
		if inUse && l.Seq == newest {
			return errEnd
		}
		return nil
	})
	if errors.Is(err, errEnd) {
		err = nil
	}
	return r, err
}

// reader reads the lines that move money and passes over all others.
type reader struct {
	codec     *ledger.Codec
	movements *Movements
	visit     func(Movement)
	known     map[string]bool // types of lines that may be passed over
	end       End
}

// line reads a line.
func (r *reader) line(l *journal.Line) error {
	r.end.Head = l.Head
	if !tells[l.Type] && l.Type != "timetable.imported" {
		return r.pass(l)
	}
	// Passengers are not needed: they are read as those of a line whose personal part is erased.
	personal := l.Personal
	if l.Type == "booking.created" {
		personal = journal.ErasedPart(l.Time)
	}
	entry, err := r.codec.Decode(l.Type, l.Data, personal)
	if err != nil {
		return fmt.Errorf("seq %d: %w", l.Seq, err)
	}
	if e, ok := entry.Event.(*ledger.TimetableImported); ok {
		r.end.Timetable = e.Hash
		return nil
	}
	list, err := r.movements.Apply(l.Stamp, entry.Event)
	for _, m := range list {
		r.visit(m)
	}
	return err
}

// pass passes over a line, unless it is one of a later version.
func (r *reader) pass(l *journal.Line) error {
	if r.known[l.Type] {
		return nil
	}
	if !journal.Own(l.Type) && !ledger.IsKind(l.Type) {
		return fmt.Errorf("seq %d: %w: unknown type %q", l.Seq, journal.ErrNewer, l.Type)
	}
	r.known[l.Type] = true
	return nil
}

// hasPartner reports whether there is a partner of a name.
func (r *reader) hasPartner(name string) bool {
	for _, known := range r.movements.partners {
		if known == name {
			return true
		}
	}
	return false
}

// hasCompany reports whether tickets of a company were sold, or it is of the timetable in force. The file of
// that is read only where it is asked about, as it may be large.
func (r *reader) hasCompany(fsys durable.ReadFS, slug string) (bool, error) {
	for _, run := range r.movements.runs {
		if run.Form.Company.Slug == slug {
			return true, nil
		}
	}
	tt, err := ledger.LoadTimetable(fsys, r.end.Timetable)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(tt.Companies, func(c schedule.Company) bool { return c.Slug == slug }), nil
}
