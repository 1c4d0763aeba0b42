package booking

import (
	"errors"
	"slices"
	"time"
)

// Moved says that a ticket was put into another booking of its partner: the
// "internal edit" of the interface. New tells that the booking was made for it.
type Moved struct {
	Ticket ID   `json:"ticket"`
	From   ID   `json:"from"`
	To     ID   `json:"booking"`
	New    bool `json:"new"`
}

// CarrierSet says that the carrier gave a ticket a status of its own lifecycle.
type CarrierSet struct {
	Booking ID      `json:"booking"`
	Ticket  ID      `json:"ticket"`
	Status  Carrier `json:"status"`
}

// Move decides to put a ticket into another booking of the same partner; to is
// an existing one, or nil for a new one with the id fresh.
func (s *State) Move(ticket ID, to *ID, fresh ID) (*Moved, error) {
	b, t := s.ticket(ticket)
	switch {
	case b == nil:
		return nil, errors.New("there is no such ticket")
	case t.Asked != 0:
		return nil, errors.New("the provider has been asked to confirm the ticket; move it after the answer")
	case to == nil:
		return &Moved{ticket, b.ID, fresh, true}, nil
	case *to == b.ID:
		return nil, errors.New("the ticket is in that booking already")
	case s.Booking(b.Partner, *to) == nil:
		return nil, errors.New("the ticket's partner has no such booking")
	}
	return &Moved{ticket, b.ID, *to, false}, nil
}

// SetCarrier decides on a carrier status (contract §8).
func (s *State) SetCarrier(now time.Time, ticket ID, status Carrier) (*CarrierSet, error) {
	b, t := s.ticket(ticket)
	if b == nil {
		return nil, errors.New("there is no such ticket")
	}
	if phase := t.PhaseAt(now); phase != Unpaid && phase != Booked && phase != Paid {
		status, payment := t.Status(now)
		return nil, errors.New("the ticket is " + status + "/" + payment + "; only one that is Unpaid, Booked or Paid has a carrier status")
	}
	return &CarrierSet{b.ID, ticket, status}, nil
}

func (s *State) ApplyMoved(now time.Time, e *Moved) {
	from := *s.bookings[s.byID[e.From]]
	t := *from.find(e.Ticket)
	from.Tickets = slices.DeleteFunc(slices.Clone(from.Tickets), func(t Ticket) bool { return t.ID == e.Ticket })
	from.Updated = now.UnixMilli()
	to := Booking{ID: e.To, Partner: from.Partner, Number: uint32(len(s.bookings)), Created: now.UnixMilli()}
	if !e.New {
		to = *s.bookings[s.byID[e.To]]
	}
	to.Tickets = append(slices.Clone(to.Tickets), t)
	to.Updated = now.UnixMilli()
	s.byTicket[t.ID] = to.Number
	s.put(&to)
	s.put(&from)
}

func (s *State) ApplyCarrierSet(now time.Time, e *CarrierSet) {
	s.change(now, e.Booking, []ID{e.Ticket}, func(_ int, t *Ticket) { t.Carrier = e.Status })
}
