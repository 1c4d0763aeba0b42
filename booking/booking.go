// Package booking decides what may happen to bookings and tickets, and remembers what did.
//
// A [State] is changed only by events ([Created], [TicketPaid], [TicketsCanceled], …) and
// only by its Apply methods. Methods in the imperative ([State.Create],
// [State.Settle], [State.Cancel], …) read the state and return the events to
// come, or a reason why not; they change nothing. Events carry outcomes (ids,
// seats, amounts), so that replaying them decides nothing again.
//
// What time alone changes is computed from now and never stored: an unpaid
// ticket whose window is over is Uncompleted, and its seat is free.
//
// A [Booking] is an immutable value that each event replaces. The package has
// no lock, clock, randomness or I/O.
package booking

import (
	"encoding/base64"
	"fmt"
	"strings"
	"time"

	"waybill/schedule"
)

// ID names a booking, a ticket or a partner: 128 random bits.
type ID [16]byte

// String gives the id as 22 URL-safe characters.
func (id ID) String() string { return base64.RawURLEncoding.EncodeToString(id[:]) }

// ParseID reads what String gives, and nothing else.
func ParseID(s string) (id ID, ok bool) {
	if len(s) != 22 || strings.ContainsAny(s, "\r\n") {
		return id, false
	}
	n, err := base64.RawURLEncoding.Strict().Decode(id[:], []byte(s))
	return id, err == nil && n == len(id)
}

func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

func (id *ID) UnmarshalText(text []byte) (err error) {
	var ok bool
	if *id, ok = ParseID(string(text)); !ok {
		err = fmt.Errorf("booking: %q is not an id", text)
	}
	return err
}

const (
	// Window is how long an unpaid ticket keeps its seat after its creation (interface, Limits).
	Window = 20 * time.Minute
	// Grace is how long after its creation a paid ticket of our own is refunded in full.
	Grace = 20 * time.Minute
)

// Booking is a set of tickets of one partner. Its Tickets must not be changed.
type Booking struct {
	ID      ID
	Partner ID
	Number  uint32 // in the order of creation, from 0
	Created int64  // Unix milliseconds
	Updated int64
	Tickets []Ticket
}

// Ticket is one passenger's seat on one journey: an order, in the words of the legacy interface.
type Ticket struct {
	ID        ID
	Created   int64 // Unix milliseconds
	Refund    int64 // minor units; of a Refunded ticket
	Legs      [2]Leg
	Passenger Passenger
	Currency  [3]byte
	Phase     Phase
	Carrier   Carrier
	Was       Phase  // of a Canceled ticket: its phase before
	Asked     Action // what the provider was asked to confirm and has not answered
}

// Leg is a ride as it was sold.
type Leg struct {
	Run      *Run
	From, To int16 // positions among the stops of the run's form
	Seat     int16 // its label, from 1
	Discount int16 // position among the form's discounts; -1: none
	Amount   int64 // minor units: this leg's share of the price
}

// Run is a trip on one service day in the form it was sold in. It is immutable.
type Run struct {
	ID      RunID
	Form    *schedule.Form
	Day     schedule.Day
	Start   int64   // Unix seconds: when the service day starts
	Offsets []int32 // seconds ahead of UTC of the clock at each stop

	seats *seating
}

// Dep gives the departure from a position.
func (r *Run) Dep(position int16) time.Time {
	return time.Unix(r.Start+int64(r.Form.Stops[position].Dep), 0).UTC()
}

// Arr gives the arrival at a position.
func (r *Run) Arr(position int16) time.Time {
	return time.Unix(r.Start+int64(r.Form.Stops[position].Arr), 0).UTC()
}

// Passenger is who travels, packed into one string: the largest part of what a
// server with many tickets remembers.
type Passenger string

const passengerSep = "\x00" // no field may hold a control character

// NewPassenger packs a passenger.
func NewPassenger(first, last, email string, phones []string) Passenger {
	return Passenger(strings.Join(append([]string{first, last, email}, phones...), passengerSep))
}

// Fields gives first name, last name, e-mail, and phones.
func (p Passenger) Fields() (first, last, email string, phones []string) {
	list := strings.Split(string(p), passengerSep)
	for len(list) < 3 {
		list = append(list, "")
	}
	return list[0], list[1], list[2], list[3:]
}

// Itinerary gives the legs of a ticket: one or two.
func (t *Ticket) Itinerary() []Leg {
	if t.Legs[1].Run == nil {
		return t.Legs[:1]
	}
	return t.Legs[:]
}

// Price is what the ticket costs, in minor units of its currency.
func (t *Ticket) Price() int64 { return t.Legs[0].Amount + t.Legs[1].Amount }

// Departure is when the ticket's journey starts.
func (t *Ticket) Departure() time.Time { return t.Legs[0].Run.Dep(t.Legs[0].From) }

// Source is where the ticket's journey comes from.
func (t *Ticket) Source() string { return t.Legs[0].Run.Form.Company.Source }

// due is the end of the payment window, in Unix milliseconds.
func (t *Ticket) due() int64 { return t.Created + Window.Milliseconds() }

// PhaseAt gives the ticket's phase at an instant: what is stored, or Uncompleted.
func (t *Ticket) PhaseAt(now time.Time) Phase {
	if t.Phase == Unpaid && t.Asked == 0 && now.UnixMilli() >= t.due() {
		return Uncompleted
	}
	return t.Phase
}

// Status gives the ticket's status and paymentStatus (contract §8).
func (t *Ticket) Status(now time.Time) (status, payment string) {
	phase := t.PhaseAt(now)
	p := projections[phase]
	switch {
	case phase == Canceled:
		return p.status, projections[t.Was].payment
	case t.Carrier != 0 && (phase == Unpaid || phase == Booked || phase == Paid):
		return t.Carrier.String(), p.payment
	}
	return p.status, p.payment
}

// Departure is the onboarding instant: the earliest of the tickets'.
func (b *Booking) Departure() time.Time {
	first := b.Tickets[0].Departure()
	for i := range b.Tickets[1:] {
		if d := b.Tickets[i+1].Departure(); d.Before(first) {
			first = d
		}
	}
	return first
}

// RequiredBy is when the earliest unpaid ticket's window is over; false when none is unpaid.
func (b *Booking) RequiredBy(now time.Time) (due time.Time, ok bool) {
	for i := range b.Tickets {
		t := &b.Tickets[i]
		if t.PhaseAt(now) != Unpaid {
			continue
		}
		if at := time.UnixMilli(t.due()).UTC(); !ok || at.Before(due) {
			due, ok = at, true
		}
	}
	return due, ok
}

// Status gives the booking's status, which the tickets and the departure decide (contract §8).
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
