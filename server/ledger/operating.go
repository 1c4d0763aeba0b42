package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"waybill/booking"
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
			return fmt.Sprintf("import: the timetable %q is in force: %s, %s, %s, %s skipped; SHA-256 %s", e.Feed,
				words.Counted(e.Cities, "city"), words.Counted(e.Routes, "route"), words.Counted(e.Trips,
					"trip"),
				words.Counted(e.Skipped, "row"), e.Hash)
		},
	}.kind(),
	row[KeysRotated]{
		name:  "keys.rotated",
		apply: func(*State, time.Time, *KeysRotated) {},
		story: func(*State, *KeysRotated, time.Time) string {
			return "key rotate: offers are signed with a new key"
		},
	}.kind(),
	row[ClockSet]{
		name:  "clock.set",
		apply: applyClockSet,
		story: func(_ *State, e *ClockSet, _ time.Time) string {
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
		Began:    cmp.Or(e.Began, s.Clock.Began),
	}
}

// PersonalErased says that names, e-mail addresses and phones were erased from earlier lines. A line's
// personal part is erased as a whole: with a passenger go those who were booked along.
type PersonalErased struct {
	Lines      []uint64          `json:"lines"`
	Reason     string            `json:"reason"`
	Passengers []ErasedPassenger `json:"passengers,omitempty"`
	Reports    []booking.ID      `json:"reports"` // whose files told of them: they are written anew
	// Tickets are the passengers as versions before wrote them. Such a line is no event of /v2/events: that
	// would change the numbers of those after it, which clients have.
	Tickets []booking.ID `json:"tickets,omitempty"`
}

// ErasedPassenger is the passenger of a ticket, and where the ticket was then.
type ErasedPassenger struct {
	Partner booking.ID `json:"partner"`
	Booking booking.ID `json:"booking"`
	Ticket  booking.ID `json:"ticket"`
}

// AllTickets returns the tickets whose passengers are forgotten.
func (e *PersonalErased) AllTickets() []booking.ID {
	return slices.Concat(e.Tickets, ticketsOf(e.Passengers))
}

// PassengersForgotten says that some passengers are forgotten. A large erasure writes such lines before its
// [PersonalErased], which names the lines that lose their personal part, so that none holds the lock for
// long.
type PassengersForgotten struct {
	Reason     string            `json:"reason"`
	Passengers []ErasedPassenger `json:"passengers"`
}

// AllTickets returns the tickets whose passengers are forgotten.
func (e *PassengersForgotten) AllTickets() []booking.ID {
	return ticketsOf(e.Passengers)
}

// ticketsOf returns the tickets of passengers.
func ticketsOf(list []ErasedPassenger) []booking.ID {
	var ids []booking.ID
	for _, p := range list {
		ids = append(ids, p.Ticket)
	}
	return ids
}

// applyPersonalErased forgets passengers, and queues the reports that named them.
func applyPersonalErased(s *State, now time.Time, e *PersonalErased) {
	s.forget(now, e.AllTickets())
	s.Reports.Requeue(e.Reports)
}

// applyForgotten forgets passengers.
func applyForgotten(s *State, now time.Time, e *PassengersForgotten) {
	s.forget(now, e.AllTickets())
}

// forget forgets the passengers of tickets, and what they were to be sent.
func (s *State) forget(now time.Time, tickets []booking.ID) {
	s.Bookings.Forget(now, tickets)
	for _, id := range tickets {
		s.Outbox.removeOf(id)
	}
}

// feedErased tells each partner of its passengers who are forgotten.
func (s *State) feedErased(at store.Stamp, list []ErasedPassenger) {
	for _, p := range list {
		s.feed(p.Partner).add(at, 1)
	}
}

// ToForget returns those of tickets whose passengers are not forgotten yet, and where they are.
func (s *State) ToForget(tickets []booking.ID) []ErasedPassenger {
	var list []ErasedPassenger
	for _, id := range tickets {
		b, t := s.Bookings.AnyTicket(id)
		if t != nil && !t.Forgotten() {
			list = append(list, ErasedPassenger{b.Partner, b.ID, id})
		}
	}
	return list
}
