package booking

import (
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
const maxKnown = 4

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

// add is set for a ticket that has no hold.
func (s *seating) add(h hold, now int64) {
	if len(s.holds) == cap(s.holds) {
		s.forget(now)
	}
	s.holds = append(s.holds, h)
	for i := range s.known {
		s.known[i].take(s.sold, &h)
	}
}

// forget drops the holds that have run out. They decide nothing any more.
func (s *seating) forget(now int64) {
	s.holds = slices.DeleteFunc(s.holds, func(old hold) bool { return old.until <= now })
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

func (s *seatSet) has(seat int16) bool {
	return seat > 0 && int(seat) <= 64*len(s) && s[(seat-1)/64]>>((seat-1)%64)&1 == 1
}

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
	s.forget(now.UnixMilli())
	s.known = append(s.known, left{})
	x := &s.known[len(s.known)-1]
	s.find(x, form, from, to, s.holds, now)
	return &x.seats
}

// find sets x to the seats of a form that none of the holds has between two of its stops at an instant.
func (s *seating) find(x *left, form *schedule.Form, from, to int16, holds []hold, now time.Time) {
	*x = left{form: form, from: from, to: to, until: math.MaxInt64}
	for i, n := 0, int(form.Bus.Seats); n > 0; i, n = i+1, n-64 {
		x.seats[i] = math.MaxUint64 >> max(0, 64-n)
	}
	at := now.UnixMilli()
	for i := range holds {
		if h := &holds[i]; h.until > at {
			x.take(s.sold, h)
		}
	}
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
		var free left
		seats.find(&free, form, from, to, slices.Concat(seats.holds, picked[seats]), now)
		switch {
		case free.seats.has(l.Seat):
		case other && free.seats.count() > 0:
			l.Seat = free.seats.together(1)[0]
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
