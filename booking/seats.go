package booking

import (
	"math"
	"slices"
	"time"

	"waybill/booking/seatset"
	"waybill/schedule"
)

// key returns what names the run across timetables.
func (r *Run) key() schedule.RunKey {
	return schedule.RunKey{Trip: r.Form.TripKey(), Day: r.Day}
}

// seating is who holds which seat of a run.
type seating struct {
	sold  []*Run // the forms it was sold in
	holds []hold
	known taken // by the holds, in the form that was asked for last

	// bookings are the numbers of those that have a ticket on the run, whatever its state; rising.
	bookings []uint32
	change   *RunChange // what its carrier has changed; nil is nothing
}

// taken are the seats of a form that are taken on each segment, from one stop to the next, a bit each, and
// how many passengers there are. They stay so until an instant, in Unix milliseconds, but for what is sold.
type taken struct {
	form  *schedule.Form
	until int64
	bits  []uint64 // by segment
	// by segment: also by those whose seats the bus, which was larger when they bought, no longer has
	held []uint16
}

// vacancy is what a ride can be sold: which seats, and how many of them. After an import with a smaller bus
// there can be more free labels than the bus has room for: those who keep the seats that it no longer has
// travel all the same.
type vacancy struct {
	seats seatset.Set
	left  int
}

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
	i := slices.IndexFunc(s.holds, func(old hold) bool {
		return old.ticket == h.ticket
	})
	if i >= 0 {
		s.holds[i] = h
		s.known = taken{}
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
	s.known.take(s.sold, &h)
}

// forget drops the holds that have run out. They decide nothing any more.
func (s *seating) forget(now int64) {
	s.holds = slices.DeleteFunc(s.holds, func(old hold) bool {
		return old.until <= now
	})
}

// words is how many numbers of 64 bits hold the seats of a segment.
func (x *taken) words() int {
	return (int(x.form.Bus.Seats) + 63) / 64
}

// take takes a hold's seat on the segments of its ride.
func (x *taken) take(sold []*Run, h *hold) {
	if x.form == nil {
		return // nobody has asked yet
	}
	x.until = min(x.until, h.until)
	start, end := sold[h.sold].within(x.form, h.from, h.to)
	bit := int(h.seat) - 1
	n := x.words()
	for at := int(start); at < int(end); at++ {
		x.held[at]++
		if 0 <= bit && bit < 64*n {
			x.bits[at*n+bit/64] |= 1 << (bit % 64)
		}
	}
}

// sit assigns a ticket its seats, by leg, or else those it had, for as long as its phase says.
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

// present is the run in the timetable in force, whose seats are asked for; where its trip is gone, as last
// sold.
func (s *seating) present(tt *schedule.Timetable) *schedule.Form {
	return presentForm(tt, s.sold[len(s.sold)-1])
}

// presentForm is the form of a run in the timetable in force, or, where its trip is gone, the form it was
// sold in last.
func presentForm(tt *schedule.Timetable, last *Run) *schedule.Form {
	trip, known := tt.TripByID(last.Form.Trip)
	if known && tt.RunsOn(trip, last.Day) {
		return tt.Form(trip)
	}
	return last.Form
}

// free returns what is free between two stops of a form at an instant.
func (s *seating) free(form *schedule.Form, from, to int16, now time.Time) vacancy {
	if s.known.form != form || now.UnixMilli() >= s.known.until {
		s.forget(now.UnixMilli())
		s.known = s.taken(form, s.holds, now)
	}
	return s.known.free(from, to)
}

// taken returns the seats of a form that holds have at an instant.
func (s *seating) taken(form *schedule.Form, holds []hold, now time.Time) taken {
	x := taken{form: form, until: math.MaxInt64}
	segments := len(form.Stops) - 1
	x.bits, x.held = make([]uint64, segments*x.words()), make([]uint16, segments)
	for i := range holds {
		if holds[i].until > now.UnixMilli() {
			x.take(s.sold, &holds[i])
		}
	}
	return x
}

// free returns the seats that are taken on no segment between two stops, and how many of them the bus has
// room for.
func (x *taken) free(from, to int16) (free vacancy) {
	n := x.words()
	for i := range n {
		free.seats[i] = math.MaxUint64 >> max(0, 64*(i+1)-int(x.form.Bus.Seats))
		for at := int(from)*n + i; at < int(to)*n; at += n {
			free.seats[i] &^= x.bits[at]
		}
	}
	free.left = free.seats.Count()
	for at := from; at < to; at++ {
		free.left = min(free.left, max(0, int(x.form.Bus.Seats)-int(x.held[at])))
	}
	return free
}

// within returns the part of a form that a ride of the run covers. A stop that is gone counts as the next one
// that remains; a ride whose stops are all gone still has its seat for one segment.
func (r *Run) within(form *schedule.Form, from, to int16) (start, end int16) {
	if r.Form == form || r.Form.Key() == form.Key() {
		return from, to
	}
	var at []int16 // where each stop of the run is in the form
	next := 0
	for i := range r.Form.Stops {
		same := func(s schedule.FormStop) bool {
			return s.Stop.ID == r.Form.Stops[i].Stop.ID
		}
		k := slices.IndexFunc(form.Stops[next:], same)
		if k >= 0 {
			at = append(at, slices.Repeat([]int16{int16(next + k)}, i+1-len(at))...)
			next += k + 1
		}
	}
	at = append(at, slices.Repeat([]int16{int16(len(form.Stops) - 1)}, len(r.Form.Stops)-len(at))...)
	start = at[from]
	end = at[to]
	if start >= end {
		end = min(start+1, max(at[len(at)-1], 1))
		start = end - 1
	}
	return start, end
}

// SeatsLeft returns how many seats are free for a ride.
func (s *State) SeatsLeft(tt *schedule.Timetable, l *schedule.Leg, now time.Time) int {
	held := s.seatings[schedule.RunKey{Trip: tt.TripKey(l.Trip), Day: l.Day}]
	if held == nil {
		return tt.Seats(l.Trip)
	}
	return held.free(tt.Form(l.Trip), l.From, l.To, now).left
}

// reseat finds seats for the legs of a ticket whose hold has run out: the same, or else, with other, any.
// picked are those that others of the same request will get; a ticket that gets all its seats adds them. nil:
// there are none.
func (t *Ticket) reseat(tt *schedule.Timetable, other bool, picked map[*seating][]hold,
	now time.Time) (got []int16) {
	legs := slices.Clone(t.Itinerary())
	for i := range legs {
		l := &legs[i]
		seats := legs[i].Run.seats
		form := seats.present(tt)
		held := seats.taken(form, slices.Concat(seats.holds, picked[seats]), now)
		free := held.free(l.Run.within(form, l.From, l.To))
		switch {
		case free.left == 0:
			return nil
		case free.seats.Has(l.Seat):
		case other:
			l.Seat = free.seats.Together(1)[0]
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
