package booking

import (
	"fmt"
	"slices"
	"time"

	"waybill/schedule"
)

// What becomes of the state once a carrier has changed a run, and what verify holds against it.

// change replaces what was changed of a run.
func (s *State) change(run RunName, alter func(*RunChange)) {
	c := s.Change(run)
	alter(&c)
	s.RestoreChange(&c)
}

// ApplyRunCanceled cancels a run, and tickets of it.
func (s *State) ApplyRunCanceled(now time.Time, e *RunCanceled) {
	s.change(e.Run, func(c *RunChange) {
		c.Canceled = true
		c.Reason = e.Reason
		c.Tickets += len(e.Tickets)
	})
	renewed := map[ID]*Booking{}
	for _, x := range e.Tickets {
		if renewed[x.Booking] == nil {
			renewed[x.Booking] = s.renew(x.Booking, now)
		}
		t := renewed[x.Booking].find(x.ID)
		t.Was = t.Phase
		t.Phase = Canceled
		if x.Refunded {
			t.Phase = Refunded
			legs := t.Legs[:len(t.Itinerary())]
			for i := range legs {
				legs[i].Refund = legs[i].Amount
			}
		}
		delete(s.late, t.ID)
		delete(s.asks, t.ID)
		t.sit(nil, now)
	}
}

// ApplyRunMoved gives all tickets of a run its new times.
func (s *State) ApplyRunMoved(now time.Time, e *RunMoved) {
	s.change(e.Run, func(c *RunChange) {
		c.Shift = int32(e.Minutes) * 60
		c.Latest = max(c.Latest, c.Shift)
		c.Reason = e.Reason
	})
	became := map[*Run]*Run{}
	for _, m := range e.Runs {
		was := s.runs[m.Was]
		moved := NewRun(was.Form, was.Day, m.Start, m.Offsets)
		s.KnowRun(moved)
		became[was] = s.runs[moved.ID] // it may have been at that time before
	}
	for _, n := range s.bookingsOf(e.Run.key()) {
		was := s.bookings[n]
		b := s.renew(was.ID, now)
		for i := range b.Tickets {
			b.Tickets[i].moveTo(became, now)
		}
		s.relist(was, b)
	}
}

// moveTo gives a ticket's rides the runs that theirs became. It stays on its seats.
func (t *Ticket) moveTo(became map[*Run]*Run, now time.Time) {
	moved := false
	for i := range t.Legs[:len(t.Itinerary())] {
		l := &t.Legs[i]
		if became[l.Run] != nil {
			l.Run = became[l.Run]
			moved = true
		}
	}
	if moved && t.live(now) {
		t.sit(nil, now)
	}
}

// ApplyRunRestored takes back the last change of a run.
func (s *State) ApplyRunRestored(_ time.Time, e *RunRestored) {
	c := s.Change(e.Run)
	if c.Canceled {
		c.Canceled = false
		c.Reason = e.Reason
	} else {
		c = RunChange{}
	}
	if c.Change != (schedule.Change{}) {
		s.RestoreChange(&c)
		return
	}
	key := e.Run.key()
	delete(s.changes, key)
	if s.seatings[key] != nil {
		s.seatings[key].change = nil
	}
}

// CheckRunCanceled reports whether a run may be cancelled with these tickets.
func (s *State) CheckRunCanceled(now time.Time, e *RunCanceled) error {
	for _, x := range e.Tickets {
		b, t := s.AnyTicket(x.ID)
		switch {
		case t == nil || b.ID != x.Booking:
			return fmt.Errorf("there is no ticket %s of booking %s", x.ID, x.Booking)
		case t.Asked != 0 || !t.rides(e.Run):
			return fmt.Errorf("ticket %s has no seat on %s, or the provider is asked about it", x.ID, e.Run)
		}
		want, ok := s.withdrawn(now, b, t, false)
		if !ok || x.Refunded != want.Refunded || x.Refund != want.Refund {
			return fmt.Errorf("ticket %s: its run is cancelled, and %d come back of %d", x.ID, x.Refund, t.Price())
		}
	}
	return nil
}

// CheckRunMoved reports whether a run may be moved so, and that all that was sold of it is.
func (s *State) CheckRunMoved(_ time.Time, e *RunMoved) error {
	by := int64(e.Minutes)*60 - int64(s.Change(e.Run).Shift)
	known := map[RunID]bool{}
	for _, m := range e.Runs {
		was := s.runs[m.Was]
		if was == nil || was.key() != e.Run.key() || m.Start != was.Start+by ||
			len(m.Offsets) != len(was.Form.Stops) {
			return fmt.Errorf("%s is not moved by %d minutes as it was sold", e.Run, e.Minutes)
		}
		known[m.Was] = true
	}
	for _, o := range s.Riders(e.Run) {
		for _, l := range o.Ticket.Itinerary() {
			if l.Run.key() == e.Run.key() && !known[l.Run.ID] {
				return fmt.Errorf("%s is moved without ticket %s", e.Run, o.Ticket.ID)
			}
		}
	}
	return nil
}

// rides reports whether the ticket has a ride on a run.
func (t *Ticket) rides(run RunName) bool {
	key := run.key()
	return slices.ContainsFunc(t.Itinerary(), func(l Leg) bool {
		return l.Run.key() == key
	})
}
