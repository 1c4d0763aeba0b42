package server

import (
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/store"
)

// State is everything the server remembers: a field per package that does.
type State struct {
	Clock    Clock
	Partners *auth.Partners
	Bookings *booking.State
	Accounts *auth.Accounts
	Reports  *report.State
	// Geolocation is what users have set of FMS objects, by id.
	Geolocation map[string]bool
	// TimetableHash names the timetable in force by its content; "" is none yet.
	TimetableHash string

	// timetable is the value the hash names. It is kept beside the journal, not
	// in it: after a replay it is empty until Open has loaded it.
	timetable *schedule.Timetable
}

// Clock is the directory's test clock (contract §2).
type Clock struct {
	Set      bool  `json:"set"`
	OffsetMs int64 `json:"offsetMs"` // milliseconds ahead of the machine's clock
}

func newState() *State {
	return &State{
		Partners: auth.NewPartners(), Bookings: booking.NewState(), Accounts: auth.NewAccounts(),
		Reports: report.NewState(), Geolocation: map[string]bool{}, timetable: emptyTimetable(),
	}
}

func emptyTimetable() *schedule.Timetable {
	tt, err := schedule.New(new(schedule.Tables))
	if err != nil {
		panic("server: an empty timetable is a timetable: " + err.Error())
	}
	return tt
}

// Event is one change of the state. Exactly one pointer is set.
type Event struct {
	Created           *booking.Created
	Paid              *booking.Settled
	Booked            *booking.Settled
	Canceled          *booking.TicketsCanceled
	Asked             *booking.Asked
	Refused           *booking.Refused
	Moved             *booking.Moved
	CarrierSet        *booking.CarrierSet
	KeyAdded          *auth.KeyAdded
	KeysRevoked       *auth.KeysRevoked
	TimetableImported *TimetableImported
	ClockSet          *ClockSet
	UserAdded         *auth.UserAdded
	AccessGiven       *auth.AccessGiven
	UserRemoved       *auth.UserRemoved
	SessionStarted    *auth.SessionStarted
	SessionRefreshed  *auth.SessionRefreshed
	SessionEnded      *auth.SessionEnded
	ReportOrdered     *report.Ordered
	ReportCompleted   *report.Completed
	ReportDownloaded  *report.Downloaded
	GeolocationSet    *GeolocationSet
}

// settled makes the event of a ticket that was paid or booked.
func settled(e *booking.Settled, action booking.Action) Event {
	if action == booking.Book {
		return Event{Booked: e}
	}
	return Event{Paid: e}
}

// ClockSet says that the directory's clock was started, moved, or, with Real, given up.
type ClockSet struct {
	Real     bool  `json:"real"`
	OffsetMs int64 `json:"offsetMs"`
}

// TimetableImported says which timetable is in force from then on.
type TimetableImported struct {
	Hash    string `json:"sha256"`
	Feed    string `json:"feed"` // what it was called
	Cities  int    `json:"cities"`
	Routes  int    `json:"routes"`
	Trips   int    `json:"trips"`
	Skipped int    `json:"skipped"`

	loaded *schedule.Timetable // nil in a replay
}

func applyTimetableImported(s *State, _ time.Time, e *TimetableImported) {
	s.TimetableHash = e.Hash
	if e.loaded != nil {
		s.timetable = e.loaded
	}
}

// apply changes the state as the event says.
func apply(s *State, stamp store.Stamp, e Event) { kindOf(&e).apply(s, stamp.Time, &e) }

// check tells whether an event may follow the state, without what decided it.
func check(s *State, stamp store.Stamp, e Event) error {
	switch {
	case e.Created != nil:
		return s.Bookings.CheckCreated(stamp.Time, e.Created)
	case e.Paid != nil:
		return s.Bookings.CheckReseated(stamp.Time, e.Paid.Ticket, e.Paid.Seats)
	case e.Booked != nil:
		return s.Bookings.CheckReseated(stamp.Time, e.Booked.Ticket, e.Booked.Seats)
	case e.Asked != nil:
		return s.Bookings.CheckReseated(stamp.Time, e.Asked.Ticket, e.Asked.Seats)
	}
	return nil
}
