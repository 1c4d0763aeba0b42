package booking

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"waybill/schedule"
)

// Manifest is who travels on a run, by a view of the state. What it points to never changes.
type Manifest struct {
	Run    *Run // as it is now, see State.Present
	Change RunChange
	Riders []Rider   // who has paid or booked, by where they board, and by seat
	Loads  []Segment // from each stop to the next
}

// Rider is a ticket's ride on the run.
type Rider struct {
	Booking  *Booking
	Ticket   *Ticket
	Leg      Leg
	From, To int16 // positions among the stops of the run as it is now
}

// Segment is how full the bus is from one stop to the next.
type Segment struct {
	Taken int // seats that are paid, booked, or held by who has yet to pay
	Free  int // that can be sold
}

// Manifest returns who travels on a run; nil where there is no such run.
func (s *State) Manifest(tt *schedule.Timetable, name RunName, now time.Time) *Manifest {
	run := s.Present(tt, name)
	if run == nil {
		return nil
	}
	m := &Manifest{Run: run, Change: s.Change(name)}
	for _, o := range s.Riders(name) {
		if o.Ticket.Phase != Paid && o.Ticket.Phase != Booked {
			continue
		}
		for _, l := range o.Ticket.Itinerary() {
			if l.Run.key() != name.key() {
				continue
			}
			from, to := l.Run.within(run.Form, l.From, l.To)
			m.Riders = append(m.Riders, Rider{o.Booking, o.Ticket, l, from, to})
		}
	}
	slices.SortFunc(m.Riders, func(a, b Rider) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.Leg.Seat, b.Leg.Seat),
			a.Ticket.ID.compare(b.Ticket.ID))
	})
	held := cmp.Or(s.seatings[name.key()], new(seating))
	for at := range int16(len(run.Form.Stops) - 1) {
		free := held.free(run.Form, at, at+1, now).left
		m.Loads = append(m.Loads, Segment{int(held.known.held[at]), free})
	}
	return m
}

// Name returns the passenger's name as a list has it; "" where it is erased.
func (r *Rider) Name() string {
	first, last, _, _ := r.Ticket.Passenger.Fields()
	return strings.TrimSpace(last + " " + first)
}
