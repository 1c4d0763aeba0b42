package main

import (
	"slices"
	"time"
)

// Stage 6: what 20 minutes do, and a clock with which to see it.

const paymentWindow = 20 * time.Minute // Limits: payment window

// A Clock is where the server takes the time from. A test clock can be moved and stopped.
type Clock struct {
	isTest, frozen bool
	stands         time.Time     // the time, while it stands still
	ahead          time.Duration // how far it is ahead of the machine's clock, while it ticks
}

// now is the time in whole milliseconds (General conventions, 4).
func (c *Clock) now() time.Time {
	if c.frozen {
		return c.stands
	}
	return time.Now().Add(c.ahead).UTC().Truncate(time.Millisecond)
}

func (c *Clock) set(at time.Time, frozen bool) {
	c.frozen, c.stands, c.ahead = frozen, at.UTC().Truncate(time.Millisecond), time.Until(at)
}

// phaseAt is the phase in which a ticket is at an instant. That the window is over need not be stored: an
// unpaid ticket is Uncompleted from its very end on.
func (t *Ticket) phaseAt(now time.Time) Phase {
	if t.phase == Unpaid && !now.Before(t.booking.created.Add(paymentWindow)) {
		return Uncompleted
	}
	return t.phase
}

// lives tells whether a ticket has its seats.
func (t *Ticket) lives(now time.Time) bool {
	return t.revived || slices.Contains([]Phase{Unpaid, Booked, Paid}, t.phaseAt(now))
}

// revive gives the tickets among these that are Uncompleted seats: their own where those are free, else the
// lowest that are left. If some lack one, no ticket is revived, and the conflict names these.
func (s *Server) revive(tickets []*Ticket, now time.Time) {
	before, without := map[*Ticket][]int{}, []string{}
	for _, onlyOwn := range []bool{true, false} {
		without = nil
		for _, ticket := range tickets {
			if ticket.lives(now) {
				continue
			}
			if seats := s.seatsAgain(ticket, onlyOwn, now); seats != nil {
				before[ticket] = ticket.seats
				ticket.seats, ticket.revived = seats, true
			} else {
				without = append(without, ticket.id)
			}
		}
	}
	for ticket, seats := range before {
		if len(without) > 0 {
			ticket.seats, ticket.revived = seats, false
		}
	}
	refuseIf(len(without) > 0, conflict("NO_SEATS", object{"ordersIds": without}))
}

// seatsAgain are seats for a ticket whose window is over, on each leg its own if it is free. If it is not, it
// is the lowest, unless only its own will do.
func (s *Server) seatsAgain(t *Ticket, onlyOwn bool, now time.Time) []int {
	seats := slices.Clone(t.seats)
	for i, leg := range t.journey {
		free := s.freeSeats(leg, now)
		if slices.Contains(free, seats[i]) {
			continue
		}
		if onlyOwn || len(free) == 0 {
			return nil
		}
		seats[i] = free[0]
	}
	return seats
}

func (s *Server) needsTestClock(*Request) { refuseIf(!s.clock.isTest, notFound) }

func (s *Server) showClock(*Request) answer {
	return ok(200, object{"now": utc(s.clock.now()), "frozen": s.clock.frozen})
}

// moveClock moves the clock, never back, and stops it or has it tick.
func (s *Server) moveClock(r *Request) answer {
	move := struct {
		Advance string
		Now     time.Time
		Frozen  bool
	}{"0", time.Time{}, s.clock.frozen}
	r.body(true, &move)
	duration, err := time.ParseDuration(move.Advance)
	if move.Now.IsZero() {
		move.Now = r.now.Add(duration)
	}
	r.want(err == nil && !move.Now.Before(r.now), "body", "moves the clock back, or says no duration")
	r.check()
	s.clock.set(move.Now, move.Frozen)
	return s.showClock(r)
}
