package ledger

import (
	"cmp"
	"time"

	"waybill/auth"
	"waybill/report"
	"waybill/store/journal"
)

// operatingKinds are the lines of companies and operators, and of messages to passengers.
var operatingKinds = []anyKind{
	kind[report.Ordered]{
		name: "report.ordered",
		apply: func(s State, at journal.Stamp, e *report.Ordered) error {
			if err := s.Accounts.CheckAccess(auth.ID(e.User), e.Company); err != nil {
				return err
			}
			s.inner.reports.ApplyOrdered(at.Time, e)
			return nil
		},
	}.any(),
	kind[report.Completed]{
		name: "report.completed",
		apply: func(s State, at journal.Stamp, e *report.Completed) error {
			return s.inner.reports.ApplyCompleted(at.Seq, at.Time, e)
		},
	}.any(),
	kind[report.Downloaded]{
		name:  "report.downloaded",
		apply: to(reports, report.Recorder.ApplyDownloaded),
	}.any(),
	kind[GeolocationSet]{
		name: "geolocation.set",
		apply: to(keeper, func(s State, _ time.Time, e *GeolocationSet) error {
			if err := s.Accounts.CheckUser(e.User); err != nil {
				return err
			}
			s.inner.geolocation[e.Object] = e.On
			return nil
		}),
	}.any(),
	kind[TimetableImported]{
		name:   "timetable.imported",
		apply:  on(keeper, applyTimetableImported),
		offers: true,
	}.any(),
	kind[KeysRotated]{
		name:   "keys.rotated",
		apply:  nothing[KeysRotated],
		offers: true,
	}.any(),
	kind[WorldForked]{
		name: "world.forked",
		apply: on(keeper, func(s State, _ time.Time, _ *WorldForked) {
			s.Outbox.clear()
		}),
	}.any(),
	kind[ClockSet]{
		name:  "clock.set",
		apply: on(keeper, applyClockSet),
		after: func(s State, at journal.Stamp, _ *ClockSet) {
			s.inner.lastLines.all = at.Seq
		},
	}.any(),
	kind[MessagesSent]{
		name:  "outbox.sent",
		apply: to(keeper, applySent),
	}.any(),
	kind[MessageParked]{
		name:  "outbox.parked",
		apply: to(keeper, applyParked),
	}.any(),
	kind[MessagesRetried]{
		name:  "outbox.retried",
		apply: to(keeper, applyRetried),
	}.any(),
	kind[PersonalErased]{
		name:  journal.KindErased,
		apply: to(keeper, applyPersonalErased),
		after: func(s State, at journal.Stamp, e *PersonalErased) {
			s.feedErased(at, e.Passengers)
			s.inner.lastLines.all = at.Seq
		},
	}.any(),
	kind[PassengersForgotten]{
		name:  "passengers.forgotten",
		apply: to(keeper, applyForgotten),
		after: func(s State, at journal.Stamp, e *PassengersForgotten) {
			s.feedErased(at, e.Passengers)
			s.inner.lastLines.all = at.Seq
		},
	}.any(),
}

// applyTimetableImported puts a timetable in force. A replay has its name alone.
func applyTimetableImported(s State, now time.Time, e *TimetableImported) {
	s.inner.timetableHash = e.Hash
	if e.Loaded != nil {
		s.useTimetable(e.Loaded, now)
	}
}

// applyClockSet sets the directory's clock.
func applyClockSet(s State, _ time.Time, e *ClockSet) {
	s.inner.clock = Clock{
		Set:      !e.Real,
		Ever:     true,
		OffsetMs: e.OffsetMs,
		Still:    e.Still,
		Began:    cmp.Or(e.Began, s.inner.clock.Began),
	}
}
