package booking

import "waybill/schedule"

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

// ParseAction reads what String gives.
func ParseAction(s string) (Action, bool) {
	for a := Pay; a <= Cancel; a++ {
		if a.String() == s {
			return a, true
		}
	}
	return 0, false
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

// ParseCarrier reads what String gives.
func ParseCarrier(s string) (Carrier, bool) {
	for i, name := range carrierNames {
		if i > 0 && name == s {
			return Carrier(i), true
		}
	}
	return 0, false
}
