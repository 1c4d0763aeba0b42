package booking

import (
	"errors"
	"slices"
	"time"

	"waybill/schedule"
)

// ErrNotFound is the reason why not for an unknown booking or ticket, and for
// one of another partner or booking.
var ErrNotFound = errors.New("not found")

// Conflict is the reason why not for tickets whose state, or lack of a seat, does not allow an action.
type Conflict struct {
	Tickets []ID
	Reason  string
}

func (e *Conflict) Error() string { return e.Reason }

// Settled is what a ticket is to be, or was, paid or booked with. Seats, by leg, are given when
// it is revived; else they stay what they were.
type Settled struct {
	Booking ID      `json:"booking"`
	Ticket  ID      `json:"ticket"`
	Seats   []int16 `json:"seats,omitempty"`
	Request string  `json:"request"`
}

// TicketPaid says that a ticket was paid.
type TicketPaid struct{ Settled }

// TicketBooked says that a ticket was booked.
type TicketBooked struct{ Settled }

// By gives the event of an action that is done.
func (e *Settled) By(action Action) any {
	if action == Book {
		return &TicketBooked{*e}
	}
	return &TicketPaid{*e}
}

// Asked says that the provider is about to be asked to confirm a ticket. Until
// the answer the ticket keeps its seat, whatever its window.
type Asked struct {
	Settled        // what is asked for
	Action  Action `json:"action"` // Pay or Book
	Key     ID     `json:"key"`    // the idempotency id
}

// Refused says that the provider did not confirm: the ticket is as it was before it was asked.
type Refused struct {
	Booking ID     `json:"booking"`
	Ticket  ID     `json:"ticket"`
	Action  Action `json:"action"`
	Request string `json:"request"`
}

// TicketsCanceled says that tickets of a booking were canceled or refunded.
type TicketsCanceled struct {
	Booking ID               `json:"booking"`
	Request string           `json:"request"`
	Tickets []CanceledTicket `json:"tickets"`
}

// CanceledTicket is one of them. Terms, one per leg, say how a refund came about.
type CanceledTicket struct {
	ID       ID     `json:"id"`
	Refunded bool   `json:"refunded"`
	Refund   int64  `json:"refund"` // minor units
	Grace    bool   `json:"grace"`  // within the grace: all of it, whatever the rules
	Terms    []Term `json:"terms"`
}

// Term is the refund rule that applied to a leg; without one nothing comes back.
type Term struct {
	Rule    string `json:"rule"`    // "" is none
	Percent int64  `json:"percent"` // hundredths of a per cent
	Refund  int64  `json:"refund"`  // minor units
}

// target finds the tickets an action is for: those named, or all of the booking.
func (s *State) target(partner, booking ID, ids []ID, action Action, now time.Time) (*Booking, []*Ticket, error) {
	b := s.Booking(partner, booking)
	if b == nil {
		return nil, nil, ErrNotFound
	}
	var tickets []*Ticket
	for _, id := range ids {
		t := b.find(id)
		if t == nil {
			return nil, nil, ErrNotFound
		}
		if !slices.Contains(tickets, t) {
			tickets = append(tickets, t)
		}
	}
	if ids == nil {
		for i := range b.Tickets {
			tickets = append(tickets, &b.Tickets[i])
		}
	}
	conflict := &Conflict{Reason: "the state of these tickets does not allow to " + action.String() + " them"}
	for _, t := range tickets {
		if _, ok := next(t.PhaseAt(now), action, t.Source()); !ok || t.Asked != 0 {
			conflict.Tickets = append(conflict.Tickets, t.ID)
		}
	}
	if conflict.Tickets != nil {
		return nil, nil, conflict
	}
	return b, tickets, nil
}

// Settle decides to pay or book tickets of a booking, all of it where ids is
// nil: an event for each. All seats that are needed are found before anything
// happens. Errors: ErrNotFound, *Conflict.
func (s *State) Settle(now time.Time, tt *schedule.Timetable, partner, booking ID, ids []ID, action Action, request string) ([]*Settled, error) {
	b, tickets, err := s.target(partner, booking, ids, action, now)
	if err != nil {
		return nil, err
	}
	var list []*Settled
	var picked []pick
	conflict := &Conflict{Reason: "no seat is left for these tickets"}
	for _, t := range tickets {
		list = append(list, &Settled{Booking: b.ID, Ticket: t.ID, Request: request})
	}
	// Those whose own seat is free come first, or a sibling might get it.
	for _, other := range []bool{false, true} {
		for i, t := range tickets {
			if t.PhaseAt(now) == Uncompleted && list[i].Seats == nil {
				list[i].Seats = s.reseat(tt, t, other, &picked, now)
			}
		}
	}
	for i, t := range tickets {
		if t.PhaseAt(now) == Uncompleted && list[i].Seats == nil {
			conflict.Tickets = append(conflict.Tickets, t.ID)
		}
	}
	if conflict.Tickets != nil {
		return nil, conflict
	}
	return list, nil
}

// Answer decides what follows from the provider's answer about a ticket: the
// event that it is paid or booked, as was asked for, or refused.
func (s *State) Answer(ticket ID, confirmed bool) (event any, err error) {
	b, t := s.ticket(ticket)
	if b == nil || t.Asked == 0 {
		return nil, ErrNotFound
	}
	request := s.asks[ticket].Request
	if !confirmed {
		return &Refused{b.ID, ticket, t.Asked, request}, nil
	}
	return (&Settled{Booking: b.ID, Ticket: ticket, Request: request}).By(t.Asked), nil
}

// Cancel decides to cancel tickets of a booking, all of it where ids is nil.
// Errors: ErrNotFound, *Conflict.
func (s *State) Cancel(now time.Time, partner, booking ID, ids []ID, request string) (*TicketsCanceled, error) {
	b, tickets, err := s.target(partner, booking, ids, Cancel, now)
	if err != nil {
		return nil, err
	}
	e := &TicketsCanceled{Booking: b.ID, Request: request}
	for _, t := range tickets {
		c := CanceledTicket{ID: t.ID}
		if to, _ := next(t.PhaseAt(now), Cancel, t.Source()); to == Refunded {
			c.Refunded = true
			c.refund(t, now)
		}
		e.Tickets = append(e.Tickets, c)
	}
	return e, nil
}

// refund works out what comes back: all of it within the grace, else for each
// leg the share that its own rules give, with the hours counted to the first departure.
func (c *CanceledTicket) refund(t *Ticket, now time.Time) {
	if now.Sub(time.UnixMilli(t.Created)) < Grace {
		c.Grace, c.Refund = true, t.Price()
		return
	}
	for _, l := range t.Itinerary() {
		var term Term
		for _, r := range l.Run.Form.Rules { // the longest time first
			if t.Departure().Sub(now) >= time.Duration(r.Hours)*time.Hour {
				term = Term{r.ID, r.Percent, schedule.Percent(l.Amount, r.Percent)}
				break
			}
		}
		c.Terms = append(c.Terms, term)
		c.Refund += term.Refund
	}
}

// change replaces a booking by a copy with the tickets changed.
func (s *State) change(now time.Time, booking ID, ids []ID, f func(i int, t *Ticket)) {
	n := *s.bookings[s.byID[booking]]
	n.Tickets = slices.Clone(n.Tickets)
	n.Updated = now.UnixMilli()
	for i, id := range ids {
		t := n.find(id)
		f(i, t)
		s.hold(t, now)
	}
	s.put(&n)
}

func (s *State) ApplyPaid(now time.Time, e *TicketPaid) { s.settle(now, &e.Settled, Pay) }

func (s *State) ApplyBooked(now time.Time, e *TicketBooked) { s.settle(now, &e.Settled, Book) }

func (s *State) settle(now time.Time, e *Settled, action Action) {
	delete(s.asks, e.Ticket)
	s.change(now, e.Booking, []ID{e.Ticket}, func(_ int, t *Ticket) {
		t.Phase, _ = next(t.Phase, action, t.Source())
		t.Carrier, t.Asked = 0, 0
		t.sit(e.Seats)
	})
}

func (s *State) ApplyAsked(now time.Time, e *Asked) {
	s.asks[e.Ticket] = Ask{e.Key, e.Request}
	s.change(now, e.Booking, []ID{e.Ticket}, func(_ int, t *Ticket) {
		t.Asked = e.Action
		t.sit(e.Seats)
	})
}

func (s *State) ApplyRefused(now time.Time, e *Refused) {
	delete(s.asks, e.Ticket)
	s.change(now, e.Booking, []ID{e.Ticket}, func(_ int, t *Ticket) { t.Asked = 0 })
}

func (t *Ticket) sit(seats []int16) {
	for i, seat := range seats {
		t.Legs[i].Seat = seat
	}
}

func (s *State) ApplyCanceled(now time.Time, e *TicketsCanceled) {
	var ids []ID
	for i := range e.Tickets {
		ids = append(ids, e.Tickets[i].ID)
	}
	s.change(now, e.Booking, ids, func(i int, t *Ticket) {
		t.Was, t.Phase = t.Phase, Canceled
		if e.Tickets[i].Refunded {
			t.Phase, t.Refund = Refunded, e.Tickets[i].Refund
		}
	})
}
