package booking

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// What a carrier changes of a run that may have been sold: it cancels it, moves it in time, or takes that
// back (decision runs.named). A run that is moved becomes another Run, with the same stops and seats and
// another start, and all bookings of it are replaced by ones that name that. So what was handed out before
// stays as it was.

// MaxShift is how far a run may be moved, in minutes, both ways.
const MaxShift = 720

var (
	// ErrUnchanged is the reason why not where a run is already as it shall be.
	ErrUnchanged = errors.New("nothing to change")
	// ErrNoRun is the reason why not for a run that does not exist.
	ErrNoRun    = errors.New("the timetable has no such run, and no ticket was sold for it")
	errOver     = errors.New("the run is over")
	errCanceled = errors.New("the run is cancelled")
)

// Change returns the change of a run; the zero Change where the carrier has changed nothing.
func (s *State) Change(run ids.RunName) RunChange {
	if c := s.runChanges[run.Key()]; c != nil {
		return *c
	}
	return RunChange{Run: run}
}

// changesKept is how many days after its service day a change counts in a timetable: no run takes longer.
const changesKept = 14

// Changes returns the changes of the runs that are not over at an instant, for a timetable.
func (s *State) Changes(now time.Time) map[schedule.RunKey]schedule.Change {
	all := map[schedule.RunKey]schedule.Change{}
	for key, c := range s.runChanges {
		if key.Day+changesKept >= schedule.DayOf(now) {
			all[key] = c.Change
		}
	}
	return all
}

// AllChanges returns the changes of all runs, by day and trip.
func (s *State) AllChanges() []*RunChange {
	return slices.SortedFunc(maps.Values(s.runChanges), func(a, b *RunChange) int {
		return a.Run.Compare(b.Run)
	})
}

// RestoreChange puts back a change of a snapshot.
func (s Recorder) RestoreChange(c *RunChange) {
	key := c.Run.Key()
	s.runChanges[key] = c
	if s.seatings[key] != nil {
		s.seatings[key].change = c
	}
}

// CancelRun decides to cancel a run. Tickets that are pending follow once the provider has answered; waits
// is their number. Errors: ErrUnchanged, and a text that says what is in the way.
func (s *State) CancelRun(now time.Time, tt *schedule.Timetable, run ids.RunName, reason string,
	phones bool) (e *RunCanceled, waits int, err error) {
	// A cancellation that left tickets alive is finished even after the run is over.
	if _, err := s.ahead(now, tt, run); err != nil && !s.Change(run).Canceled {
		return nil, 0, err
	}
	list, waits := s.canceledWith(now, run, nil)
	if s.Change(run).Canceled && len(list) == 0 {
		return nil, waits, ErrUnchanged
	}
	return s.runCanceled(run, reason, list, phones), waits, nil
}

// runCanceled returns the event, with whom there is to tell of each ticket.
func (s *State) runCanceled(run ids.RunName, reason string, list []CanceledWithRun,
	phones bool) *RunCanceled {
	for i := range list {
		list[i].Sends = s.Contacts(list[i].ID, phones)
	}
	return &RunCanceled{Run: run, Reason: reason, Tickets: list}
}

// canceledWith returns the tickets that are cancelled with a run, and how many wait for the provider's answer
// first. A ticket that was answered just now is passed as it is after the answer; answered may be nil.
func (s *State) canceledWith(
	now time.Time,
	run ids.RunName,
	answered *Ticket,
) (list []CanceledWithRun, waits int) {
	for _, o := range s.Riders(run) {
		t := o.Ticket
		if answered != nil && answered.ID == t.ID {
			t = answered
		}
		x, ok := s.cancelWithRun(now, o.Booking, t)
		switch {
		case t.Pending != 0:
			waits++
		case ok:
			list = append(list, x)
		}
	}
	return list, waits
}

// cancelWithRun returns how a ticket is cancelled with its run; false where its phase does not allow it.
func (s *State) cancelWithRun(now time.Time, b *Booking, t *Ticket) (x CanceledWithRun, ok bool) {
	to, ok := t.next(CancelRun, now)
	if !ok {
		return x, false
	}
	x = CanceledWithRun{
		Partner: b.Partner,
		Booking: b.ID,
		ID:      t.ID,
	}
	if to == Refunded {
		x.Refunded = true
		x.Refund = t.Price()
	}
	return x, true
}

// CancelAnswered decides what follows from an answer of the provider, where the run was cancelled
// meanwhile. The ticket is cancelled, too, and so are others that a crash has left alive after their own
// answers. It returns nil where nothing follows.
func (s *State) CancelAnswered(
	now time.Time,
	ticket ids.ID,
	verdict Verdict,
	phones bool,
) *RunCanceled {
	_, t := s.AnyTicket(ticket)
	c := t.cancellation()
	if c == nil {
		return nil
	}
	after := *t
	after.Pending = 0
	if verdict == Confirm {
		after.Phase, _ = t.next(t.Pending, now)
	}
	list, _ := s.canceledWith(now, c.Run, &after)
	if list == nil {
		return nil
	}
	return s.runCanceled(c.Run, c.Reason, list, phones)
}

// cancellation returns the cancellation of a run that the ticket is on; nil where none is cancelled.
func (t *Ticket) cancellation() *RunChange {
	for _, l := range t.Itinerary() {
		if c := l.Run.seats.change; c != nil && c.Canceled {
			return c
		}
	}
	return nil
}

// Unfinished returns the cancelled runs that still have tickets which live and are not pending. A crash
// came between an answer and what followed from it.
func (s *State) Unfinished(now time.Time) (runs []ids.RunName) {
	for _, c := range s.runChanges {
		if c.Canceled && slices.ContainsFunc(s.Riders(c.Run), func(o Order) bool {
			return o.Ticket.live(now) && o.Ticket.Pending == 0
		}) {
			runs = append(runs, c.Run)
		}
	}
	slices.SortFunc(runs, ids.RunName.Compare)
	return runs
}

// RestoreRun decides to take back the cancellation of a run, or else its move. It does so only as long as
// nothing followed: no ticket was cancelled with the run, or nobody has a ticket for the moved one. Errors:
// ErrUnchanged, and a text that says what is in the way.
func (s *State) RestoreRun(
	now time.Time,
	tt *schedule.Timetable,
	run ids.RunName,
	reason string,
) (*RunRestored,
	error) {
	if _, err := s.ahead(now, tt, run); err != nil {
		return nil, err
	}
	if err := s.mayRestore(run); err != nil {
		return nil, err
	}
	return &RunRestored{Run: run, Reason: reason}, nil
}

// mayRestore returns an error where something has followed from the change of a run.
func (s *State) mayRestore(run ids.RunName) error {
	was := s.Change(run)
	switch {
	case was.Change == (schedule.Change{}):
		return ErrUnchanged
	case was.Canceled && was.Tickets > 0:
		return errors.New("tickets were cancelled with the run, so it stays cancelled")
	case !was.Canceled && len(s.Riders(run)) > 0:
		return errors.New(
			"tickets were sold for the run at its new time; move it by 0 minutes instead, so that " +
				"passengers are told",
		)
	}
	return nil
}

// ahead returns the run as it is now: in the timetable in force, or else as it was sold last. It is an
// error where the run does not exist, or is over.
func (s *State) ahead(now time.Time, tt *schedule.Timetable, name ids.RunName) (*Run, error) {
	run := s.Present(tt, name)
	switch {
	case run == nil:
		return nil, fmt.Errorf("%s: %w", name, ErrNoRun)
	case !run.Arr(int16(len(run.Form.Stops) - 1)).After(now):
		return nil, errOver
	}
	return run, nil
}

// Present returns a run as it is now, in the timetable in force or else as it was sold last; nil where
// neither has it.
func (s *State) Present(tt *schedule.Timetable, name ids.RunName) *Run {
	trip, known := tt.TripByID(name.Trip)
	if known && tt.Scheduled(trip, name.Day) {
		start := tt.Start(&schedule.Leg{Trip: trip, Day: name.Day})
		return NewRun(tt.Form(trip), name.Day, start, tt.Offsets(trip, start))
	}
	held := s.seatings[name.Key()]
	if held == nil {
		return nil
	}
	// A ticket is for the run as it is now: the run may have been moved away and back.
	for _, o := range slices.Backward(s.Riders(name)) {
		for _, l := range o.Ticket.Itinerary() {
			if l.Run.seats == held {
				return l.Run
			}
		}
	}
	return held.sold[len(held.sold)-1]
}

// Riders returns the tickets that have a ride on a run, whatever their state, in the order of their bookings.
func (s *State) Riders(run ids.RunName) (list []Order) {
	key := run.Key()
	for _, n := range s.bookingsOf(key) {
		b := s.at(n)
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if t.rides(run) {
				list = append(list, Order{b, t})
			}
		}
	}
	return list
}

// bookingsOf returns the numbers of the bookings that have a ticket on a run, rising.
func (s *State) bookingsOf(key schedule.RunKey) []uint32 {
	if held := s.seatings[key]; held != nil {
		return held.bookings
	}
	return nil
}

// addBooking records that a booking has a ticket on the run.
func (s *seats) addBooking(number uint32) {
	if n := len(s.bookings); n == 0 || s.bookings[n-1] < number {
		s.bookings = append(s.bookings, number) // a new one, as almost always
		return
	}
	at, known := slices.BinarySearch(s.bookings, number)
	if !known {
		s.bookings = slices.Insert(s.bookings, at, number)
	}
}

// leave records that a ticket is no longer in the booking. The booking may have other tickets on the same
// runs.
func (b *Booking) leave(t *Ticket) {
	for _, l := range t.Itinerary() {
		seats := l.Run.seats
		others := slices.ContainsFunc(b.Tickets, func(other Ticket) bool {
			return slices.ContainsFunc(
				other.Itinerary(),
				func(x Leg) bool { return x.Run.seats == seats },
			)
		})
		at, known := slices.BinarySearch(seats.bookings, b.number)
		if known && !others {
			seats.bookings = slices.Delete(seats.bookings, at, at+1)
		}
	}
}
