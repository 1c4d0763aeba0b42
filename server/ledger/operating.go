package ledger

import (
	"cmp"
	"fmt"
	"time"

	"waybill/report"
	"waybill/server/words"
	"waybill/store"
)

// operatingKinds are the lines of what companies and operators do, and of the messages to passengers.
var operatingKinds = []kind{
	row[report.Ordered]{
		name:  "report.ordered",
		apply: on(reports, (*report.State).ApplyOrdered),
	}.kind(),
	row[report.Completed]{
		name:  "report.completed",
		apply: on(reports, (*report.State).ApplyCompleted),
	}.kind(),
	row[report.Downloaded]{
		name:  "report.downloaded",
		apply: on(reports, (*report.State).ApplyDownloaded),
	}.kind(),
	row[GeolocationSet]{
		name: "geolocation.set",
		apply: func(s *State, _ time.Time, e *GeolocationSet) {
			s.Geolocation[e.Object] = e.On
		},
	}.kind(),
	row[TimetableImported]{
		name:  "timetable.imported",
		apply: applyTimetableImported,
		story: func(_ *State, e *TimetableImported, _ time.Time) string {
			return fmt.Sprintf("import: the timetable %q is in force: %s, %s, %s, %s skipped; SHA-256 %s",
				e.Feed, words.Counted(e.Cities, "city"), words.Counted(e.Routes, "route"),
				words.Counted(e.Trips, "trip"), words.Counted(e.Skipped, "row"), e.Hash)
		},
	}.kind(),
	row[KeysRotated]{
		name:  "keys.rotated",
		apply: func(*State, time.Time, *KeysRotated) {},
		story: func(*State, *KeysRotated, time.Time) string {
			return "key rotate: offers are signed with a new key"
		},
	}.kind(),
	row[WorldForked]{
		name: "world.forked",
		apply: func(s *State, _ time.Time, _ *WorldForked) {
			s.Outbox.clear()
		},
		story: func(_ *State, e *WorldForked, _ time.Time) string {
			return fmt.Sprintf("the world %s of a test bench, a copy of %s: it has left %s after line %d",
				e.World, e.From, e.Origin, e.Seq)
		},
	}.kind(),
	row[ClockSet]{
		name:  "clock.set",
		apply: applyClockSet,
		story: func(_ *State, e *ClockSet, _ time.Time) string {
			if !e.Still.IsZero() {
				return fmt.Sprintf("the clock stands still at %s", e.Still.Format(time.RFC3339Nano))
			}
			ahead := time.Duration(e.OffsetMs) * time.Millisecond
			return fmt.Sprintf("the clock is now %v ahead of the machine's", ahead)
		},
	}.kind(),
	row[MessagesSent]{
		name:  "outbox.sent",
		apply: applySent,
	}.kind(),
	row[MessageParked]{
		name:  "outbox.parked",
		apply: applyParked,
	}.kind(),
	row[MessagesRetried]{
		name:  "outbox.retried",
		apply: applyRetried,
	}.kind(),
	row[PersonalErased]{
		name:       store.KindErased,
		apply:      applyPersonalErased,
		feedEvents: showErased,
		after: func(s *State, at store.Stamp, e *PersonalErased) {
			s.feedErased(at, e.Passengers)
		},
		story: func(_ *State, e *PersonalErased, _ time.Time) string {
			return fmt.Sprintf("forget: the personal data of %s is erased, from the lines %d: %s",
				words.Counted(len(e.AllTickets()), "ticket"), e.Lines, e.Reason)
		},
		weigh: weighErased,
	}.kind(),
	row[PassengersForgotten]{
		name:       "passengers.forgotten",
		apply:      applyForgotten,
		feedEvents: showErased,
		after: func(s *State, at store.Stamp, e *PassengersForgotten) {
			s.feedErased(at, e.Passengers)
		},
		story: func(_ *State, e *PassengersForgotten, _ time.Time) string {
			return fmt.Sprintf("forget: the passengers of %s are forgotten, whose lines are named later: %s",
				words.Counted(len(e.Passengers), "ticket"), e.Reason)
		},
	}.kind(),
}

// applyTimetableImported puts a timetable in force. A replay has no more than its name.
func applyTimetableImported(s *State, _ time.Time, e *TimetableImported) {
	s.TimetableHash = e.Hash
	if e.Loaded != nil {
		s.Timetable = e.Loaded
	}
}

// applyClockSet sets the directory's clock.
func applyClockSet(s *State, _ time.Time, e *ClockSet) {
	s.Clock = Clock{
		Set:      !e.Real,
		OffsetMs: e.OffsetMs,
		Still:    e.Still,
		Began:    cmp.Or(e.Began, s.Clock.Began),
	}
}
