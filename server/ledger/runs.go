package ledger

import (
	"fmt"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/store/journal"
)

// runKinds are the lines of carriers' acts on a run (decision runs.named).
var runKinds = []anyKind{
	kind[booking.RunCanceled]{
		name: "run.cancelled",
		apply: changingRun(
			booking.Recorder.ApplyRunCanceled,
			func(e *booking.RunCanceled) ids.RunName { return e.Run },
		),
		check: checked((*booking.State).CheckRunCanceled),
		after: func(s *Keeper, at journal.Stamp, e *booking.RunCanceled) {
			var sends []toSend
			for _, t := range e.Tickets {
				s.feed(t.Partner).add(at, 1)
				s.KeyedRequests.forgetAsked(s.Bookings, t.ID)
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.CancelRun, e.Reason, sends)
		},
	}.any(),
	kind[booking.RunMoved]{
		name: "run.moved",
		apply: changingRun(
			booking.Recorder.ApplyRunMoved,
			func(e *booking.RunMoved) ids.RunName { return e.Run },
		),
		check: checked((*booking.State).CheckRunMoved),
		after: func(s *Keeper, at journal.Stamp, e *booking.RunMoved) {
			var sends []toSend
			for _, t := range e.Tickets {
				s.feed(t.Partner).add(at, 1)
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.MoveRun, e.Reason, sends)
		},
	}.any(),
	kind[booking.RunRestored]{
		name:  "run.restored",
		check: checked((*booking.State).CheckRunRestored),
		apply: changingRun(
			booking.Recorder.ApplyRunRestored,
			func(e *booking.RunRestored) ids.RunName { return e.Run },
		),
	}.any(),
	kind[ManifestRead]{
		name:  "manifest.read",
		apply: func(*Keeper, time.Time, *ManifestRead) {},
		check: checkManifestRead,
	}.any(),
}

// ManifestRead says that the list of a run's passengers was read: by an operator, whom the line names, or
// by a user.
type ManifestRead struct {
	Run        ids.RunName `json:"run"`
	Passengers int         `json:"passengers"`
	User       *auth.ID    `json:"user,omitempty"`
	Company    string      `json:"company,omitempty"` // the user's, by id
}

// checkManifestRead returns an error unless as many people travel on the run as the line says.
func checkManifestRead(s State, _ time.Time, e *ManifestRead) error {
	n := 0
	for _, o := range s.Bookings.Riders(e.Run) {
		if o.Ticket.Phase == booking.Paid || o.Ticket.Phase == booking.Booked {
			n++
		}
	}
	if n != e.Passengers {
		return fmt.Errorf("%s has %d passengers, and not %d", e.Run, n, e.Passengers)
	}
	return nil
}

// changingRun makes an apply that also changes the timetable in force, where the event changes the run.
// Tickets that follow a cancellation change nothing in the timetable, and sales go on with the one that
// they have read.
func changingRun[T any](
	apply func(booking.Recorder, time.Time, *T),
	run func(*T) ids.RunName,
) func(*Keeper, time.Time, *T) {
	return func(s *Keeper, now time.Time, e *T) {
		before := s.Bookings.Change(run(e)).Change
		apply(s.bookings, now, e)
		if s.rest.timetable != nil && s.Bookings.Change(run(e)).Change != before {
			s.UseTimetable(s.rest.timetable, now)
		}
	}
}

// UseTimetable puts a timetable in force, with the changes of its runs.
func (s *Keeper) UseTimetable(tt *schedule.Timetable, now time.Time) {
	s.rest.timetable = tt.With(s.Bookings.Changes(now))
}
