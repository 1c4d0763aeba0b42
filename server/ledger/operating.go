package ledger

import (
	"cmp"

	"waybill/report"
	"waybill/store/journal"
)

// operatingKinds are the lines of companies and operators, and of messages to passengers.
var operatingKinds = []anyKind{
	&kind[report.Ordered]{
		name: "report.ordered",
		apply: func(s State, at journal.Stamp, e *report.Ordered) error {
			if err := s.Accounts.CheckAccess(e.User, e.Company); err != nil {
				return err
			}
			return s.inner.reports.ApplyOrdered(at.Time, e)
		},
	},
	&kind[report.Completed]{
		name: "report.completed",
		apply: func(s State, at journal.Stamp, e *report.Completed) error {
			return s.inner.reports.ApplyCompleted(at.Seq, at.Time, e)
		},
	},
	&kind[report.Downloaded]{
		name:  "report.downloaded",
		apply: in(reports, report.Recorder.ApplyDownloaded),
	},
	&kind[GeolocationSet]{
		name: "geolocation.set",
		apply: func(s State, _ journal.Stamp, e *GeolocationSet) error {
			if err := s.Accounts.CheckUser(e.User); err != nil {
				return err
			}
			s.inner.geolocation[e.Object] = e.On
			return nil
		},
	},
	&kind[TimetableImported]{
		name:   "timetable.imported",
		apply:  applyTimetableImported,
		offers: true,
	},
	&kind[KeysRotated]{
		name:   "keys.rotated",
		apply:  nothing[KeysRotated],
		offers: true,
	},
	&kind[WorldForked]{
		name: "world.forked",
		apply: func(s State, _ journal.Stamp, _ *WorldForked) error {
			s.Outbox.clear()
			return nil
		},
	},
	&kind[ClockSet]{
		name:  "clock.set",
		apply: applyClockSet,
		after: func(s State, at journal.Stamp, _ *ClockSet) {
			s.inner.lastLines.all = at.Seq
		},
	},
	&kind[MessagesSent]{
		name:  "outbox.sent",
		apply: applySent,
	},
	&kind[MessageParked]{
		name:  "outbox.parked",
		apply: applyParked,
	},
	&kind[MessagesRetried]{
		name:  "outbox.retried",
		apply: applyRetried,
	},
	&kind[PersonalErased]{
		name:   journal.KindErased,
		apply:  applyPersonalErased,
		events: func(e *PersonalErased) []FeedEvent { return erasedEvents(e.Passengers) },
		after:  func(s State, at journal.Stamp, _ *PersonalErased) { s.inner.lastLines.all = at.Seq },
	},
	&kind[PassengersForgotten]{
		name:   "passengers.forgotten",
		apply:  applyForgotten,
		events: func(e *PassengersForgotten) []FeedEvent { return erasedEvents(e.Passengers) },
		after:  func(s State, at journal.Stamp, _ *PassengersForgotten) { s.inner.lastLines.all = at.Seq },
	},
}

// applyTimetableImported puts a timetable in force. A replay has its name alone.
func applyTimetableImported(s State, at journal.Stamp, e *TimetableImported) error {
	s.inner.timetableHash = e.Hash
	if e.Loaded != nil {
		s.useTimetable(e.Loaded, at.Time)
	}
	return nil
}

// applyClockSet sets the directory's clock.
func applyClockSet(s State, _ journal.Stamp, e *ClockSet) error {
	s.inner.clock = Clock{
		Set:      !e.Real,
		Ever:     true,
		OffsetMs: e.OffsetMs,
		Still:    e.Still,
		Began:    cmp.Or(e.Began, s.inner.clock.Began),
	}
	return nil
}
