package desk

import (
	"time"

	"waybill/booking"
)

// A chip says in a word or two how a ticket, a seat or a run stands. The sheet colours it by its state. The
// template "chip" writes it:
//
//	{{template "chip" .Chip}}
//	{{template "chip" (chip "free" "")}}
//	{{template "chip" (chip "news" "cancelled")}}

// chip is how something stands.
type chip struct {
	State string // the class in the sheet: one of the seven states of a ticket, or free, or news
	Words string
	Aside string // what is unusual about it, beside the chip in small words; "" is nothing
}

// The states of a ticket, in the order in which pages count them.
const (
	stateHeld     = "held"
	stateAsked    = "asked"
	stateBooked   = "booked"
	statePaid     = "paid"
	stateLapsed   = "lapsed"
	stateCanceled = "canceled"
	stateRefunded = "refunded"
)

// states are all states of a ticket in that order.
var states = []string{
	stateHeld, stateAsked, stateBooked, statePaid, stateLapsed, stateCanceled, stateRefunded,
}

// stateWords are the words of the states that are not their own words.
var stateWords = map[string]string{
	stateAsked:    "provider asked",
	stateCanceled: "cancelled",
}

// newChip returns a chip of a state; words "" are the state's own.
func newChip(state, words string) chip {
	if words == "" {
		words = stateWords[state]
	}
	if words == "" {
		words = state
	}
	return chip{State: state, Words: words}
}

// chipOf returns how a ticket stands at an instant. It is the one place where a phase becomes a colour and
// words (decision desk.chips): each page takes it from here.
func chipOf(t *booking.Ticket, now time.Time) chip {
	c := newChip(stateOf(t, now), "")
	switch {
	case c.State == stateRefunded:
		c.Words = "refunded " + amount(t.Refund(), t)
	case c.State == stateCanceled && t.Was == booking.Paid:
		c.Aside = "was paid"
	case t.Pending != 0 && c.State != stateAsked:
		c.Aside = "provider asked to " + t.Pending.String()
	default:
		c.Aside = carrierSays(t, now)
	}
	return c
}

// stateOf returns the state of a ticket at an instant.
func stateOf(t *booking.Ticket, now time.Time) string {
	switch t.PhaseAt(now) {
	case booking.Booked:
		return stateBooked
	case booking.Paid:
		return statePaid
	case booking.Canceled:
		return stateCanceled
	case booking.Refunded:
		return stateRefunded
	case booking.Uncompleted:
		return stateLapsed
	}
	if t.Pending != 0 {
		return stateAsked // it keeps its seat until the provider answers
	}
	return stateHeld
}

// carrierWords are the carrier's statuses as an operator reads them.
var carrierWords = map[booking.Carrier]string{
	booking.Confirmed:    "carrier: confirmed",
	booking.NotConfirmed: "carrier: not confirmed",
	booking.Prepaid:      "carrier: prepaid",
}

// carrierSays returns the status that the carrier gave a ticket where partners see another status for it than
// that of its phase; "" where they do not.
func carrierSays(t *booking.Ticket, now time.Time) string {
	usual, _ := t.PhaseAt(now).Status()
	if status, _ := t.Status(now); status == usual {
		return ""
	}
	return carrierWords[t.Carrier]
}
