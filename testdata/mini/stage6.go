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

// seatless are the tickets that are to be revived, beyond those for which seats are left.
func (r *Request) seatless(act Act, tickets []*Ticket) []*Ticket {
	toRevive := where(tickets, func(t *Ticket) bool { return !r.lives(t) && act[Uncompleted] != Canceled })
	return where(toRevive, func(t *Ticket) bool { return slices.Index(toRevive, t) >= r.seatsLeft(t.journey) })
}

// takeSeats gives a ticket that is revived its seats again, or the lowest ones where those are taken.
func (r *Request) takeSeats(t *Ticket) {
	for i, ride := range t.rides {
		free := r.freeSeats(ride.Leg)
		if !r.lives(t) && !slices.Contains(free, ride.seat) {
			t.rides[i].seat = free[0]
		}
	}
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
	r.want(err == nil && !to.Before(r.now), "body", "moves the clock back, or says no duration")
	r.check()
	r.clock = Clock{true, move.Frozen, to, time.Now()}
	return showClock(r)
}
