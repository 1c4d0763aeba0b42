// Package seating knows who has which seat of a run, on which part of its way, and what is free: also after
// the run has got other stops or another bus.
//
//	p.Add(seating.Hold{Ticket: id, To: 3, Seat: 7, Until: until}, now)
//	p.Free(form, 1, 2, now).Left
package seating

import (
	"math"
	"slices"
	"time"

	"waybill/booking/ids"
	"waybill/schedule"
)

// A Plan is who has which seat of a run.
type Plan struct {
	Forms []*schedule.Form // that the run was sold in
	Holds []Hold           // some of which may have run out
	known Taken            // by the holds, in the form that was asked for last
}

// Hold is a ticket's seat on a part of the run. It is free from Until on.
type Hold struct {
	Ticket   ids.ID
	Until    int64 // Unix milliseconds; forever once booked or paid
	From, To int16 // positions in the form it was sold in
	Seat     int16
	Form     uint16 // position among the plan's
}

// Taken are the seats of a form that are taken on each segment, from one stop to the next, a bit each, and
// how many passengers there are. They stay so until an instant, in Unix milliseconds, but for what is sold.
type Taken struct {
	form  *schedule.Form
	until int64
	bits  []uint64 // by segment
	// by segment: also by those whose seats the bus, which was larger when they bought, no longer has
	held []uint16
}

// Vacancy is what a ride can be sold: which seats, and how many of them. After an import with a smaller bus
// there can be more free labels than the bus has room for: those who keep the seats that it no longer has
// travel all the same.
type Vacancy struct {
	Seats Set
	Left  int
}

// Set makes h the ticket's hold.
func (p *Plan) Set(h Hold, now int64) {
	i := slices.IndexFunc(p.Holds, func(old Hold) bool {
		return old.Ticket == h.Ticket
	})
	if i >= 0 {
		p.Holds[i] = h
		p.known = Taken{}
		return
	}
	p.Add(h, now)
}

// Add is Set for a ticket that has no hold.
func (p *Plan) Add(h Hold, now int64) {
	if len(p.Holds) == cap(p.Holds) {
		p.forget(now)
	}
	p.Holds = append(p.Holds, h)
	p.known.take(p.Forms, &h)
}

// forget drops the holds that have run out. They decide nothing any more.
func (p *Plan) forget(now int64) {
	p.Holds = slices.DeleteFunc(p.Holds, func(old Hold) bool {
		return old.Until <= now
	})
}

// Free returns what is free between two stops of a form at an instant.
func (p *Plan) Free(form *schedule.Form, from, to int16, now time.Time) Vacancy {
	return p.taken(form, now).Free(from, to)
}

// Held returns how many passengers there are between a stop of a form and the next at an instant.
func (p *Plan) Held(form *schedule.Form, at int16, now time.Time) int {
	return int(p.taken(form, now).held[at])
}

// taken returns the seats of a form that are taken at an instant. They are kept for the next who asks.
func (p *Plan) taken(form *schedule.Form, now time.Time) *Taken {
	if p.known.form != form || now.UnixMilli() >= p.known.until {
		p.forget(now.UnixMilli())
		p.known = p.Taken(form, p.Holds, now)
	}
	return &p.known
}

// Taken returns the seats of a form that holds have at an instant.
func (p *Plan) Taken(form *schedule.Form, holds []Hold, now time.Time) Taken {
	x := Taken{form: form, until: math.MaxInt64}
	segments := len(form.Stops) - 1
	x.bits = make([]uint64, segments*x.words())
	x.held = make([]uint16, segments)
	for i := range holds {
		if holds[i].Until > now.UnixMilli() {
			x.take(p.Forms, &holds[i])
		}
	}
	return x
}

// words is how many numbers of 64 bits hold the seats of a segment.
func (x *Taken) words() int {
	return (int(x.form.Bus.Seats) + 63) / 64
}

// take takes a hold's seat on the segments of its ride.
func (x *Taken) take(forms []*schedule.Form, h *Hold) {
	if x.form == nil {
		return // nobody has asked yet
	}
	x.until = min(x.until, h.Until)
	start, end := Within(forms[h.Form], x.form, h.From, h.To)
	bit := int(h.Seat) - 1
	n := x.words()
	known := 0 <= bit && bit < 64*n
	for at := start; at < end; at++ {
		x.held[at]++
		if known {
			word := int(at)*n + bit/64
			x.bits[word] |= 1 << (bit % 64)
		}
	}
}

// Free returns the seats that are taken on no segment between two stops, and how many of them the bus has
// room for.
func (x *Taken) Free(from, to int16) (free Vacancy) {
	n := x.words()
	seats := int(x.form.Bus.Seats)
	for i := range n {
		beyond := max(0, 64*(i+1)-seats)
		free.Seats[i] = math.MaxUint64 >> beyond
		for at := from; at < to; at++ {
			free.Seats[i] &^= x.bits[int(at)*n+i]
		}
	}
	free.Left = free.Seats.Count()
	for at := from; at < to; at++ {
		room := max(0, seats-int(x.held[at]))
		free.Left = min(free.Left, room)
	}
	return free
}

// Within returns the part of a form that a ride covers which was sold in another. A stop that is gone counts
// as the next one that remains; a ride whose stops are all gone still has its seat for one segment.
func Within(sold, form *schedule.Form, from, to int16) (start, end int16) {
	if sold == form || sold.Key() == form.Key() {
		return from, to
	}
	at := stopsIn(sold, form)
	start = at[from]
	end = at[to]
	if start >= end {
		last := at[len(at)-1]
		end = min(start+1, max(last, 1))
		start = end - 1
	}
	return start, end
}

// stopsIn returns where in a form each stop is of the form that a ride was sold in.
func stopsIn(sold, form *schedule.Form) []int16 {
	at := make([]int16, len(sold.Stops))
	last := int16(len(form.Stops) - 1)
	for i := range at {
		at[i] = last // where neither it nor one after it remains
	}
	next := 0 // in the form
	done := 0 // stops of the ride
	for i := range sold.Stops {
		id := sold.Stops[i].Stop.ID
		k := slices.IndexFunc(form.Stops[next:], func(s schedule.FormStop) bool {
			return s.Stop.ID == id
		})
		if k < 0 {
			continue
		}
		for ; done <= i; done++ {
			at[done] = int16(next + k)
		}
		next += k + 1
	}
	return at
}
