package ledger

import (
	"encoding/json"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/store"
)

// runKinds are the lines of what a carrier does with a run (contract §15).
var runKinds = []kind{
	row[booking.RunCanceled]{
		name:       "run.cancelled",
		apply:      changingRun((*booking.State).ApplyRunCanceled),
		check:      checked(bookings, (*booking.State).CheckRunCanceled),
		feedEvents: showRun,
		after: func(s *State, at store.Stamp, e *booking.RunCanceled) {
			var sends []toSend
			for _, t := range e.Tickets {
				s.feed(t.Partner).add(at, 1)
				s.KeyedRequests.forgetAsked(s, t.ID)
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.WithdrawRun, sends)
		},
	}.kind(),
	row[booking.RunMoved]{
		name:       "run.moved",
		apply:      changingRun((*booking.State).ApplyRunMoved),
		check:      checked(bookings, (*booking.State).CheckRunMoved),
		feedEvents: showRun,
		after: func(s *State, at store.Stamp, e *booking.RunMoved) {
			var sends []toSend
			for _, t := range e.Tickets {
				s.feed(t.Partner).add(at, 1)
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.DelayRun, sends)
		},
	}.kind(),
	row[booking.RunRestored]{
		name:  "run.restored",
		apply: changingRun((*booking.State).ApplyRunRestored),
	}.kind(),
	row[ManifestRead]{
		name:  "manifest.read",
		apply: func(*State, time.Time, *ManifestRead) {},
	}.kind(),
}

// ManifestRead says that somebody has read who travels on a run: an operator, whom the line names, or a user.
type ManifestRead struct {
	Run        booking.RunName `json:"run"`
	Passengers int             `json:"passengers"`
	User       *auth.ID        `json:"user,omitempty"`
	Company    string          `json:"company,omitempty"` // the user's, by id
}

// changingRun adapts a method that applies an event of a run: the timetable in force follows.
func changingRun[T any](apply func(*booking.State, time.Time, *T)) func(*State, time.Time, *T) {
	return func(s *State, now time.Time, e *T) {
		apply(s.Bookings, now, e)
		if s.Timetable != nil {
			s.UseTimetable(s.Timetable)
		}
	}
}

// UseTimetable puts a timetable in force, with what was changed of its runs.
func (s *State) UseTimetable(tt *schedule.Timetable) {
	s.Timetable = tt.With(s.Bookings.Changes())
}

// showRun returns the events of a partner's tickets in a line of a run.
func showRun(l *store.Line, partner booking.ID) ([]FeedEvent, error) {
	var e booking.RunCanceled // of a run that was moved there is no refund
	if err := json.Unmarshal(l.Data, &e); err != nil {
		return nil, err
	}
	var events []FeedEvent
	for i := range e.Tickets {
		t := &e.Tickets[i]
		if t.Partner != partner {
			continue
		}
		event := FeedEvent{
			Type:    l.Type,
			Time:    l.Time,
			Booking: t.Booking,
			Ticket:  &t.ID,
		}
		if t.Refunded {
			event.Refund = &t.Refund
		}
		events = append(events, event)
	}
	return events, nil
}
