package main

import (
	"slices"
	"time"
)

// Stage 6: what 20 minutes do, and a clock with which to see it.

const paymentWindow = 20 * time.Minute // Limits: payment window

// A Clock showed an instant when it was set, and ticks from there on unless it is frozen.
type Clock struct {
	isTest, frozen bool
	shown, set     time.Time
}

// now is the time in whole milliseconds (General conventions, 4).
func (c Clock) now() time.Time {
	if !c.frozen {
		c.shown = c.shown.Add(time.Since(c.set))
	}
	return c.shown.UTC().Truncate(time.Millisecond)
}

// phase is that of a ticket now: an unpaid one is Uncompleted from the very end of its window on (Ticket).
func (r *Request) phase(t *Ticket) Phase {
	if t.phase == Unpaid && !r.now.Before(t.created.Add(paymentWindow)) {
		return Uncompleted
	}
	return t.phase
}

// lives tells whether a ticket has its seats.
func (r *Request) lives(t *Ticket) bool {
	return slices.Contains([]Phase{Unpaid, Booked, Paid}, r.phase(t))
}

// held are the rides of a ticket on which its seats are nobody else's.
func (r *Request) held(t *Ticket) []Ride {
	if r.lives(t) {
		return t.rides
	}
	return r.revived[t]
}

// revive gives tickets seats again that have none any more: first those whose own are free on all legs get
// these, then the others the lowest that are left, in their order (tickets.revival in /docs/silent). If some
// lack one, no ticket is revived, and the conflict names these.
func (r *Request) revive(tickets []*Ticket) {
	r.revived = map[*Ticket][]Ride{}
	for _, onlyOwn := range []bool{true, false} {
		for _, ticket := range tickets {
			if r.held(ticket) == nil {
				r.revived[ticket] = r.seatsAgain(ticket, onlyOwn)
			}
		}
	}
	seatless := where(tickets, func(t *Ticket) bool { return r.held(t) == nil })
	refuseIf(seatless != nil, conflict("NO_SEATS", object{"ordersIds": idsOf(seatless)}))
	for ticket, rides := range r.revived {
		ticket.rides = rides
	}
}

// seatsAgain are the rides of a ticket, on each leg with its own seat if it is free. If it is not, it is the
// lowest, unless only its own will do. It is nil where a leg has none.
func (r *Request) seatsAgain(t *Ticket, onlyOwn bool) []Ride {
	rides := slices.Clone(t.rides)
	for i, ride := range rides {
		free := r.freeSeats(ride.Leg)
		if slices.Contains(free, ride.seat) {
			continue
		}
		if onlyOwn || len(free) == 0 {
			return nil
		}
		rides[i].seat = free[0]
	}
	return rides
}

func needsTestClock(r *Request) { refuseIf(!r.clock.isTest, notFound) }

func showClock(r *Request) answer {
	return ok(object{"now": utc(r.clock.now()), "frozen": r.clock.frozen})
}

// moveClock moves the clock, never back, and stops it or has it tick.
func moveClock(r *Request) answer {
	move := struct {
		Advance string
		Now     time.Time
		Frozen  bool
	}{"0", r.now, r.clock.frozen}
	r.body(&move)
	duration, err := time.ParseDuration(move.Advance)
	to := move.Now.Add(duration)
	r.want(err == nil && !to.Before(r.now), "body", "moves the clock back, or is not a duration")
	r.check()
	r.clock = Clock{true, move.Frozen, to, time.Now()}
	return showClock(r)
}
