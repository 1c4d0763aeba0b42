package desk

import (
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
)

// What a provider was asked about a ticket is kept until it is answered. While it is waited for, the ticket
// is pending, and an operator may answer in the provider's place. An answer that did not come, or decided
// nothing, leaves the ticket as it was: only the question is kept, for the partner to ask it again (decision
// desk.asked).

// stateUnclear is looked for like a state, and is none: a ticket in any state may be unclear.
const stateUnclear = "unclear"

const unclearWords = "provider's answer unclear"

// questions are those to providers that were not answered.
type questions map[ids.ID]booking.Ask

// isAsked reports whether the provider was asked about a ticket and is waited for. `ticket asked` lists
// these.
func (x questions) isAsked(t *booking.Ticket) bool {
	_, asked := x[t.ID]
	return asked && t.Pending != 0
}

// isUnclear reports whether the provider may have sold a ticket that here is as it was, and somebody can do
// something about that: the bus has not left.
func (x questions) isUnclear(t *booking.Ticket, now time.Time) bool {
	_, asked := x[t.ID]
	return asked && t.Pending == 0 && t.Departure().After(now)
}

// stateOf returns the state in which a ticket is counted and looked for: one that the provider is asked about
// is nothing else.
func (x questions) stateOf(t *booking.Ticket, now time.Time) string {
	if x.isAsked(t) {
		return stateAsked
	}
	return stateOf(t, now)
}

// chipOf returns how a ticket stands, and that the provider's answer about it is unclear.
func (x questions) chipOf(t *booking.Ticket, now time.Time) chip {
	c := chipOf(t, now)
	if x.isUnclear(t, now) {
		c.Aside = unclearWords
	}
	return c
}

// askedConcerns returns what of the questions to providers needs somebody.
func askedConcerns(asked, unclear int) (list []concern) {
	if asked > 0 {
		list = append(list, concern{
			"A provider was asked about " + words.Counted(asked, "ticket") + " and has not answered.",
			"/search?state=" + stateAsked,
		})
	}
	if unclear > 0 {
		tickets := words.Counted(unclear, "ticket")
		list = append(list, concern{
			"The provider's answer about " + tickets + " did not come or was not understood; it may have " +
				tickets + " sold that" + words.Are(unclear) + "unpaid here. " +
				"Ask it; the partner can pay again or cancel.",
			"/search?state=" + stateUnclear,
		})
	}
	return list
}
