package main

import "slices"

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

func payBooking(r *Request) answer  { return r.actOnBooking(pay) }
func bookBooking(r *Request) answer { return r.actOnBooking(book) }

// actOnBooking does something to the tickets that the body names, or to all of the booking (POST
// /v2/bookings/{id}/pay, rule 1). One that is not of this booking is 404 (rule 2).
func (r *Request) actOnBooking(act Act) answer {
	booking, subset := r.booking(), struct{ TicketIDs, OrderIDs []string }{}
	if r.ContentLength != 0 {
		r.body(&subset)
	}
	ids, tickets := subset.TicketIDs, booking.tickets
	if ids == nil {
		ids = subset.OrderIDs
	}
	r.want(ids == nil || len(ids) > 0, "ticketIds", "is empty")
	r.check()
	if ids != nil {
		tickets = chosen(booking.tickets, ids)
	}
	r.act(act, tickets)
	return ok(object{"booking": r.bookingView(booking)})
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
func (r *Request) act(act Act, tickets []*Ticket) {
	barred := where(tickets, func(t *Ticket) bool { return act[r.phase(t)] == "" })
	refuseIf(barred != nil, conflict("STATE", object{"ordersIds": idsOf(barred)}))
	if act[Uncompleted] != Canceled {
		r.revive(tickets)
	}
	for _, ticket := range tickets {
		next := act[r.phase(ticket)]
		switch next {
		case Paid, Booked:
			ticket.payment = next
		case Refund:
			next = r.giveBack(ticket)
		}
		ticket.phase, ticket.updated = next, r.now
	}
}

func idsOf(tickets []*Ticket) (ids []string) {
	for _, ticket := range tickets {
		ids = append(ids, ticket.id)
	}
	return ids
}
