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
	Paid, Canceled, Refunded    Phase = "Paid", "Canceled", "Refunded"
)

// statuses are what the status of a ticket says in each phase.
var statuses = map[Phase]string{Unpaid: "Processing", Uncompleted: "Uncompleted", Booked: "Confirmed",
	Paid: "Confirmed", Canceled: "Canceled", Refunded: "Refund"}

// An Act leads tickets from phases to phases. In any other phase it is a conflict (409 conditions).
type Act struct {
	leads map[Phase]Phase
	do    func(t *Ticket, next Phase, now time.Time)
}

var (
	pay  = Act{map[Phase]Phase{Unpaid: Paid, Uncompleted: Paid, Booked: Paid}, settle}
	book = Act{map[Phase]Phase{Unpaid: Booked, Uncompleted: Booked}, settle}
)

func settle(t *Ticket, next Phase, _ time.Time) {
	t.phase, t.payment, t.revived = next, string(next), false
}

// acting does something to the tickets that the body names, or to all of the booking (rule 1). ticketIds
// goes before orderIds. A ticket that is not of this booking is 404 (rule 2).
func (s *Server) acting(act Act) func(*Request) answer {
	return func(r *Request) answer {
		booking, subset := s.ownBooking(r), struct{ TicketIDs, OrderIDs []string }{}
		r.body(false, &subset)
		r.want(subset.TicketIDs == nil || len(subset.TicketIDs) > 0, "ticketIds", "names none")
		r.want(subset.OrderIDs == nil || len(subset.OrderIDs) > 0, "orderIds", "names none")
		r.check()
		ids := subset.TicketIDs
		if ids == nil {
			ids = subset.OrderIDs
		}
		tickets := s.ownTickets(r, ids)
		isOther := func(t *Ticket) bool { return t.booking != booking }
		refuseIf(slices.ContainsFunc(tickets, isOther), notFound)
		if ids == nil {
			tickets = booking.tickets
		}
		s.act(act, tickets, r.now)
		return ok(200, object{"booking": bookingView(booking, r.now)})
	}
}

// ownTickets are the caller's tickets of some ids, each once.
func (s *Server) ownTickets(r *Request, ids []string) []*Ticket {
	tickets := []*Ticket{}
	for _, id := range ids {
		if ticket := s.ownTicket(r, id); !slices.Contains(tickets, ticket) {
			tickets = append(tickets, ticket)
		}
	}
	return tickets
}

// act does something to all tickets, or to none: the conflict names those that are in the way (rule 3).
func (s *Server) act(act Act, tickets []*Ticket, now time.Time) {
	inTheWay := []string{}
	for _, ticket := range tickets {
		if act.leads[ticket.phaseAt(now)] == "" {
			inTheWay = append(inTheWay, ticket.id)
		}
	}
	refuseIf(len(inTheWay) > 0, conflict("STATE", object{"ordersIds": inTheWay}))
	if act.leads[Uncompleted] != Canceled {
		s.revive(tickets, now)
	}
	for _, ticket := range tickets {
		act.do(ticket, act.leads[ticket.phaseAt(now)], now)
		ticket.booking.updated = now
	}
}
