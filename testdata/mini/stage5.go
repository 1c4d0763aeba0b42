package main

import (
	"slices"
	"time"
)

// Stage 5: tickets are paid and booked.

// A Phase is where a ticket stands (States and transitions, Ticket).
type Phase string

const (
	Unpaid, Uncompleted, Booked Phase = "Unpaid", "Uncompleted", "Booked"
	Paid, Canceled, Refund      Phase = "Paid", "Canceled", "Refund"
)

// statuses are what the status of a ticket says in each phase (Ticket: status).
var statuses = map[Phase]string{Unpaid: "Processing", Uncompleted: "Uncompleted", Booked: "Confirmed",
	Paid: "Confirmed", Canceled: "Canceled", Refund: "Refund"}

// An Act leads tickets from phases to phases. In any other phase it is a conflict (409 conditions).
type Act map[Phase]Phase

var (
	pay  = Act{Unpaid: Paid, Uncompleted: Paid, Booked: Paid}
	book = Act{Unpaid: Booked, Uncompleted: Booked}
)

// acting is POST /v2/bookings/{id}/pay, /book, /cancel. It does something to the tickets that the body names,
// or to all of the booking (rule 1). One that is not of this booking is 404 (rule 2).
func (s *Server) acting(act Act) func(*Request) answer {
	return func(r *Request) answer {
		booking, subset := s.booking(r), struct{ TicketIDs, OrderIDs []string }{}
		if r.ContentLength != 0 {
			r.body(&subset)
		}
		ids, tickets := subset.TicketIDs, booking.tickets
		if ids == nil {
			ids = subset.OrderIDs
		}
		r.want(ids == nil || len(ids) > 0, "ticketIds", "names none")
		r.check()
		if ids != nil {
			tickets = chosen(booking.tickets, ids)
		}
		s.act(act, tickets, r.now)
		return ok(200, object{"booking": bookingView(booking, r.now)})
	}
}

// chosen are the tickets of some ids, each once.
func chosen(tickets []*Ticket, ids []string) (some []*Ticket) {
	for _, id := range ids {
		ticket := find(tickets, func(t *Ticket) bool { return t.id == id })
		if !slices.Contains(some, ticket) {
			some = append(some, ticket)
		}
	}
	return some
}

// act does something to all tickets, or to none: the conflict names those that are in the way (rule 3).
func (s *Server) act(act Act, tickets []*Ticket, now time.Time) {
	barred := where(tickets, func(t *Ticket) bool { return act[t.phaseAt(now)] == "" })
	refuseIf(barred != nil, conflict("STATE", object{"ordersIds": idsOf(barred)}))
	if act[Uncompleted] != Canceled {
		seatless := s.seatless(tickets, now)
		refuseIf(seatless != nil, conflict("NO_SEATS", object{"ordersIds": idsOf(seatless)}))
	}
	for _, ticket := range tickets {
		next := act[ticket.phaseAt(now)]
		switch next {
		case Paid, Booked:
			s.takeSeats(ticket, now)
			ticket.payment = next
		case Refund:
			next = ticket.giveBack(now)
		}
		ticket.phase, ticket.updated = next, now
	}
}

func idsOf(tickets []*Ticket) (ids []string) {
	for _, ticket := range tickets {
		ids = append(ids, ticket.id)
	}
	return ids
}
