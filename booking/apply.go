package booking

import (
	"fmt"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// How events of tickets change the state. What an event names must be there: the error says what is not, and
// nothing is changed then. Those of runs are in changed.go.

// Line is the journal line of an event.
type Line struct {
	Seq  uint64
	Time time.Time
}

// twice is the error of an event that makes what is there already.
func twice(what string, id any) error {
	return fmt.Errorf("%s %v already exists: an earlier line has it", what, id)
}

// renew returns a booking that an event is about to change. put keeps it.
func (s *State) renew(id ids.ID, at Line) (*Booking, error) {
	b := s.Any(id)
	if b == nil {
		return nil, ids.Unknown("booking", id)
	}
	b.renewed(at)
	return b, nil
}

// renewed notes the line that changes the booking.
func (b *Booking) renewed(at Line) {
	b.Updated = at.Time.UnixMilli()
	b.Line = at.Seq
}

// renewTicket returns a booking that an event is about to change, and its ticket that the event names.
func (s *State) renewTicket(id, ticket ids.ID, at Line) (*Booking, *Ticket, error) {
	b, err := s.renew(id, at)
	if err != nil {
		return nil, nil, err
	}
	t := b.find(ticket)
	if t == nil {
		return nil, nil, noTicketIn(b, ticket)
	}
	return b, t, nil
}

// noTicketIn is the error of an event that names a ticket which its booking does not have.
func noTicketIn(b *Booking, ticket ids.ID) error {
	return ids.Unknown("ticket", fmt.Sprintf("%s of booking %s", ticket, b.ID))
}

// ApplyCreated adds a booking, and the runs that are sold for the first time.
func (s Recorder) ApplyCreated(at Line, e *Created) error {
	if err := s.mayAdd(e); err != nil {
		return err
	}
	for _, r := range e.Runs {
		s.KnowRun(r)
	}
	b := &s.fresh
	s.sell(b, at.Time, e)
	b.Line = at.Seq
	s.add(b, at.Time)
	clear(b.Tickets) // no name stays there
	return nil
}

// mayAdd returns an error where a new booking names what is not there, or has an id that is.
func (s *State) mayAdd(e *Created) error {
	if s.Any(e.ID) != nil {
		return twice("booking", e.ID)
	}
	for _, f := range e.Forms {
		if s.forms[f.Key()] != nil {
			return twice("form", f.Key())
		}
	}
	var fresh map[ids.RunID]*Run // hardly ever are there any
	for _, r := range e.Runs {
		if s.runs[r.ID] != nil || fresh[r.ID] != nil {
			return twice("run", r.ID)
		}
		if fresh == nil {
			fresh = map[ids.RunID]*Run{}
		}
		fresh[r.ID] = r
	}
	if n := len(e.Legs); n < 1 || n > len(Ticket{}.Legs) {
		return fmt.Errorf("booking %s has %d legs", e.ID, n)
	}
	for _, l := range e.Legs {
		run := s.runs[l.Run]
		if run == nil {
			run = fresh[l.Run]
		}
		if run == nil {
			return ids.Unknown("run", l.Run)
		}
		if err := l.fits(run.Form); err != nil {
			return err
		}
	}
	for i, t := range e.Tickets {
		if len(t.Seats) != len(e.Legs) {
			return fmt.Errorf("ticket %s has %d seats for %d legs", t.ID, len(t.Seats), len(e.Legs))
		}
		if _, known := s.AnyTicket(t.ID); known != nil {
			return twice("ticket", t.ID)
		}
		for _, other := range e.Tickets[:i] {
			if other.ID == t.ID {
				return twice("ticket", t.ID)
			}
		}
	}
	if len(e.Tickets) == 0 {
		return fmt.Errorf("booking %s has no ticket", e.ID)
	}
	return nil
}

// fits returns an error where a leg is no ride on a run of a form.
func (l *SoldLeg) fits(form *schedule.Form) error {
	stops := len(form.Stops)
	if l.From < 0 || l.To <= l.From || int(l.To) >= stops {
		return fmt.Errorf("run %s has %d stops, but no ride from %d to %d", l.Run, stops, l.From, l.To)
	}
	if l.Discount < -1 || int(l.Discount) >= len(form.Discounts) {
		return fmt.Errorf("run %s has no discount %d", l.Run, l.Discount)
	}
	return nil
}

// Sold returns a booking as an event makes it at an instant, without later changes. Its runs are known, or
// among those of the event.
func (s *State) Sold(now time.Time, e *Created) *Booking {
	b := new(Booking)
	s.sell(b, now, e)
	return b
}

// sell fills a booking as Sold returns it. The room of its tickets is used again.
func (s *State) sell(b *Booking, now time.Time, e *Created) {
	ms := now.UnixMilli()
	*b = Booking{
		ID:      e.ID,
		Partner: e.Partner,
		Created: ms,
		Updated: ms,
		Tickets: slices.Grow(b.Tickets[:0], len(e.Tickets))[:len(e.Tickets)],
	}
	clear(b.Tickets)
	for i := range e.Tickets {
		n := &e.Tickets[i]
		t := &b.Tickets[i]
		t.ID = n.ID
		t.Created = ms
		if i < len(e.Passengers) {
			t.Passenger = e.Passengers[i]
		}
		copy(t.Currency[:], e.Currency)
		for k, l := range e.Legs {
			t.Legs[k] = Leg{e.RunOf(k, s), l.From, l.To, n.Seats[k], l.Discount, l.Amount, 0}
		}
	}
}

// ApplyPaid makes a ticket paid.
func (s Recorder) ApplyPaid(at Line, e *TicketPaid) error {
	return s.settle(at, &e.Settled, Pay)
}

// ApplyBooked makes a ticket booked.
func (s Recorder) ApplyBooked(at Line, e *TicketBooked) error {
	return s.settle(at, &e.Settled, Book)
}

func (s Recorder) settle(at Line, e *Settled, action Action) error {
	b, t, err := s.reseated(at, e)
	if err != nil {
		return err
	}
	t.Phase, _ = t.next(action, at.Time)
	t.Carrier = 0
	t.Pending = 0
	delete(s.asks, t.ID)
	delete(s.late, t.ID)
	t.sit(e.Seats, at.Time)
	s.put(b)
	return nil
}

// reseated returns a ticket that is settled or asked about, and its booking. The seats that it is given must
// be one a leg.
func (s *State) reseated(at Line, e *Settled) (*Booking, *Ticket, error) {
	b, t, err := s.renewTicket(e.Booking, e.Ticket, at)
	if err != nil {
		return nil, nil, err
	}
	if n := len(e.Seats); n > 0 && n != len(t.Itinerary()) {
		return nil, nil, fmt.Errorf("ticket %s gets %d seats for %d legs", t.ID, n, len(t.Itinerary()))
	}
	return b, t, nil
}

// ApplyAsked makes a ticket pending: until the answer it keeps its seat, and nothing else can be done with
// it.
func (s Recorder) ApplyAsked(at Line, e *TicketAsked) error {
	b, t, err := s.reseated(at, &e.Settled)
	if err != nil {
		return err
	}
	t.Pending = e.Action
	s.asks[t.ID] = Ask{e.Key, e.Action, e.Request}
	t.sit(e.Seats, at.Time)
	s.put(b)
	return nil
}

// ApplyRefused makes a ticket as it was before the provider was asked.
func (s Recorder) ApplyRefused(at Line, e *Refused) error {
	b, t, err := s.renewTicket(e.Booking, e.Ticket, at)
	if err != nil {
		return err
	}
	t.Pending = 0
	if !e.Unknown {
		delete(s.asks, t.ID)
	}
	t.sit(nil, at.Time)
	s.put(b)
	return nil
}

// end cancels or refunds a ticket. A line that somebody has forged may end it again: its phase before the
// first end is kept, as the books count by it what was paid.
func (t *Ticket) end(refunded bool) {
	if t.Phase != Canceled && t.Phase != Refunded {
		t.Was = t.Phase
	}
	t.Phase = Canceled
	if refunded {
		t.Phase = Refunded
	}
}

// ApplyCanceled cancels or refunds tickets, whose seats are free again.
func (s Recorder) ApplyCanceled(at Line, e *TicketsCanceled) error {
	b, err := s.renew(e.Booking, at)
	if err != nil {
		return err
	}
	for _, c := range e.Tickets {
		if b.find(c.ID) == nil {
			return noTicketIn(b, c.ID)
		}
	}
	for _, c := range e.Tickets {
		t := b.find(c.ID)
		t.end(c.Refunded)
		delete(s.late, t.ID)
		delete(s.asks, t.ID)
		if c.Refunded {
			c.share(t)
		}
		t.sit(nil, at.Time)
	}
	s.put(b)
	return nil
}

// ApplyUncompleted remembers that it is noted that the window of tickets was over. Time did it, and nobody
// else, so the booking's Updated stays.
func (s Recorder) ApplyUncompleted(at Line, e *TicketsUncompleted) error {
	b := s.Any(e.Booking)
	if b == nil {
		return ids.Unknown("booking", e.Booking)
	}
	b.Line = at.Seq
	for _, x := range e.Tickets {
		t := b.find(x.ID)
		if t == nil {
			return noTicketIn(b, x.ID)
		}
		t.Noticed = true
	}
	for _, x := range e.Tickets {
		delete(s.late, x.ID)
	}
	s.put(b)
	return nil
}

// ApplyCarrierSet sets the carrier's status of a ticket.
func (s Recorder) ApplyCarrierSet(at Line, e *CarrierSet) error {
	b, t, err := s.renewTicket(e.Booking, e.Ticket, at)
	if err != nil {
		return err
	}
	t.Carrier = e.Status
	s.put(b)
	return nil
}

// ApplyMoved moves a ticket to another booking.
func (s Recorder) ApplyMoved(at Line, e *Moved) error {
	from, t, err := s.renewTicket(e.From, e.Ticket, at)
	if err != nil {
		return err
	}
	if e.To == e.From {
		return fmt.Errorf("ticket %s is moved into booking %s, where it already is", e.Ticket, e.To)
	}
	if e.New && s.Any(e.To) != nil {
		return twice("booking", e.To)
	}
	if e.New {
		s.add(&Booking{
			ID:      e.To,
			Partner: from.Partner,
			Created: at.Time.UnixMilli(),
		}, at.Time)
	}
	to, err := s.renew(e.To, at)
	if err != nil {
		return err
	}
	s.moveTicket(*t, from, to)
	return nil
}

// moveTicket takes a ticket out of one booking and puts it into another.
func (s Recorder) moveTicket(t Ticket, from, to *Booking) {
	fromWas := s.Any(from.ID)
	toWas := s.Any(to.ID)
	from.Tickets = slices.DeleteFunc(from.Tickets, func(x Ticket) bool {
		return x.ID == t.ID
	})
	to.Tickets = append(to.Tickets, t)
	from.leave(&t)
	for _, l := range t.Itinerary() {
		l.Run.seats.addBooking(to.number)
	}
	s.relist(fromWas, from)
	s.relist(toWas, to)
	s.byTicket.Replace(t.ID, from.number, to.number)
	s.keepLate(to, &t)
	s.put(to)
	if len(from.Tickets) > 0 {
		s.put(from)
		return
	}
	s.packed.Set(int(from.number), "")
	s.byID.Remove(from.ID, from.number)
}
