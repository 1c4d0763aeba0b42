package main

import (
	"slices"
	"time"
)

// Stage 6: what 20 minutes do, and a clock with which to see it.

const paymentWindow = 20 * time.Minute // Limits: payment window

// A Clock is where the server takes the time from: it showed an instant when it was set, and ticks from there
// on unless it is frozen.
type Clock struct {
	isTest, frozen bool
	shown, set     time.Time
}

// now is the time in whole milliseconds (General conventions, 4).
func (c *Clock) now() time.Time {
	if c.frozen {
		return c.shown
	}
	return c.shown.Add(time.Since(c.set)).Truncate(time.Millisecond)
}

func (c *Clock) show(at time.Time, frozen bool) {
	c.shown, c.set, c.frozen = at.UTC().Truncate(time.Millisecond), time.Now(), frozen
}

// phaseAt is the phase in which a ticket is at an instant: an unpaid one is Uncompleted from the very end of
// its window on (States and transitions, Ticket).
func (t *Ticket) phaseAt(now time.Time) Phase {
	if t.phase == Unpaid && !now.Before(t.created.Add(paymentWindow)) {
		return Uncompleted
	}
	return t.phase
}

// lives tells whether a ticket has its seats.
func (t *Ticket) lives(now time.Time) bool {
	return slices.Contains([]Phase{Unpaid, Booked, Paid}, t.phaseAt(now))
}

// seatless are the tickets that are to be revived, beyond those for which seats are left.
func (s *Server) seatless(tickets []*Ticket, now time.Time) []*Ticket {
	lapsed := where(tickets, func(t *Ticket) bool { return !t.lives(now) })
	return where(lapsed, func(t *Ticket) bool { return slices.Index(lapsed, t) >= s.seatsLeft(t.journey, now) })
}

// takeSeats gives a ticket that is revived its seats again, or the lowest ones where those are taken.
func (s *Server) takeSeats(t *Ticket, now time.Time) {
	for i, ride := range t.rides {
		free := s.freeSeats(ride.Leg, now)
		if !t.lives(now) && !slices.Contains(free, ride.seat) {
			t.rides[i].seat = free[0]
		}
	}
}

func (s *Server) needsTestClock(*Request) { refuseIf(!s.clock.isTest, notFound) }

// showClock is GET /test/clock.
func (s *Server) showClock(*Request) answer {
	return ok(200, object{"now": utc(s.clock.now()), "frozen": s.clock.frozen})
}

// moveClock is POST /test/clock. It moves the clock, never back, and stops it or has it tick.
func (s *Server) moveClock(r *Request) answer {
	move := struct {
		Advance string
		Now     time.Time
		Frozen  bool
	}{"0", r.now, s.clock.frozen}
	r.body(&move)
	duration, err := time.ParseDuration(move.Advance)
	to := move.Now.Add(duration)
	r.want(err == nil && !to.Before(r.now), "body", "moves the clock back, or says no duration")
	r.check()
	s.clock.show(to, move.Frozen)
	return s.showClock(r)
}
