// Package booking decides what may happen to bookings and tickets, and remembers what did.
//
// A [State] is changed only by events ([Created], [TicketPaid], [TicketsCanceled], …) and only by its Apply
// methods. Methods in the imperative ([State.Create], [State.Settle], [State.Cancel], …) read the state and
// return the events to come, or a reason why not; they change nothing. Events carry outcomes (ids, seats,
// amounts), so that replaying them decides nothing again.
//
// What time alone changes is computed from now and never stored: an unpaid
// ticket whose window is over is Uncompleted, and its seat is free.
//
// A [Booking] is an immutable value that each event replaces. The package has no lock, clock, randomness or
// I/O.
package booking

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/booking/ids"
	"waybill/schedule"
)

// What bookings, tickets, partners and runs are named by.
type (
	ID      = ids.ID
	RunID   = ids.RunID
	RunName = ids.RunName
)

// ParseID reads what ID.String returns, and nothing else.
func ParseID(s string) (id ID, ok bool) { return ids.Parse(s) }

// ParseRunID reads what RunID.String returns, and nothing else.
func ParseRunID(s string) (id RunID, ok bool) { return ids.ParseRun(s) }

const (
	// for which an unpaid ticket keeps its seat after its creation (interface, Limits)
	window = 20 * time.Minute
	grace  = 20 * time.Minute // for which a paid ticket of our own is refunded in full after its creation
)

// Booking is a set of tickets of one partner. Its Tickets must not be changed.
type Booking struct {
	ID, Partner      ID
	Created, Updated int64 // Unix milliseconds
	Tickets          []Ticket
	number           uint32 // in the order of creation, from 0
}

// Ticket is one passenger's seat on one journey: an order, in the words of the legacy interface.
type Ticket struct {
	ID        ID
	Created   int64 // Unix milliseconds
	Legs      [2]Leg
	Passenger Passenger
	Currency  [3]byte
	Phase     Phase
	Carrier   Carrier
	Was       Phase  // of a Canceled ticket: its phase before
	Asked     Action // what the provider was asked to confirm and has not answered
	Noticed   bool   // that its payment window was over stands in the journal
	// Earlier is how many seconds it now leaves before the latest departure that it ever had; see RefundsBy.
	Earlier int32
}

// Leg is a ride as it was sold.
type Leg struct {
	Run      *Run
	From, To int16 // positions among the stops of the run's form
	Seat     int16 // its label, from 1
	Discount int16 // position among the form's discounts; -1: none
	Amount   int64 // minor units: this leg's share of the price
	Refund   int64 // minor units: what of it came back
}

// Run is a trip on one service day in the form it was sold in. It is immutable.
type Run struct {
	ID      RunID
	Form    *schedule.Form
	Day     schedule.Day
	Start   int64   // Unix seconds: when the service day starts
	Offsets []int32 // seconds ahead of UTC of the clock at each stop
	seats   *seating
}

// NewRun makes a run with the id that its content has.
func NewRun(form *schedule.Form, day schedule.Day, start int64, offsets []int32) *Run {
	b := append([]byte(form.Key()), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(day))
	b = binary.BigEndian.AppendUint64(b, uint64(start))
	b, _ = binary.Append(b, binary.BigEndian, offsets) // fails only where a size is not fixed
	sum := sha256.Sum256(b)
	return &Run{
		ID:      RunID(sum[:12]),
		Form:    form,
		Day:     day,
		Start:   start,
		Offsets: offsets,
	}
}

// Dep returns the departure from a position.
func (r *Run) Dep(position int16) time.Time {
	return r.at(r.Form.Stops[position].Dep)
}

// Local returns an instant by the clock at a position, as it was when the run was sold or moved.
func (r *Run) Local(at time.Time, position int16) time.Time {
	return at.In(time.FixedZone("", int(r.Offsets[position])))
}

// Arr returns the arrival at a position.
func (r *Run) Arr(position int16) time.Time {
	return r.at(r.Form.Stops[position].Arr)
}

func (r *Run) at(seconds int32) time.Time {
	return time.Unix(r.Start+int64(seconds), 0).UTC()
}

// Passenger is who travels, packed into one string: the largest part of what a server with many tickets
// remembers.
type Passenger string

const passengerSep = "\x00" // no field may hold a control character

// NewPassenger packs a passenger.
func NewPassenger[T ~string | ~[]byte](first, last, email T, phones []T) Passenger {
	var room [256]byte
	b := append(append(room[:0], first...), passengerSep...)
	b = append(append(b, last...), passengerSep...)
	b = append(b, email...)
	for _, phone := range phones {
		b = append(append(b, passengerSep...), phone...)
	}
	return Passenger(b)
}

// Fields returns first name, last name, e-mail, and phones.
func (p Passenger) Fields() (first, last, email string, phones []string) {
	list := strings.Split(string(p), passengerSep)
	for len(list) < 3 {
		list = append(list, "")
	}
	return list[0], list[1], list[2], list[3:]
}

// Itinerary returns the legs of a ticket: one or two.
func (t *Ticket) Itinerary() []Leg {
	if t.Legs[1].Run == nil {
		return t.Legs[:1]
	}
	return t.Legs[:]
}

// Price is what the ticket costs, in minor units of its currency.
func (t *Ticket) Price() int64 {
	return t.Legs[0].Amount + t.Legs[1].Amount
}

// Refund is what came back of the price, in minor units: of a Refunded ticket.
func (t *Ticket) Refund() int64 {
	return t.Legs[0].Refund + t.Legs[1].Refund
}

// Departure is when the ticket's journey starts.
func (t *Ticket) Departure() time.Time {
	return t.Legs[0].Run.Dep(t.Legs[0].From)
}

// Source is where the ticket's journey comes from.
func (t *Ticket) Source() string {
	return t.Legs[0].Run.Form.Company.Source
}

// Due is the end of the payment window.
func (t *Ticket) Due() time.Time {
	return time.UnixMilli(t.Created).Add(window).UTC()
}

// until is when the ticket's seat is free again, in Unix milliseconds: 0 when it is already.
func (t *Ticket) until() int64 {
	switch {
	case t.Phase == Canceled || t.Phase == Refunded:
		return 0
	case t.Phase == Unpaid && t.Asked == 0:
		return t.Created + window.Milliseconds()
	}
	return math.MaxInt64
}

// live reports whether the ticket is Unpaid, Booked or Paid at an instant, and so has its seat.
func (t *Ticket) live(now time.Time) bool {
	return now.UnixMilli() < t.until()
}

// PhaseAt returns the ticket's phase at an instant: what is stored, or Uncompleted.
func (t *Ticket) PhaseAt(now time.Time) Phase {
	if t.Phase == Unpaid && !t.live(now) {
		return Uncompleted
	}
	return t.Phase
}

// Status returns the ticket's status and paymentStatus (contract §8).
func (t *Ticket) Status(now time.Time) (status, payment string) {
	p := projections[t.PhaseAt(now)]
	switch {
	case t.Phase == Canceled:
		p.payment = projections[t.Was].payment
	case t.Carrier != 0 && t.live(now):
		p.status = t.Carrier.String()
	}
	return p.status, p.payment
}

// Departure is the onboarding instant: the earliest of the tickets'.
func (b *Booking) Departure() time.Time {
	first := b.Tickets[0].Departure()
	for i := range b.Tickets {
		if d := b.Tickets[i].Departure(); d.Before(first) {
			first = d
		}
	}
	return first
}

// RequiredBy is when the earliest unpaid ticket's window is over; false when none is unpaid.
func (b *Booking) RequiredBy(now time.Time) (due time.Time, ok bool) {
	for i := range b.Tickets {
		t := &b.Tickets[i]
		at := t.Due()
		if t.PhaseAt(now) == Unpaid && (!ok || at.Before(due)) {
			due = at
			ok = true
		}
	}
	return due, ok
}

// Status returns the booking's status, which the tickets and the departure decide (contract §8).
func (b *Booking) Status(now time.Time) string {
	over := true
	for i := range b.Tickets {
		over = over && (b.Tickets[i].Phase == Canceled || b.Tickets[i].Phase == Refunded)
	}
	d := b.Departure()
	switch {
	case over:
		return "Canceled"
	case now.Before(d.Add(-8 * time.Hour)):
		return "Upcoming"
	case now.Before(d):
		return "Boarding"
	case now.Before(d.Add(24 * time.Hour)):
		return "InTransit"
	}
	return "Completed"
}

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
	WithdrawRun // by the carrier
	DelayRun    // by the carrier
)

var actionNames = []string{"", "pay", "book", "cancel", "run-cancel", "run-move"}

// String returns the last part of the action's path.
func (a Action) String() string { return actionNames[a] }

// MarshalText writes the action's name.
func (a Action) MarshalText() ([]byte, error) {
	return []byte(a.String()), nil
}

// UnmarshalText reads an action's name.
func (a *Action) UnmarshalText(text []byte) error {
	return named(a, actionNames, string(text))
}

// Carrier is the status that a carrier gave a ticket (contract §8, ticket status).
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

// transitions are the table "States and transitions", Ticket. The first that fits counts, none is a conflict.
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
	// Contract §15: what becomes of the tickets of a run that its carrier cancels.
	{[]Phase{Unpaid, Booked}, WithdrawRun, "", Canceled},
	{[]Phase{Paid}, WithdrawRun, "", Refunded},
}

// next returns the phase an action leads to; false is a conflict.
func (t *Ticket) next(action Action, now time.Time) (Phase, bool) {
	for _, row := range transitions {
		if row.action == action && slices.Contains(row.from, t.PhaseAt(now)) &&
			(row.source == "" || row.source == t.Source()) {
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

// SeatLabels returns the seats of the ticket's legs, with blanks between.
func (t *Ticket) SeatLabels() string {
	var list []string
	for _, l := range t.Itinerary() {
		list = append(list, strconv.Itoa(int(l.Seat)))
	}
	return strings.Join(list, " ")
}

// IDOf reads an id. What is no id of ours is the id of nothing, the zero ID.
func IDOf(text string) ID {
	if id, ok := ParseID(text); ok {
		return id
	}
	return ID{}
}
