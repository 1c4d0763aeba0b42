package main

import "time"

// Stage 7: tickets are canceled, and money comes back.

const graceTime = 20 * time.Minute // Limits: full-refund grace

var cancel = Act{Unpaid: Canceled, Uncompleted: Canceled, Booked: Canceled, Paid: Refund}

// giveBack refunds a paid ticket, unless it is of an external operator (States and transitions, Ticket).
func (t *Ticket) giveBack(now time.Time) Phase {
	if t.journey[0].source() != ownSource {
		return Canceled
	}
	for i, ride := range t.rides {
		t.rides[i].refund = share(ride.price, t.percentBack(ride.Leg, now))
	}
	return Refund
}

// percentBack is all in the first 20 minutes, and then what the first rule of a leg says whose hours are left.
// The hours of both legs count to the departure of the first.
func (t *Ticket) percentBack(leg Leg, now time.Time) int {
	if now.Before(t.created.Add(graceTime)) {
		return 100_00
	}
	for _, rule := range leg.refundRules() {
		if t.journey.departure().Sub(now).Hours() >= rule.number("hours") {
			return rule.hundredths("amount")
		}
	}
	return 0
}
