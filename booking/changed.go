package booking

import (
	"fmt"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// What becomes of the state once a carrier has changed a run, and what verify holds against it.

// change replaces the change of a run.
func (s Recorder) change(run ids.RunName, alter func(*RunChange)) {
	c := s.Change(run)
	alter(&c)
	s.RestoreChange(&c)
}

// ApplyRunCanceled cancels a run and the tickets that the event names.
func (s Recorder) ApplyRunCanceled(at Line, e *RunCanceled) error {
	renewed := map[ids.ID]*Booking{}
	for _, id := range e.Bookings() {
		b, err := s.renew(id, at)
		if err != nil {
			return err
		}
		renewed[id] = b
	}
	for _, x := range e.Tickets {
		if renewed[x.Booking].find(x.ID) == nil {
			return noTicketIn(renewed[x.Booking], x.ID)
		}
	}
	s.change(e.Run, func(c *RunChange) {
		c.Canceled = true
		c.Reason = e.Reason
		c.Tickets += len(e.Tickets)
	})
	for _, x := range e.Tickets {
		t := renewed[x.Booking].find(x.ID)
		t.end(x.Refunded)
		if x.Refunded {
			legs := t.Legs[:len(t.Itinerary())]
			for i := range legs {
				legs[i].Refund = legs[i].Amount
			}
		}
		delete(s.late, t.ID)
		delete(s.asks, t.ID)
		t.sit(nil, at.Time)
	}
	for _, b := range renewed {
		s.put(b)
	}
	return nil
}

// Bookings returns the bookings whose tickets are cancelled with the run, each once.
func (e *RunCanceled) Bookings() (list []ids.ID) {
	seen := map[ids.ID]bool{}
	for _, x := range e.Tickets {
		if !seen[x.Booking] {
			seen[x.Booking] = true
			list = append(list, x.Booking)
		}
	}
	return list
}

// ApplyRunMoved puts all tickets of a run on its new times.
func (s Recorder) ApplyRunMoved(at Line, e *RunMoved) error {
	for _, m := range e.Runs {
		was := s.runs[m.Was]
		if was == nil {
			return ids.Unknown("run", m.Was)
		}
		if len(m.Offsets) != len(was.Form.Stops) {
			return fmt.Errorf("run %s is moved with %d offsets for %d stops", m.Was, len(m.Offsets),
				len(was.Form.Stops))
		}
	}
	for _, x := range e.Tickets {
		if b, _ := s.AnyTicket(x.ID); b == nil || b.ID != x.Booking {
			return ids.Unknown("ticket", x.ID)
		}
	}
	s.change(e.Run, func(c *RunChange) {
		c.Shift = int32(e.Minutes) * 60
		c.Reason = e.Reason
	})
	became := map[*Run]*Run{}
	for _, m := range e.Runs {
		was := s.runs[m.Was]
		moved := NewRun(was.Form, was.Day, m.Start, m.Offsets)
		s.KnowRun(moved)
		became[was] = s.runs[moved.ID] // it may have been at that time before
	}
	for _, n := range s.bookingsOf(e.Run.Key()) {
		was := s.at(n)
		b := s.at(n)
		b.renewed(at)
		for i := range b.Tickets {
			b.Tickets[i].moveTo(became, at.Time)
		}
		s.put(b)
		s.relist(was, b)
	}
	return nil
}

// BookingsOf returns the bookings that have a ticket on a run, whatever its state, in the order of their
// creation.
func (s *State) BookingsOf(run ids.RunName) (list []ids.ID) {
	for _, n := range s.bookingsOf(run.Key()) {
		list = append(list, s.at(n).ID)
	}
	return list
}

// moveTo puts a ticket's rides on the runs that replace theirs. The ticket keeps its seats.
func (t *Ticket) moveTo(became map[*Run]*Run, now time.Time) {
	moved := false
	by := t.RefundsBy()
	for i := range t.Legs[:len(t.Itinerary())] {
		l := &t.Legs[i]
		if became[l.Run] != nil {
			l.Run = became[l.Run]
			moved = true
		}
	}
	if !moved {
		return
	}
	t.Earlier = int32(max(0, by.Sub(t.Departure())/time.Second))
	if t.live(now) {
		t.sit(nil, now)
	}
}

// ApplyRunRestored takes back the last change of a run.
func (s Recorder) ApplyRunRestored(_ Line, e *RunRestored) error {
	c := s.Change(e.Run)
	if c.Canceled {
		c.Canceled = false
		c.Reason = e.Reason
	} else {
		c = RunChange{}
	}
	if c.Change != (schedule.Change{}) {
		s.RestoreChange(&c)
		return nil
	}
	key := e.Run.Key()
	delete(s.runChanges, key)
	if s.seatings[key] != nil {
		s.seatings[key].change = nil
	}
	return nil
}

// CheckRunCanceled returns an error unless the event cancels exactly the tickets that are to be cancelled
// with the run: all that live and are not pending.
func (s *State) CheckRunCanceled(now time.Time, e *RunCanceled) error {
	want, _ := s.canceledWith(now, e.Run, nil)
	for i := range max(len(e.Tickets), len(want)) {
		stands, follows := s.nth(e.Tickets, i), s.nth(want, i)
		if stands != follows {
			return fmt.Errorf("%s is cancelled with %s; the rules give %s", e.Run, stands, follows)
		}
	}
	return nil
}

// nth says which ticket stands at a place of those that are cancelled with a run, and what becomes of it.
func (s *State) nth(list []CanceledWithRun, i int) string {
	if i >= len(list) {
		return "no other ticket"
	}
	x, currency := list[i], ""
	if _, t := s.AnyTicket(x.ID); t != nil {
		currency = " " + string(t.Currency[:])
	}
	done := "canceled"
	if x.Refunded {
		done = "refunded"
	}
	return fmt.Sprintf("ticket %s of booking %s, partner %s, %s, with %s%s back", x.ID, x.Booking, x.Partner,
		done, Hundredths(x.Refund), currency)
}

const (
	maxOffset  = 14 * 3600     // seconds that a clock can be ahead of UTC, or behind it
	maxAligned = 2 * 24 * 3600 // seconds that a timetable may have a run of a service day at another time
)

// CheckRunMoved returns an error where a run may not be moved as the event says. The event must name every
// form in which the run was sold, and every ticket whose passenger is to be informed.
func (s *State) CheckRunMoved(now time.Time, e *RunMoved) error {
	if e.Minutes < -MaxShift || e.Minutes > MaxShift {
		return fmt.Errorf("%s is moved by %d minutes; the limit is %d", e.Run, e.Minutes, MaxShift)
	}
	by := int64(e.Minutes)*60 - int64(s.Change(e.Run).Shift)
	known := map[ids.RunID]bool{}
	for _, m := range e.Runs {
		if was := s.runs[m.Was]; was == nil || was.key() != e.Run.Key() || !follows(&m, was, by) {
			return fmt.Errorf("%s is not moved by %d minutes from the times it was sold "+
				"with", e.Run, e.Minutes)
		}
		known[m.Was] = true
	}
	for _, o := range s.Riders(e.Run) {
		for _, l := range o.Ticket.Itinerary() {
			if l.Run.key() == e.Run.Key() && !known[l.Run.ID] {
				return fmt.Errorf("%s is moved without ticket %s", e.Run, o.Ticket.ID)
			}
		}
	}
	if !slices.EqualFunc(e.Tickets, s.informed(now, e.Run), func(x, y InformedTicket) bool {
		return x.ID == y.ID && x.Booking == y.Booking && x.Partner == y.Partner
	}) {
		return fmt.Errorf("%s is moved, but the tickets to be told are not those of the run", e.Run)
	}
	return nil
}

// follows reports whether a run that was sold may become this one where the run moves by so many seconds.
func follows(m *MovedRun, was *Run, by int64) bool {
	away := m.Start - (was.Start + by)
	if len(m.Offsets) != len(was.Form.Stops) || m.Aligned != (away != 0) || away > maxAligned ||
		away < -maxAligned {
		return false
	}
	return !slices.ContainsFunc(m.Offsets, func(ahead int32) bool {
		return ahead > maxOffset || ahead < -maxOffset
	})
}

// CheckRunRestored returns an error where the change of a run may not be taken back.
func (s *State) CheckRunRestored(_ time.Time, e *RunRestored) error {
	if err := s.mayRestore(e.Run); err != nil {
		return fmt.Errorf("%s: %w", e.Run, err)
	}
	return nil
}

// rides reports whether the ticket has a ride on a run.
func (t *Ticket) rides(run ids.RunName) bool {
	key := run.Key()
	return slices.ContainsFunc(t.Itinerary(), func(l Leg) bool {
		return l.Run.key() == key
	})
}
