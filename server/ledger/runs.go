package ledger

import (
	"fmt"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// runKinds are the lines of carriers' acts on a run (decision runs.named).
var runKinds = []anyKind{
	&kind[booking.RunCanceled]{
		name:   "run.cancelled",
		offers: true,
		apply: changingRun(
			booking.Recorder.ApplyRunCanceled,
			func(e *booking.RunCanceled) ids.RunName { return e.Run },
		),
		bookings: func(_ State, e *booking.RunCanceled) []ids.ID {
			return e.Bookings()
		},
		check:  checked((*booking.State).CheckRunCanceled),
		events: runCanceledEvents,
		after: func(s State, at journal.Stamp, e *booking.RunCanceled) {
			var sends []toSend
			for _, t := range e.Tickets {
				s.KeyedRequests.forgetAsked(s.Bookings, t.ID)
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.CancelRun, e.Reason, sends)
		},
	},
	&kind[booking.RunMoved]{
		name:   "run.moved",
		offers: true,
		apply: changingRun(
			booking.Recorder.ApplyRunMoved,
			func(e *booking.RunMoved) ids.RunName { return e.Run },
		),
		bookings: func(s State, e *booking.RunMoved) []ids.ID {
			return s.Bookings.BookingsOf(e.Run)
		},
		check:  checked((*booking.State).CheckRunMoved),
		events: runMovedEvents,
		after: func(s State, at journal.Stamp, e *booking.RunMoved) {
			var sends []toSend
			for _, t := range e.Tickets {
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.MoveRun, e.Reason, sends)
		},
	},
	&kind[booking.RunRestored]{
		name:   "run.restored",
		offers: true,
		check:  checked((*booking.State).CheckRunRestored),
		apply: changingRun(
			booking.Recorder.ApplyRunRestored,
			func(e *booking.RunRestored) ids.RunName { return e.Run },
		),
	},
	&kind[PersonalRead]{
		name:  "personal.read",
		apply: nothing[PersonalRead],
	},
	&kind[ManifestRead]{
		name:  "manifest.read",
		apply: nothing[ManifestRead],
		check: checkManifestRead,
	},
}

// ManifestRead says that the list of a run's passengers was read: by an operator, whom the line names, or
// by a user.
type ManifestRead struct {
	Run        ids.RunName `json:"run"`
	Passengers int         `json:"passengers"`
	User       *ids.ID     `json:"user,omitempty"`
	Company    string      `json:"company,omitempty"` // the user's, by id
}

// PersonalRead says that an operator, whom the line names, was shown names, addresses or phones on a page of
// the desk (decision desk.readings).
type PersonalRead struct {
	Page    string       `json:"page"` // its path
	Booking *ids.ID      `json:"booking,omitempty"`
	Run     *ids.RunName `json:"run,omitempty"`
	People  int          `json:"people"` // how many were on it
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
	apply func(booking.Recorder, booking.Line, *T) error,
	run func(*T) ids.RunName,
) func(State, journal.Stamp, *T) error {
	return func(s State, at journal.Stamp, e *T) error {
		before := s.Bookings.Change(run(e)).Change
		if err := apply(s.inner.bookings, booking.Line(at), e); err != nil {
			return err
		}
		if s.inner.timetable != nil && s.Bookings.Change(run(e)).Change != before {
			s.useTimetable(s.inner.timetable, at.Time)
		}
		return nil
	}
}

// useTimetable puts a timetable in force, with the changes of its runs.
func (s State) useTimetable(tt *schedule.Timetable, now time.Time) {
	s.inner.timetable = tt.With(s.Bookings.Changes(now))
}
