package chain

import (
	"cmp"
	"errors"
	"fmt"

	"waybill/store/journal"
)

// Check sees an event, and the value before it. Its error becomes damage to the line.
type Check[S, E any] func(S, journal.Stamp, E) error

// Replay brings a value along a journal.
type Replay[S, E any] struct {
	State S
	// Visits is to be an observer of the reading, which it also begins. Its Visit may be replaced by one that
	// calls Apply.
	Visits Visits

	// Misfits, unless it is nil, collects the lines that break a rule. The reading goes on after them.
	// Without it the first ends the reading.
	Misfits *Misfits

	model *journal.Model[S, E]
	check Check[S, E] // or nil
}

// Misfits are lines whose bytes are good, and that break a rule.
type Misfits struct {
	List []*journal.Damage // the first [maxMisfits]
	More int               // how many there are besides
	// Unapplied reports that one could not be applied. The value is not what the journal's writer had.
	Unapplied bool
}

// maxMisfits is how many lines are named.
const maxMisfits = 100

// add takes an error of a line as one of the misfits. Other errors it returns.
func (m *Misfits) add(err error) error {
	wrong, ok := errors.AsType[*journal.Damage](err)
	if m == nil || !ok || !wrong.Books {
		return err
	}
	if len(m.List) == maxMisfits {
		m.More++
		return nil
	}
	m.List = append(m.List, wrong)
	return nil
}

// NewReplay brings a value along the lines after those that it was made from.
func NewReplay[S, E any](model *journal.Model[S, E], state S, check Check[S, E]) *Replay[S, E] {
	r := &Replay[S, E]{
		State: state,
		model: model,
		check: check,
	}
	r.Visits.Prepare = r.decode
	r.Visits.Visit = r.Apply
	return r
}

// decoded is the event of a line, or the reason why it has none.
type decoded[E any] struct {
	event E
	err   error
}

// decode decodes the events of lines, before it is their turn to be applied; but in their order, and one at a
// time, so that Decode may remember what it has read.
func (r *Replay[S, E]) decode(batch []Visited) {
	list := make([]decoded[E], len(batch))
	for i := range batch {
		if v := &batch[i]; !journal.Own(v.Line.Type) {
			list[i].event, list[i].err = r.event(v)
			v.Event = &list[i]
		}
	}
}

// event decodes the event of a line.
func (r *Replay[S, E]) event(v *Visited) (e E, err error) {
	defer v.Misfit(&err)
	e, err = r.model.Decode(v.Line.Type, v.Line.Data, v.Line.Personal)
	switch {
	case errors.Is(err, journal.ErrNewer):
		return e, fmt.Errorf("line %d of %s: %w", v.At.Line, v.At.File, err)
	case errors.Is(err, journal.ErrNotJSON):
		return e, journal.DamageAt(v.At, v.Line.Seq, err.Error())
	case err != nil:
		err = inBooks(v, err)
	}
	return e, err
}

// Apply applies a line's event.
func (r *Replay[S, E]) Apply(v *Visited) error {
	x, ok := v.Event.(*decoded[E])
	if !ok {
		return nil // the line is the store's own
	}
	if x.err != nil {
		return r.unapplied(x.err)
	}
	wrong := r.checked(v, x.event)
	applied := r.applied(v, x.event)
	if applied != nil {
		return r.unapplied(cmp.Or(wrong, applied))
	}
	if wrong != nil {
		return r.Misfits.add(wrong)
	}
	return nil
}

// unapplied takes the error of a line that could not be applied.
func (r *Replay[S, E]) unapplied(err error) error {
	err = r.Misfits.add(err)
	if err == nil {
		r.Misfits.Unapplied = true
	}
	return err
}

// checked returns what is wrong with a line before it is applied.
func (r *Replay[S, E]) checked(v *Visited, e E) (err error) {
	if r.check == nil {
		return nil
	}
	defer v.Misfit(&err)
	if wrong := r.check(r.State, v.Line.Stamp, e); wrong != nil {
		return inBooks(v, wrong)
	}
	return nil
}

// applied applies a line, and returns why it could not.
func (r *Replay[S, E]) applied(v *Visited, e E) (err error) {
	defer v.Misfit(&err)
	if wrong := r.model.Apply(r.State, v.Line.Stamp, e); wrong != nil {
		return inBooks(v, wrong)
	}
	return nil
}

// inBooks returns the error of a line whose bytes are good and that breaks a rule.
func inBooks(v *Visited, err error) error {
	wrong := journal.DamageAt(v.At, v.Line.Seq, err.Error())
	wrong.Books = true
	return wrong
}
