package booking

import (
	"fmt"
	"strings"

	"waybill/schedule"
)

// Phase is where a ticket stands. Status and paymentStatus are projections of it.
type Phase uint8

// The phases. Uncompleted is never stored: it is Unpaid after the payment window.
const (
	Unpaid Phase = iota
	Booked
	Paid
	Canceled
	Refunded
	Uncompleted
)

// Action is what a partner may ask to do with tickets.
type Action uint8

// The actions.
const (
	Pay Action = iota + 1
	Book
	Cancel
)

// String gives the last part of the action's path.
func (a Action) String() string { return [...]string{"", "pay", "book", "cancel"}[a] }

func (a Action) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

func (a *Action) UnmarshalText(text []byte) error {
	for *a = Pay; *a <= Cancel; *a++ {
		if a.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("booking: %q is not an action", text)
}

// transition is a row of the interface's table "States and transitions", Ticket.
type transition struct {
	from   []Phase
	action Action
	source string // "": any
	to     Phase
}

const (
	own      = schedule.OwnSource
	external = "external"
)

// transitions is that table. What is not in it is a conflict.
var transitions = []transition{
	{[]Phase{Unpaid, Uncompleted, Booked}, Pay, "", Paid},
	{[]Phase{Unpaid, Uncompleted}, Book, "", Booked},
	{[]Phase{Unpaid, Uncompleted, Booked}, Cancel, "", Canceled},
	{[]Phase{Paid}, Cancel, external, Canceled},
	{[]Phase{Paid}, Cancel, own, Refunded},
}

// next gives the phase an action leads to; false is a conflict.
func next(from Phase, action Action, source string) (Phase, bool) {
	if source != own {
		source = external
	}
	for _, t := range transitions {
		for _, p := range t.from {
			if p == from && t.action == action && (t.source == "" || t.source == source) {
				return t.to, true
			}
		}
	}
	return 0, false
}

// projections are the status and paymentStatus of each phase. A cancelled
// ticket's paymentStatus stays what it was.
var projections = [...]struct{ status, payment string }{
	Unpaid:      {"Processing", "Unpaid"},
	Booked:      {"Confirmed", "Booked"},
	Paid:        {"Confirmed", "Paid"},
	Canceled:    {"Canceled", ""},
	Refunded:    {"Refund", "Paid"},
	Uncompleted: {"Uncompleted", "Unpaid"},
}

// Carrier is the status that a carrier gave a ticket (contract §8, ticket status).
type Carrier uint8

// The carrier's values; 0 is none.
const (
	Confirmed Carrier = iota + 1
	NotConfirmed
	Prepaid
)

var carrierNames = [...]string{"", "Confirmed", "NotConfirmed", "Prepaid"}

// String gives the value as the interface has it.
func (c Carrier) String() string { return carrierNames[c] }

func (c Carrier) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

func (c *Carrier) UnmarshalText(text []byte) error {
	for *c = Confirmed; *c <= Prepaid; *c++ {
		if c.String() == string(text) {
			return nil
		}
	}
	return fmt.Errorf("%q is not one of %s", text, strings.Join(carrierNames[1:], ", "))
}

// ParseCarrier reads what String gives.
func ParseCarrier(s string) (c Carrier, ok bool) {
	ok = c.UnmarshalText([]byte(s)) == nil
	return c, ok
}
