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
// A [Booking] is a value: what a State returns is a copy of what it keeps, which each event replaces. The
// package has no lock, clock, randomness or I/O.
package booking

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

const (
	// for which an unpaid ticket keeps its seat after its creation (interface, Limits)
	window = 20 * time.Minute
	grace  = 20 * time.Minute // for which a paid ticket of our own is refunded in full after its creation
)

// Booking is a set of tickets of one partner. Its Tickets must not be changed.
type Booking struct {
	ID, Partner      ids.ID
	Created, Updated int64  // Unix milliseconds
	Line             uint64 // the number of the last journal line that changed it; 0 before there was one
	Tickets          []Ticket
	number           uint32 // in the order of creation, from 0
}

// Ticket is one passenger's seat on one journey: an order, in the words of the legacy interface.
type Ticket struct {
	ID        ids.ID
	Created   int64 // Unix milliseconds
	Legs      [2]Leg
	Passenger Passenger
	Currency  [3]byte
	Phase     Phase
	Carrier   Carrier
	Was       Phase  // of a Canceled ticket: its phase before that
	Pending   Action // what the provider was asked to confirm and has not answered
	Noticed   bool   // the journal says that its payment window was over
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
	Refund   int64 // minor units: the refunded part of the amount
}

// Run is a trip on one service day in the form it was sold in. It is immutable once it is known (KnowRun).
type Run struct {
	ID      ids.RunID
	Form    *schedule.Form
	Day     schedule.Day
	Start   int64   // Unix seconds: when the service day starts
	Offsets []int32 // seconds ahead of UTC of the clock at each stop
	number  uint32  // in the order the runs were first sold, from 0
	seats   *seats
}

// NewRun makes a run with the id that its content has.
func NewRun(form *schedule.Form, day schedule.Day, start int64, offsets []int32) *Run {
	b := append([]byte(form.Key()), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(day))
	b = binary.BigEndian.AppendUint64(b, uint64(start))
	b, _ = binary.Append(b, binary.BigEndian, offsets) // fails only where a size is not fixed
	sum := sha256.Sum256(b)
	return &Run{
		ID:      ids.RunID(sum[:12]),
		Form:    form,
		Day:     day,
		Start:   start,
		Offsets: offsets,
	}
}

// Name names the run across timetables.
func (r *Run) Name() ids.RunName { return ids.RunName{Trip: r.Form.Trip, Day: r.Day} }

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

// Refund is the refunded part of the price, in minor units. Only a Refunded ticket has one.
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

// until is when the ticket's seat is free again, in Unix milliseconds: before any time when it is already.
func (t *Ticket) until() int64 {
	switch {
	case t.Phase == Canceled || t.Phase == Refunded:
		return math.MinInt64
	case t.Phase == Unpaid && t.Pending == 0:
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

// Status returns the ticket's status and paymentStatus (decision tickets.statuses).
func (t *Ticket) Status(now time.Time) (status, payment string) {
	status, payment = t.PhaseAt(now).Status()
	switch {
	case t.Phase == Canceled:
		_, payment = t.Was.Status()
	case t.Carrier != 0 && t.live(now):
		status = t.Carrier.String()
	}
	return status, payment
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

// Status returns the booking's status, which the tickets and the departure decide (decision
// tickets.statuses).
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

// next returns the phase an action leads to; false is a conflict.
func (t *Ticket) next(action Action, now time.Time) (Phase, bool) {
	return t.PhaseAt(now).Next(action, t.Source())
}

// SeatLabels returns the seats of the ticket's legs, with blanks between.
func (t *Ticket) SeatLabels() string {
	var list []string
	for _, l := range t.Itinerary() {
		list = append(list, strconv.Itoa(int(l.Seat)))
	}
	return strings.Join(list, " ")
}
