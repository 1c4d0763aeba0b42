package ledger

import (
	"fmt"
	"time"

	"waybill/schedule/ids"
	"waybill/store/journal"
)

// PersonalErased says that names, e-mail addresses and phones were erased from earlier lines. A line's
// personal part is erased as a whole: all passengers of a booking are forgotten together.
type PersonalErased struct {
	Lines      []uint64          `json:"lines"`
	Reason     string            `json:"reason"`
	Passengers []ErasedPassenger `json:"passengers,omitempty"`
	Reports    []ids.ID          `json:"reports"` // reports whose files have the names, and are written anew
}

// ErasedPassenger is the passenger of a ticket, and the ticket's booking and partner then.
type ErasedPassenger struct {
	Partner ids.ID `json:"partner"`
	Booking ids.ID `json:"booking"`
	Ticket  ids.ID `json:"ticket"`
}

// PassengersForgotten says that some passengers are forgotten. A large erasure writes such lines before its
// [PersonalErased], which names the lines that lose their personal part, so that none holds the lock for
// long.
type PassengersForgotten struct {
	Reason     string            `json:"reason"`
	Passengers []ErasedPassenger `json:"passengers"`
}

// AllTickets returns the tickets whose passengers are forgotten.
func (e *PersonalErased) AllTickets() []ids.ID {
	return ticketsOf(e.Passengers)
}

// AllTickets returns the tickets whose passengers are forgotten.
func (e *PassengersForgotten) AllTickets() []ids.ID {
	return ticketsOf(e.Passengers)
}

// ticketsOf returns the tickets of passengers.
func ticketsOf(list []ErasedPassenger) []ids.ID {
	var ids []ids.ID
	for _, p := range list {
		ids = append(ids, p.Ticket)
	}
	return ids
}

// applyPersonalErased forgets passengers, and what was made of their names, and queues the reports that named
// them.
func applyPersonalErased(s State, at journal.Stamp, e *PersonalErased) error {
	if err := s.areThere(e.Passengers); err != nil {
		return err
	}
	if err := s.inner.reports.Requeue(e.Reports); err != nil {
		return err
	}
	s.KeyedRequests.erase(e.Lines)
	s.inner.reports.Erase(e.Lines)
	return s.forget(at.Time, e.AllTickets())
}

// applyForgotten forgets passengers.
func applyForgotten(s State, at journal.Stamp, e *PassengersForgotten) error {
	if err := s.areThere(e.Passengers); err != nil {
		return err
	}
	return s.forget(at.Time, e.AllTickets())
}

// areThere returns an error where a passenger is of no ticket of that booking and partner.
func (s State) areThere(list []ErasedPassenger) error {
	for _, p := range list {
		if b, _ := s.Bookings.AnyTicket(p.Ticket); b == nil || b.ID != p.Booking || b.Partner != p.Partner {
			return fmt.Errorf("partner %s has no ticket %s of booking %s", p.Partner, p.Ticket, p.Booking)
		}
	}
	return nil
}

// forget forgets the passengers of tickets, and the messages to them.
func (s State) forget(now time.Time, tickets []ids.ID) error {
	if err := s.inner.bookings.Forget(now, tickets); err != nil {
		return err
	}
	for _, id := range tickets {
		s.Outbox.erase(now, id)
	}
	return nil
}

// ToForget returns the tickets whose passengers are not forgotten yet, with their bookings and partners.
func (s State) ToForget(tickets []ids.ID) []ErasedPassenger {
	var list []ErasedPassenger
	for _, id := range tickets {
		b, t := s.Bookings.AnyTicket(id)
		if t != nil && !t.Passenger.Forgotten() {
			list = append(list, ErasedPassenger{b.Partner, b.ID, id})
		}
	}
	return list
}
