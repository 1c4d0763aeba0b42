package booking

import (
	"fmt"
	"slices"
	"strings"

	"waybill/schedule"
)

// The state table of tickets: the phases of a ticket, the actions that each phase allows, the phase that an
// action leads to, and the status that partners see.
//
//	to, ok := Unpaid.Next(Pay, schedule.OwnSource) // Paid
//	status, payment := Paid.Status()               // "Confirmed", "Paid"

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

// Action is what a partner may ask to do with tickets; or, in a message to a passenger, what the carrier did
// with the run.
type Action uint8

// The actions.
const (
	Pay Action = iota + 1
	Book
	Cancel
	CancelRun // by the carrier
	MoveRun   // by the carrier
)

var actionNames = []string{"", "pay", "book", "cancel", "run-cancel", "run-move"}

// doneNames say what an action has done to a ticket.
var doneNames = []string{"", "paid", "booked", "canceled", "canceled with its run", "moved with its run"}

// String returns the last part of the action's path.
func (a Action) String() string { return actionNames[a] }

// refusal says that the states of some tickets do not allow an action.
func (a Action) refusal(tickets int) string {
	if tickets == 1 {
		return "this ticket cannot be " + doneNames[a] + " in its current state"
	}
	return "these tickets cannot be " + doneNames[a] + " in their current state"
}

// MarshalText writes the action's name.
func (a Action) MarshalText() ([]byte, error) {
	return []byte(a.String()), nil
}

// UnmarshalText reads an action's name.
func (a *Action) UnmarshalText(text []byte) error {
	return named(a, actionNames, string(text))
}

// Carrier is the status that a carrier gave a ticket (decision carrier.status).
type Carrier uint8

// The carrier's values; 0 is none.
const (
	Confirmed Carrier = iota + 1
	NotConfirmed
	Prepaid
)

var carrierNames = []string{"", "Confirmed", "NotConfirmed", "Prepaid"}

// String returns the value as the interface has it.
func (c Carrier) String() string { return carrierNames[c] }

// MarshalText writes the name of a carrier's status.
func (c Carrier) MarshalText() ([]byte, error) {
	return []byte(c.String()), nil
}

// UnmarshalText reads the name of a carrier's status.
func (c *Carrier) UnmarshalText(text []byte) error {
	return named(c, carrierNames, string(text))
}

// ParseCarrier reads what String returns.
func ParseCarrier(s string) (c Carrier, ok bool) {
	err := named(&c, carrierNames, s)
	return c, err == nil
}

// named sets v to the value of a name; none has the first, which is empty.
func named[T ~uint8](v *T, names []string, name string) error {
	i := slices.Index(names, name)
	if i < 1 {
		return fmt.Errorf("booking: %q is not one of %s", name, strings.Join(names[1:], ", "))
	}
	*v = T(i)
	return nil
}

// transitions are the table "States and transitions", Ticket. The first row that fits counts; where none
// fits, that is a conflict.
var transitions = []struct {
	from   []Phase
	action Action
	source string // "": any
	to     Phase
}{
	{[]Phase{Unpaid, Uncompleted, Booked}, Pay, "", Paid},
	{[]Phase{Unpaid, Uncompleted}, Book, "", Booked},
	{[]Phase{Unpaid, Uncompleted, Booked}, Cancel, "", Canceled},
	{[]Phase{Paid}, Cancel, schedule.OwnSource, Refunded},
	{[]Phase{Paid}, Cancel, "", Canceled},
	// Decision runs.cancelled: the tickets of a run that its carrier cancels.
	{[]Phase{Unpaid, Booked}, CancelRun, "", Canceled},
	{[]Phase{Paid}, CancelRun, "", Refunded},
}

// Next returns the phase that an action leads to for a ticket of a source; false is a conflict.
func (p Phase) Next(action Action, source string) (Phase, bool) {
	for _, row := range transitions {
		fits := row.source == "" || row.source == source
		if fits && row.action == action && slices.Contains(row.from, p) {
			return row.to, true
		}
	}
	return 0, false
}

// projections are the status and paymentStatus of each phase. A cancelled ticket's paymentStatus stays what
// it was.
var projections = [...]struct{ status, payment string }{
	Unpaid:      {"Processing", "Unpaid"},
	Booked:      {"Confirmed", "Booked"},
	Paid:        {"Confirmed", "Paid"},
	Canceled:    {"Canceled", ""},
	Refunded:    {"Refund", "Paid"},
	Uncompleted: {"Uncompleted", "Unpaid"},
}

// Status returns the status and paymentStatus of a ticket without a carrier status.
func (p Phase) Status() (status, payment string) {
	shown := projections[p]
	return shown.status, shown.payment
}
