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

// Event is one change of the state: a pointer to a type that [kinds] lists.
type Event any

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
func apply(s *State, stamp store.Stamp, e Event) { kindOf(e).apply(s, stamp.Time, e) }

// check tells whether an event may follow the state, without what decided it.
func check(s *State, stamp store.Stamp, e Event) error {
	switch e := e.(type) {
	case *booking.Created:
		return s.Bookings.CheckCreated(stamp.Time, e)
	case *booking.TicketPaid:
		return s.Bookings.CheckReseated(stamp.Time, &e.Settled)
	case *booking.TicketBooked:
		return s.Bookings.CheckReseated(stamp.Time, &e.Settled)
	case *booking.Asked:
		return s.Bookings.CheckReseated(stamp.Time, &e.Settled)
	}
	return nil
}
