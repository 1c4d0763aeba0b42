package booking

import (
	"fmt"
	"time"
)

// CheckCreated tells whether a seat of a new booking belongs to somebody else
// at that instant, in the state before the event. It does not use what Create used to decide.
func (s *State) CheckCreated(now time.Time, e *Created) error {
	for k, l := range e.Legs {
		seen := map[int16]ID{}
		for _, t := range e.Tickets {
			if other, ok := seen[t.Seats[k]]; ok {
				return fmt.Errorf("tickets %s and %s were sold the same seat %d", other, t.ID, t.Seats[k])
			}
			seen[t.Seats[k]] = t.ID
			if run := s.runs[l.Run]; run != nil {
				if others := s.overlapping(t.ID, run, l.From, l.To, t.Seats[k], false, now); others != nil {
					return fmt.Errorf("ticket %s was sold seat %d, which ticket %s has", t.ID, t.Seats[k], others[0])
				}
			}
		}
	}
	return nil
}

// CheckReseated does the same for a ticket that was revived.
func (s *State) CheckReseated(now time.Time, e *Settled) error {
	b, t := s.ticket(e.Ticket)
	if b == nil {
		return fmt.Errorf("there is no ticket %s", e.Ticket)
	}
	for i, l := range t.Itinerary()[:min(len(e.Seats), len(t.Itinerary()))] {
		if others := s.overlapping(e.Ticket, l.Run, l.From, l.To, e.Seats[i], false, now); others != nil {
			return fmt.Errorf("ticket %s was revived on seat %d, which ticket %s has", e.Ticket, e.Seats[i], others[0])
		}
	}
	return nil
}

// Audit checks the books at an instant: no seat is sold twice on overlapping
// parts of a run, no refund is above what was paid, and every ticket is in exactly one booking.
func (s *State) Audit(now time.Time) error {
	seen := map[ID]ID{}
	for _, b := range s.bookings {
		if b == nil {
			continue
		}
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if other, ok := seen[t.ID]; ok {
				return fmt.Errorf("ticket %s is in the bookings %s and %s", t.ID, other, b.ID)
			}
			seen[t.ID] = b.ID
			if n, ok := s.byTicket[t.ID]; !ok || n != b.Number {
				return fmt.Errorf("ticket %s is in booking %s, but is not found there", t.ID, b.ID)
			}
			if t.Refund > t.Price() || t.Refund < 0 || t.Refund > 0 && t.Phase != Refunded {
				return fmt.Errorf("ticket %s was refunded %d of %d", t.ID, t.Refund, t.Price())
			}
			if err := s.auditSeats(t, now); err != nil {
				return err
			}
		}
	}
	if len(seen) != len(s.byTicket) {
		return fmt.Errorf("%d tickets are in bookings, %d are known", len(seen), len(s.byTicket))
	}
	return nil
}

func (s *State) auditSeats(t *Ticket, now time.Time) error {
	phase := t.PhaseAt(now)
	if phase == Canceled || phase == Refunded || phase == Uncompleted {
		return nil
	}
	for _, l := range t.Itinerary() {
		if others := s.overlapping(t.ID, l.Run, l.From, l.To, l.Seat, true, now); others != nil {
			return fmt.Errorf("seat %d of trip %s on %s is sold to the tickets %s and %s", l.Seat, l.Run.Form.Trip, l.Run.Day, t.ID, others[0])
		}
	}
	return nil
}
