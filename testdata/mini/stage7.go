package main

import (
	"slices"
	"time"
)

// Stage 7: tickets are canceled, and money comes back.

const graceTime = 20 * time.Minute // Limits: full-refund grace

var cancel = Act{map[Phase]Phase{Unpaid: Canceled, Uncompleted: Canceled, Booked: Canceled, Paid: Refunded},
	giveBack}

// giveBack cancels a ticket. Only one that was paid for the service's own source is refunded.
func giveBack(t *Ticket, next Phase, now time.Time) {
	if t.phase = next; next == Refunded && t.journey[0].source() != ownSource {
		t.phase = Canceled
	}
	if t.phase == Refunded {
		t.refund = money(t.refundAt(now))
	}
}

// refundAt is all of the price in the first 20 minutes, and then of each leg what the first of its rules that
// applies gives back. The hours of both legs count to the departure of the first.
func (t *Ticket) refundAt(now time.Time) int {
	sum, inGrace, left := 0, now.Before(t.booking.created.Add(graceTime)), t.journey.departure().Sub(now)
	for i, leg := range t.journey {
		rules := append(leg.refundRules(), row{"hours": "-Inf", "amount": "0"})
		applies := func(rule row) bool { return left.Hours() >= rule.number("hours") }
		percent := rules[slices.IndexFunc(rules, applies)].hundredths("amount")
		if inGrace {
			percent = 100_00
		}
		sum += share(t.amounts[i], percent)
	}
	return sum
}
