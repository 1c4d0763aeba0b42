package booking

import (
	"cmp"
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

// seating is who holds which seat of a run.
type seating struct {
	sold  []*Run // the forms it was sold in
	holds []hold
}

// hold is a ticket's seat on a part of the run. It is free from until on.
type hold struct {
	ticket   ID
	until    int64 // Unix milliseconds; forever once booked or paid
	from, to int16 // positions in the form it was sold in
	seat     int16
	sold     uint16 // which form
}

const forever = math.MaxInt64

// set gives a ticket its seat, or changes until when it has it. Holds that have
// run out by now decide nothing any more and are dropped when room is needed.
func (s *seating) set(h hold, run *Run, now int64) {
	h.sold = uint16(slices.Index(s.sold, run))
	for i := range s.holds {
		if s.holds[i].ticket == h.ticket {
			s.holds[i] = h
			return
		}
	}
	if len(s.holds) == cap(s.holds) {
		s.holds = slices.DeleteFunc(s.holds, func(h hold) bool { return h.until <= now })
	}
	s.holds = append(s.holds, h)
}

// drop gives a ticket's seat back.
func (s *seating) drop(ticket ID) {
	s.holds = slices.DeleteFunc(s.holds, func(h hold) bool { return h.ticket == ticket })
}

// seats is a set of seats, a bit each; the first is seat 1.
type seats [(schedule.MaxSeats + 63) / 64]uint64

func (s *seats) has(seat int16) bool {
	return seat > 0 && int(seat) <= len(s)*64 && s[(seat-1)/64]>>((seat-1)%64)&1 == 1
}

func (s *seats) remove(seat int16) {
	if s.has(seat) {
		s[(seat-1)/64] &^= 1 << ((seat - 1) % 64)
	}
}

func (s *seats) count() (n int) {
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// present is how a run is in the timetable in force, in whose terms seats are
// asked for. One whose trip is gone is as it was last sold.
func (s *seating) present(tt *schedule.Timetable) *schedule.Form {
	last := s.sold[len(s.sold)-1]
	if trip, known := tt.TripByID(last.Form.Trip); known && tt.RunsOn(trip, last.Day) {
		return tt.Form(trip)
	}
	return last.Form
}

// free gives the seats that are free between two stops of a form at an instant.
func (s *seating) free(form *schedule.Form, from, to int16, now time.Time) (free seats) {
	for i := range free {
		free[i] = math.MaxUint64 >> min(64, max(0, (i+1)*64-int(form.Bus.Seats)))
	}
	ms := now.UnixMilli()
	for i := range s.holds {
		if h := &s.holds[i]; h.until > ms {
			if start, end := s.sold[h.sold].within(form, h.from, h.to); start < to && from < end {
				free.remove(h.seat)
			}
		}
	}
	return free
}

// within gives the part of a form that a ride of the run covers. A stop that is
// gone counts as the next one that remains; a ride whose stops are all gone still has its seat for one segment.
func (r *Run) within(form *schedule.Form, from, to int16) (start, end int16) {
	if r.Form.Key() == form.Key() {
		return from, to
	}
	at := positions(r.Form, form)
	start, end = at[from], at[to]
	if last := slices.Max(at); start >= end {
		end = min(start+1, max(last, 1))
		start = end - 1
	}
	return start, end
}

// positions tells where each stop of a form is in another of the same trip.
func positions(of, in *schedule.Form) []int16 {
	list := make([]int16, len(of.Stops))
	at := 0
	for i := range of.Stops {
		list[i] = -1
		same := func(s schedule.FormStop) bool { return s.Stop.ID == of.Stops[i].Stop.ID }
		if k := slices.IndexFunc(in.Stops[at:], same); k >= 0 {
			at += k
			list[i] = int16(at)
			at++
		}
	}
	next := int16(len(in.Stops) - 1)
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] < 0 {
			list[i] = next
		}
		next = list[i]
	}
	return list
}

// together picks n seats: the first n in a row, or else the first n there are.
func (s *seats) together(n int) []int16 {
	var all []int16
	for seat := int16(1); int(seat) <= len(s)*64; seat++ {
		if !s.has(seat) {
			continue
		}
		all = append(all, seat)
		if k := len(all) - n; k >= 0 && seat-all[k] == int16(n-1) {
			return all[k:]
		}
	}
	return all[:min(n, len(all))]
}

// freeFor gives the seats that are free for a ride.
func (s *State) freeFor(tt *schedule.Timetable, l *schedule.Leg, now time.Time) seats {
	if x := s.seatings[runKey{tt.Trips[l.Trip].ID, l.Day}]; x != nil {
		return x.free(tt.Form(l.Trip), l.From, l.To, now)
	}
	return new(seating).free(tt.Form(l.Trip), l.From, l.To, now)
}

// SeatsLeft tells how many seats are free for a ride.
func (s *State) SeatsLeft(tt *schedule.Timetable, l *schedule.Leg, now time.Time) int {
	if s.seatings[runKey{tt.Trips[l.Trip].ID, l.Day}] == nil {
		return tt.Seats(l.Trip)
	}
	free := s.freeFor(tt, l, now)
	return free.count()
}

// reseat finds seats for the legs of a ticket whose hold has run out: the same,
// or else, with other, any. picked are the seats that others of the same request
// will get; a ticket that gets all its seats adds them. nil: there are none.
func (s *State) reseat(tt *schedule.Timetable, t *Ticket, other bool, picked *[]pick, now time.Time) (got []int16) {
	mine := *picked
	for _, l := range t.Itinerary() {
		form := l.Run.seats.present(tt)
		from, to := l.Run.within(form, l.From, l.To)
		free := l.Run.seats.free(form, from, to, now)
		for _, x := range mine {
			if x.seating == l.Run.seats && x.from < to && from < x.to {
				free.remove(x.seat)
			}
		}
		seat := l.Seat
		if !free.has(seat) {
			any := free.together(1)
			if len(any) == 0 || !other {
				return nil
			}
			seat = any[0]
		}
		got = append(got, seat)
		mine = append(mine, pick{l.Run.seats, from, to, seat})
	}
	*picked = mine
	return got
}

// pick is a seat that is about to be taken.
type pick struct {
	seating  *seating
	from, to int16
	seat     int16
}

// overlapping gives tickets that hold a seat of the ticket's on a part of its
// ride at an instant. It looks at the holds one by one, and so checks what was sold by sets of seats.
// Rides are compared by the stops of run's form; with older, only those sold in that form or one before.
func (s *State) overlapping(ticket ID, run *Run, from, to, seat int16, older bool, now time.Time) (others []ID) {
	form := slices.Index(run.seats.sold, run)
	for _, h := range run.seats.holds {
		start, end := run.seats.sold[h.sold].within(run.Form, h.from, h.to)
		if h.ticket != ticket && h.seat == seat && (!older || int(h.sold) <= form) && h.until > now.UnixMilli() && start < to && from < end {
			others = append(others, h.ticket)
		}
	}
	slices.SortFunc(others, func(a, b ID) int { return cmp.Compare(string(a[:]), string(b[:])) })
	return others
}
