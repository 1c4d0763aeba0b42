// Package seating knows who has which seat of a run, on which part of its way, and what is free: also after
// the run has got other stops or another bus.
//
//	p.Add(seating.Hold{Ticket: id, To: 3, Seat: 7, Until: until}, now)
//	p.Free(form, seating.Ride{Form: form, From: 1, To: 2}, now).Left
package seating

import (
	"math"
	"math/bits"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// A Plan says which ticket has which seat of a run, on which part of the way.
type Plan struct {
	Holds []Hold           // some of which may have run out
	known taken            // by the holds, in the form that was asked for last
	Forms []*schedule.Form // that the run was sold in; see Sell
}

// Hold is a ticket's seat on a part of the run. It is free from Until on.
type Hold struct {
	Ticket   ids.ID
	Until    int64 // Unix milliseconds; forever once booked or paid
	From, To int16 // positions in the form it was sold in
	Seat     int16
	Form     uint16 // position among the plan's
}

// taken has the seats of a form that are taken on each segment, from one stop to the next. It holds until an
// instant, in Unix milliseconds; sales are added to it. A search asks for the seats of hundreds of runs, most
// of which no cache of the processor has: all that it reads of one lies together.
type taken struct {
	form  *schedule.Form
	until int64
	only  bool // the run was sold in no other form
	// By segment: how many passengers there are, also those whose seats are gone, as the bus was larger when
	// they bought; then the seats that are taken, a bit each.
	segments []uint64
	mappings []mapping // by form of the plan
}

// Vacancy is what can be sold for a ride: which seats, and how many. After an import with a smaller bus
// more labels can be free than the bus has room for: passengers whose seats are gone travel all the same.
type Vacancy struct {
	Seats Set
	Left  int
}

// Sell makes a form the last of those that the run was sold in.
func (p *Plan) Sell(form *schedule.Form) {
	p.Forms = append(p.Forms, form)
	p.known = taken{}
}

// Set makes h the ticket's hold.
func (p *Plan) Set(h Hold, now int64) {
	i := slices.IndexFunc(p.Holds, func(old Hold) bool {
		return old.Ticket == h.Ticket
	})
	if i >= 0 {
		p.Holds[i] = h
		p.known = taken{}
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
	p.known.take(p, &h)
}

// forget drops the holds that have run out, which decide nothing any more.
func (p *Plan) forget(now int64) {
	p.Holds = slices.DeleteFunc(p.Holds, func(old Hold) bool {
		return old.Until <= now
	})
}

// Free returns what is free for a ride at an instant, where the run has a form at present: the seats that no
// hold has on a part of the ride, neither in that form nor in those that the ride and the hold were sold in.
func (p *Plan) Free(present *schedule.Form, ride Ride, now time.Time) Vacancy {
	x := p.taken(present, now)
	free := x.free(ride.In(present))
	offered := same(present, ride.Form)
	if offered && x.only {
		return free
	}
	parts := make([]Ride, len(p.Forms)) // of the run that the ride takes in each form
	for i, form := range p.Forms {
		parts[i].From, parts[i].To = ride.In(form)
	}
	for i := range p.Holds {
		h := &p.Holds[i]
		if h.Until <= now.UnixMilli() || !free.Seats.Has(h.Seat) {
			continue
		}
		part := &parts[h.Form]
		if h.From < part.To && part.From < h.To || !offered && ride.Meets(p.Ride(h), ride.Form) {
			free.Seats.remove(h.Seat)
		}
	}
	free.Left = min(free.Left, free.Seats.Count())
	return free
}

// Left returns the number of seats of Free, without finding out which they are.
func (p *Plan) Left(present *schedule.Form, ride Ride, now time.Time) int {
	if x := p.taken(present, now); x.only && same(present, ride.Form) {
		return x.left(ride.From, ride.To)
	}
	return p.Free(present, ride, now).Left
}

// Ride returns the ride that a hold of the plan is for.
func (p *Plan) Ride(h *Hold) Ride {
	return Ride{p.Forms[h.Form], h.From, h.To}
}

// Held returns how many passengers there are between a stop of a form and the next at an instant.
func (p *Plan) Held(form *schedule.Form, at int16, now time.Time) int {
	return int(p.taken(form, now).segment(at)[0])
}

// taken returns the seats of a form that are taken at an instant. It keeps them for the next call.
func (p *Plan) taken(form *schedule.Form, now time.Time) *taken {
	if p.known.form == form && now.UnixMilli() < p.known.until {
		return &p.known
	}
	p.forget(now.UnixMilli())
	x := taken{
		form:  form,
		until: math.MaxInt64,
		only:  !slices.ContainsFunc(p.Forms, func(sold *schedule.Form) bool { return !same(sold, form) }),
	}
	x.segments = make([]uint64, (len(form.Stops)-1)*x.words())
	for i := range p.Holds {
		x.take(p, &p.Holds[i])
	}
	p.known = x
	return &p.known
}

// mapping returns the mapping from a form of a plan, by its position there.
func (x *taken) mapping(p *Plan, form uint16) *mapping {
	for n := len(x.mappings); n <= int(form); n++ {
		x.mappings = append(x.mappings, newMapping(p.Forms[n], x.form))
	}
	return &x.mappings[form]
}

// words is how many numbers a segment takes: one, and one for each 64 seats.
func (x *taken) words() int {
	return 1 + (int(x.form.Bus.Seats)+63)/64
}

// segment returns the passengers, and then the bits of the seats, from a stop to the next.
func (x *taken) segment(at int16) []uint64 {
	n := x.words()
	return x.segments[int(at)*n : int(at+1)*n]
}

// take takes the seat of a hold of a plan on the segments of its ride.
func (x *taken) take(p *Plan, h *Hold) {
	if x.form == nil {
		return // nobody has asked yet
	}
	x.until = min(x.until, h.Until)
	from, to := x.mapping(p, h.Form).ride(h.From, h.To)
	bit := int(h.Seat) - 1
	word := 1 + bit/64
	known := 0 <= bit && word < x.words()
	for at := from; at < to; at++ {
		segment := x.segment(at)
		segment[0]++
		if known {
			segment[word] |= 1 << (bit % 64)
		}
	}
}

// seatsIn returns the bits of the seats that the bus has in the i-th number. Passengers of a larger bus may
// have taken others.
func (x *taken) seatsIn(i int) uint64 {
	beyond := max(0, 64*(i+1)-int(x.form.Bus.Seats))
	return math.MaxUint64 >> beyond
}

// free returns the seats that are taken on no segment between two stops, and how many of them the bus has
// room for.
func (x *taken) free(from, to int16) (free Vacancy) {
	for i := range x.words() - 1 {
		free.Seats[i] = x.seatsIn(i)
		for at := from; at < to; at++ {
			free.Seats[i] &^= x.segment(at)[1+i]
		}
	}
	seats := int(x.form.Bus.Seats)
	free.Left = free.Seats.Count()
	for at := from; at < to; at++ {
		room := max(0, seats-int(x.segment(at)[0]))
		free.Left = min(free.Left, room)
	}
	return free
}

// left returns how many seats free finds.
func (x *taken) left(from, to int16) int {
	n := x.words()
	part := x.segments[int(from)*n : int(to)*n]
	seats := int(x.form.Bus.Seats)
	left := seats
	for i := range n - 1 {
		var taken uint64
		for at := 1 + i; at < len(part); at += n {
			taken |= part[at]
		}
		left -= bits.OnesCount64(taken & x.seatsIn(i))
	}
	for at := 0; at < len(part); at += n {
		left = min(left, seats-int(part[at]))
	}
	return max(0, left)
}
