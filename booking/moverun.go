package booking

import (
	"cmp"
	"fmt"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// MoveRun decides that a run leaves so many minutes later than its timetable says. missed is the number of
// tickets that live and then have a change that cannot be made. Errors: ErrUnchanged, and a text that says
// what is in the way.
func (s *State) MoveRun(
	now time.Time,
	tt *schedule.Timetable,
	run ids.RunName,
	minutes int,
	reason string,
	phones bool,
) (e *RunMoved, missed int, err error) {
	present, by, err := s.mayMove(now, tt, run, minutes)
	if err != nil {
		return nil, 0, err
	}
	e = &RunMoved{
		Run:     run,
		Minutes: minutes,
		Reason:  reason,
		Tickets: s.informed(now, run),
	}
	for i := range e.Tickets {
		e.Tickets[i].Sends = s.Contacts(e.Tickets[i].ID, phones)
	}
	moves := by != 0
	became := map[*Run]*Run{}
	for _, o := range s.Riders(run) {
		for _, l := range o.Ticket.Itinerary() {
			if l.Run.key() != run.Key() || became[l.Run] != nil {
				continue
			}
			m, err := l.Run.moved(present, by)
			if err != nil {
				return nil, 0, err
			}
			e.Runs = append(e.Runs, m)
			became[l.Run] = NewRun(l.Run.Form, l.Run.Day, m.Start, m.Offsets)
			moves = moves || m.Aligned
		}
		if o.Ticket.live(now) && o.Ticket.missesChange(became) {
			missed++
		}
	}
	if !moves {
		return nil, 0, ErrUnchanged
	}
	return e, missed, nil
}

// mayMove returns a run as it is now, and by how many seconds it moves.
func (s *State) mayMove(now time.Time, tt *schedule.Timetable, run ids.RunName,
	minutes int) (present *Run, by int64, err error) {
	if minutes < -MaxShift || minutes > MaxShift {
		return nil, 0, fmt.Errorf("%d minutes are too many: a run can be moved by %d at "+
			"most", minutes, MaxShift)
	}
	present, err = s.ahead(now, tt, run)
	if err != nil {
		return nil, 0, err
	}
	was := s.Change(run)
	if was.Canceled {
		return nil, 0, errCanceled
	}
	by = int64(minutes)*60 - int64(was.Shift)
	leaves := present.Dep(0).Add(time.Duration(by) * time.Second)
	// Such a mistake could not be taken back, as the run would be over.
	if by < 0 && leaves.Before(now) {
		there := func(at time.Time) string { return present.Local(at, 0).Format("2006-01-02 15:04 -07:00") }
		return nil, 0, fmt.Errorf("it would have left at %s, and the time there is %s", there(leaves), there(now))
	}
	return present, by, nil
}

// informed returns the live tickets of a run, whose passengers are informed.
func (s *State) informed(now time.Time, run ids.RunName) (list []InformedTicket) {
	for _, o := range s.Riders(run) {
		if o.Ticket.live(now) {
			list = append(list, InformedTicket{
				Partner: o.Booking.Partner,
				Booking: o.Booking.ID,
				ID:      o.Ticket.ID,
			})
		}
	}
	return list
}

// moved returns the run that replaces one that was sold, where the run as it is now moves by so many
// seconds. Where a timetable was imported between, the sold run leaves the first stop that both have when
// the bus does.
func (r *Run) moved(present *Run, by int64) (m MovedRun, err error) {
	m = MovedRun{Was: r.ID, Start: r.Start + by}
	if at, ok := r.alignedWith(present); ok && at+by != m.Start {
		m.Start = at + by
		m.Aligned = true
	}
	m.Offsets, err = r.Form.Offsets(m.Start)
	return m, err
}

// alignedWith returns the start of the service day with which one run leaves as another does; false where
// they have no stop in common.
func (r *Run) alignedWith(other *Run) (start int64, ok bool) {
	for i := range r.Form.Stops {
		for k := range other.Form.Stops {
			if r.Form.Stops[i].Stop.ID == other.Form.Stops[k].Stop.ID {
				start = other.Start + int64(other.Form.Stops[k].Dep) - int64(r.Form.Stops[i].Dep)
				return start, true
			}
		}
	}
	return 0, false
}

// missesChange reports whether the second ride of a ticket leaves before the first arrives. became returns
// the run that replaces one; nil keeps it.
func (t *Ticket) missesChange(became map[*Run]*Run) bool {
	legs := t.Itinerary()
	if len(legs) < 2 {
		return false
	}
	first := cmp.Or(became[legs[0].Run], legs[0].Run)
	second := cmp.Or(became[legs[1].Run], legs[1].Run)
	return second.Dep(legs[1].From).Before(first.Arr(legs[0].To))
}

// MissesChange reports whether the ticket has a change that cannot be made, since a carrier has moved a
// run.
func (t *Ticket) MissesChange() bool {
	return t.missesChange(nil)
}

// RefundsBy returns the departure to which refunds count hours. Where it was moved, that is the latest
// departure of all: no passenger loses by a change that the carrier made.
func (t *Ticket) RefundsBy() time.Time {
	return t.Departure().Add(time.Duration(t.Earlier) * time.Second)
}

// MovedRuns returns the runs that replace those that were sold.
func (s *State) MovedRuns(e *RunMoved) (list []*Run) {
	for _, m := range e.Runs {
		was := s.RunByID(m.Was)
		list = append(list, NewRun(was.Form, was.Day, m.Start, m.Offsets))
	}
	return list
}
