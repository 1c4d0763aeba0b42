package booking

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"waybill/schedule"
)

// runKey tells one bus on one day from all others, whatever form it was sold in.
type runKey struct {
	trip string
	day  schedule.Day
}

func (r *Run) key() runKey { return runKey{r.Form.Trip, r.Day} }

// seating is who holds which seat of a run.
type seating struct {
	sold  []*Run // the forms it was sold in
	holds []hold
	known []left // what was asked for last
}

// left are the seats that are left between two stops of a form. They stay so until an instant, in Unix milliseconds,
// but for what is sold.
type left struct {
	form     *schedule.Form
	from, to int16
	until    int64
	seats    seatSet
}

// maxKnown is how many answers a run remembers.
const maxKnown = 2

// hold is a ticket's seat on a part of the run. It is free from until on.
type hold struct {
	ticket   ID
	until    int64 // Unix milliseconds; forever once booked or paid
	from, to int16 // positions in the form it was sold in
	seat     int16
	sold     uint16 // which form
}

// set makes h the ticket's hold.
func (s *seating) set(h hold, now int64) {
	if i := slices.IndexFunc(s.holds, func(old hold) bool { return old.ticket == h.ticket }); i >= 0 {
		s.holds[i], s.known = h, s.known[:0]
		return
	}
	s.add(h, now)
}

// add is set for a ticket that has no hold. Those that have run out decide nothing any more, and make room when need be.
func (s *seating) add(h hold, now int64) {
	if len(s.holds) == cap(s.holds) {
		s.holds = slices.DeleteFunc(s.holds, func(old hold) bool { return old.until <= now })
	}
	s.holds = append(s.holds, h)
	for i := range s.known {
		s.known[i].take(s.sold, &h)
	}
}

// take takes a hold's seat out, if the hold is on the way.
func (x *left) take(sold []*Run, h *hold) {
	if start, end := sold[h.sold].within(x.form, h.from, h.to); start < x.to && x.from < end {
		if x.until = min(x.until, h.until); x.seats.has(h.seat) {
			x.seats[(h.seat-1)/64] &^= 1 << ((h.seat - 1) % 64)
		}
	}
}

// sit gives a ticket seats, by leg, or else those it had, for as long as its phase says.
func (t *Ticket) sit(seats []int16, now time.Time) {
	for i, seat := range seats {
		t.Legs[i].Seat = seat
	}
	for _, l := range t.Itinerary() {
		l.Run.seats.set(l.hold(t.ID, t.until()), now.UnixMilli())
	}
}

func (l *Leg) hold(ticket ID, until int64) hold {
	return hold{ticket, until, l.From, l.To, l.Seat, uint16(slices.Index(l.Run.seats.sold, l.Run))}
}

// present is the run in the timetable in force, whose seats are asked for; where its trip is gone, as last sold.
func (s *seating) present(tt *schedule.Timetable) *schedule.Form {
	last := s.sold[len(s.sold)-1]
	if trip, known := tt.TripByID(last.Form.Trip); known && tt.RunsOn(trip, last.Day) {
		return tt.Form(trip)
	}
	return last.Form
}

// seatSet is a set of seats: seat 1 is the lowest bit.
type seatSet [(schedule.MaxSeats + 63) / 64]uint64

func (s *seatSet) has(seat int16) bool { return seat > 0 && s[(seat-1)/64]>>((seat-1)%64)&1 == 1 }

func (s *seatSet) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// all goes through the seats, rising.
func (s *seatSet) all(yield func(int16) bool) {
	for i, word := range s {
		for ; word != 0; word &= word - 1 {
			if !yield(int16(64*i + bits.TrailingZeros64(word) + 1)) {
				return
			}
		}
	}
}

// together picks n seats: the first n in a row, or else the first n there are.
func (s *seatSet) together(n int) []int16 {
	first, row := make([]int16, 0, n), make([]int16, 0, n)
	for seat := range s.all {
		if k := len(row); k > 0 && row[k-1] != seat-1 {
			row = row[:0]
		}
		if row = append(row, seat); len(row) == n {
			return row
		}
		if len(first) < n {
			first = append(first, seat)
		}
	}
	return first
}

// free gives the seats that are free between two stops of a form at an instant. It remembers them.
func (s *seating) free(form *schedule.Form, from, to int16, now time.Time) *seatSet {
	for i := range s.known {
		if x := &s.known[i]; x.form == form && x.from == from && x.to == to && now.UnixMilli() < x.until {
			return &x.seats
		}
	}
	if len(s.known) == maxKnown {
		s.known = s.known[:0]
	}
	s.known = append(s.known, s.find(form, from, to, s.holds, now))
	return &s.known[len(s.known)-1].seats
}

// find gives the seats of a form that none of the holds has between two of its stops at an instant.
func (s *seating) find(form *schedule.Form, from, to int16, holds []hold, now time.Time) left {
	x := left{form: form, from: from, to: to, until: math.MaxInt64}
	for i, n := 0, int(form.Bus.Seats); n > 0; i, n = i+1, n-64 {
		x.seats[i] = math.MaxUint64 >> max(0, 64-n)
	}
	at := now.UnixMilli()
	for i := range holds {
		if h := &holds[i]; h.until > at {
			x.take(s.sold, h)
		}
	}
	return x
}

// within gives the part of a form that a ride of the run covers. A stop that is
// gone counts as the next one that remains; a ride whose stops are all gone still has its seat for one segment.
func (r *Run) within(form *schedule.Form, from, to int16) (start, end int16) {
	if r.Form == form || r.Form.Key() == form.Key() {
		return from, to
	}
	var at []int16 // where each stop of the run is in the form
	next := 0
	for i := range r.Form.Stops {
		same := func(s schedule.FormStop) bool { return s.Stop.ID == r.Form.Stops[i].Stop.ID }
		if k := slices.IndexFunc(form.Stops[next:], same); k >= 0 {
			at = append(at, slices.Repeat([]int16{int16(next + k)}, i+1-len(at))...)
			next += k + 1
		}
	}
	at = append(at, slices.Repeat([]int16{int16(len(form.Stops) - 1)}, len(r.Form.Stops)-len(at))...)
	start, end = at[from], at[to]
	if start >= end {
		end = min(start+1, max(at[len(at)-1], 1))
		start = end - 1
	}
	return start, end
}

// SeatsLeft tells how many seats are free for a ride.
func (s *State) SeatsLeft(tt *schedule.Timetable, l *schedule.Leg, now time.Time) int {
	held := s.seatings[runKey{tt.Trips[l.Trip].ID, l.Day}]
	if held == nil {
		return tt.Seats(l.Trip)
	}
	return held.free(tt.Form(l.Trip), l.From, l.To, now).count()
}

// reseat finds seats for the legs of a ticket whose hold has run out: the same, or else, with other, any. picked are
// those that others of the same request will get; a ticket that gets all its seats adds them. nil: there are none.
func (t *Ticket) reseat(tt *schedule.Timetable, other bool, picked map[*seating][]hold, now time.Time) (got []int16) {
	legs := slices.Clone(t.Itinerary())
	for i := range legs {
		l, seats := &legs[i], legs[i].Run.seats
		form := seats.present(tt)
		from, to := l.Run.within(form, l.From, l.To)
		free := seats.find(form, from, to, slices.Concat(seats.holds, picked[seats]), now).seats
		switch {
		case free.has(l.Seat):
		case other && free.count() > 0:
			l.Seat = free.together(1)[0]
		default:
			return nil
		}
	}
	for _, l := range legs {
		got = append(got, l.Seat)
		picked[l.Run.seats] = append(picked[l.Run.seats], l.hold(t.ID, math.MaxInt64))
	}
	return got
}

// CheckCreated tells whether a seat of a new booking belongs to somebody else at that instant, in the state before
// the event. It looks at the holds one by one, not at the sets of seats that Create decided by.
func (s *State) CheckCreated(now time.Time, e *Created) error {
	for k, l := range e.Legs {
		run := s.runs[l.Run]
		if i := slices.IndexFunc(e.Runs, func(r *Run) bool { return r.ID == l.Run }); i >= 0 {
			run = e.Runs[i]
		}
		if run == nil || l.From < 0 || l.From >= l.To || int(l.To) >= len(run.Form.Stops) || int(l.Discount) >= len(run.Form.Discounts) {
			return fmt.Errorf("booking %s: leg %d is no ride of a run that was sold", e.ID, k+1)
		}
		for i, t := range e.Tickets {
			if k >= len(t.Seats) || t.Seats[k] < 1 || int(t.Seats[k]) > int(run.Form.Bus.Seats) {
				return fmt.Errorf("ticket %s, seats %d: the bus of leg %d has no such seat", t.ID, t.Seats, k+1)
			}
			leg := Leg{Run: s.runs[l.Run], From: l.From, To: l.To, Seat: t.Seats[k]}
			if first := slices.IndexFunc(e.Tickets, func(t NewTicket) bool { return t.Seats[k] == leg.Seat }); first < i {
				return fmt.Errorf("tickets %s and %s were sold the same seat %d", e.Tickets[first].ID, t.ID, leg.Seat)
			}
			if err := leg.check(t.ID, false, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckSettled does the same for a ticket that was revived, and tells whether it may be paid or booked at all.
func (s *State) CheckSettled(now time.Time, e *Settled, action Action) error {
	_, t := s.AnyTicket(e.Ticket)
	if t == nil {
		return fmt.Errorf("there is no ticket %s", e.Ticket)
	}
	if _, ok := t.next(action, now); !ok {
		return fmt.Errorf("ticket %s is in no state to %s", e.Ticket, action)
	}
	for i, l := range t.Itinerary()[:min(len(e.Seats), len(t.Itinerary()))] {
		l.Seat = e.Seats[i]
		if err := l.check(t.ID, false, now); err != nil {
			return err
		}
	}
	return nil
}

// CheckCanceled tells whether tickets may be canceled or refunded as an event says.
func (s *State) CheckCanceled(now time.Time, e *TicketsCanceled) error {
	for _, c := range e.Tickets {
		_, t := s.AnyTicket(c.ID)
		if t == nil {
			return fmt.Errorf("there is no ticket %s", c.ID)
		}
		if to, ok := t.next(Cancel, now); !ok || (to == Refunded) != c.Refunded {
			return fmt.Errorf("ticket %s is in no state to be canceled so", c.ID)
		}
	}
	return nil
}

// check tells whether another ticket than the leg's holds its seat on a part of its ride at an instant. Rides are
// compared by the stops of the leg's form; with older, only those sold in that form or one before.
func (l *Leg) check(ticket ID, older bool, now time.Time) error {
	if l.Run == nil {
		return nil // nobody was sold it yet
	}
	seats := l.Run.seats
	form := slices.Index(seats.sold, l.Run)
	var other *ID // the lowest: which one is told must not depend on the order of the holds
	for i := range seats.holds {
		h := &seats.holds[i]
		if h.ticket == ticket || h.seat != l.Seat || h.until <= now.UnixMilli() || older && int(h.sold) > form {
			continue
		}
		start, end := seats.sold[h.sold].within(l.Run.Form, h.from, h.to)
		if start < l.To && l.From < end && (other == nil || h.ticket.compare(*other) < 0) {
			other = &h.ticket
		}
	}
	if other == nil {
		return nil
	}
	return fmt.Errorf("seat %d of trip %s on %s is sold to the tickets %s and %s", l.Seat, l.Run.Form.Trip, l.Run.Day, ticket, other)
}

// Books are the figures of an audit.
type Books struct {
	bookings, tickets, runs int
	seats, sold, held       int                 // a seat is sold or held when it is so on any part of its run
	status                  map[string]int      // tickets
	money                   map[string][2]int64 // paid and refunded in minor units, by currency
}

// Audit checks the books at an instant: no seat is sold twice on overlapping parts of a run, what is sold, held and free
// makes up each bus, no refund is above what was paid, and every ticket is in exactly one booking.
func (s *State) Audit(tt *schedule.Timetable, now time.Time) (*Books, error) {
	b := &Books{status: map[string]int{}, money: map[string][2]int64{}}
	holds, sold := map[*seating][]hold{}, map[*seating][]hold{} // as the tickets have them
	for n, of := range s.bookings {
		if of == nil {
			continue
		}
		if b.bookings++; s.byID[of.ID] != uint32(n) {
			return b, fmt.Errorf("booking %s is there twice", of.ID)
		}
		for i := range of.Tickets {
			t := &of.Tickets[i]
			if known, ok := s.byTicket[t.ID]; !ok || known != uint32(n) {
				return b, fmt.Errorf("ticket %s is in booking %s, but is not found there", t.ID, of.ID)
			}
			status, _ := t.Status(now)
			b.status[status]++
			b.tickets++
			paid, money := int64(0), b.money[string(t.Currency[:])]
			if t.Phase == Paid || t.Was == Paid {
				paid = t.Price()
			}
			if t.Refund < 0 || t.Refund > paid || t.Phase == Refunded && t.Was != Paid {
				return b, fmt.Errorf("ticket %s was refunded %d of %d paid", t.ID, t.Refund, paid)
			}
			b.money[string(t.Currency[:])] = [2]int64{money[0] + paid, money[1] + t.Refund}
			for _, l := range t.Itinerary() {
				if !t.live(now) {
					continue
				}
				if err := l.check(t.ID, true, now); err != nil {
					return b, err
				}
				h := l.hold(t.ID, math.MaxInt64)
				if holds[l.Run.seats] = append(holds[l.Run.seats], h); t.Phase != Unpaid {
					sold[l.Run.seats] = append(sold[l.Run.seats], h)
				}
			}
		}
	}
	if b.tickets != len(s.byTicket) {
		return b, fmt.Errorf("%d tickets are in bookings, %d are known", b.tickets, len(s.byTicket))
	}
	for _, run := range s.order {
		if run.seats.sold[0] != run {
			continue // counted in the form it was sold in first
		}
		form := run.seats.present(tt)
		end := int16(len(form.Stops) - 1)
		unheld := func(from, to int16, holds []hold) seatSet { return run.seats.find(form, from, to, holds, now).seats }
		for at := range end {
			if unheld(at, at+1, run.seats.holds) != unheld(at, at+1, holds[run.seats]) {
				return b, fmt.Errorf("trip %s on %s: the seats that are offered from its stop %d on are not those that no ticket has", form.Trip, run.Day, at+1)
			}
		}
		none, some := unheld(0, end, holds[run.seats]), unheld(0, end, sold[run.seats])
		free, unsold := none.count(), some.count()
		b.runs, b.seats = b.runs+1, b.seats+int(form.Bus.Seats)
		b.sold, b.held = b.sold+int(form.Bus.Seats)-unsold, b.held+unsold-free
	}
	return b, nil
}

// String gives the figures in a line.
func (b *Books) String() string {
	s := fmt.Appendf(nil, "%d bookings, %d tickets", b.bookings, b.tickets)
	for _, status := range slices.Sorted(maps.Keys(b.status)) {
		s = fmt.Appendf(s, ", %d %s", b.status[status], status)
	}
	s = fmt.Appendf(s, "; %d runs with %d seats, %d sold, %d held, %d free", b.runs, b.seats, b.sold, b.held, b.seats-b.sold-b.held)
	for _, c := range slices.Sorted(maps.Keys(b.money)) {
		m := b.money[c]
		s = fmt.Appendf(s, "; %s %d.%02d paid, %d.%02d refunded", c, m[0]/100, m[0]%100, m[1]/100, m[1]%100)
	}
	return string(s)
}
