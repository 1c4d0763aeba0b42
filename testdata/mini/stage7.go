package main

import "time"

// Stage 7: tickets are canceled, and money comes back.

const graceTime = 20 * time.Minute // Limits: full-refund grace

var cancel = Act{Unpaid: Canceled, Uncompleted: Canceled, Booked: Canceled, Paid: Refund}

func cancelBooking(r *Request) answer { return r.actOnBooking(cancel) }

// giveBack refunds a paid ticket, unless it is of an external operator (States and transitions, Ticket).
func (r *Request) giveBack(t *Ticket) Phase {
	if t.journey[0].source() != ownSource {
		return Canceled
	}
	for i, ride := range t.rides {
		t.rides[i].refund = share(ride.price, r.percentBack(t, ride.Leg))
	}
	return Refund
}

// percentBack is all in the first 20 minutes, then what the first rule of a leg says whose hours are left.
// The hours of both legs count to the departure of the first.
func (r *Request) percentBack(t *Ticket, leg Leg) int {
	if r.now.Before(t.created.Add(graceTime)) {
		return 100_00
	}
	for _, rule := range leg.refundRules() {
		if t.departure().Sub(r.now).Hours() >= rule.number("hours") {
			return rule.hundredths("amount")
		}
	}
	return 0
}
