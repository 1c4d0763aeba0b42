package server

import (
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/store"
)

// State is everything the server remembers: a field per package that does.
type State struct {
	Clock    Clock
	Partners *auth.Partners
	Bookings *booking.State
	// TimetableHash names the timetable in force by its content; "" is none yet.
	TimetableHash string

	// timetable is the value the hash names. It is kept beside the journal, not
	// in it: after a replay it is empty until Open has loaded it.
	timetable *schedule.Timetable
}

// Clock is the directory's test clock (contract §2).
type Clock struct {
	Set    bool
	Offset time.Duration // ahead of the machine's clock
}

func newState() *State {
	return &State{Partners: auth.NewPartners(), Bookings: booking.NewState(), timetable: emptyTimetable()}
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
	ClockSet          *ClockSet
	KeyAdded          *auth.KeyAdded
	KeysRevoked       *auth.KeysRevoked
	TimetableImported *TimetableImported
	Created           *booking.Created
	Asked             *booking.Asked
	Refused           *booking.Refused
	Settled           *booking.Settled
	Canceled          *booking.TicketsCanceled
	Moved             *booking.Moved
	CarrierSet        *booking.CarrierSet
}

// ClockSet says that the directory's clock was started, moved, or, with Real, given up.
type ClockSet struct {
	Real   bool
	Offset time.Duration
}

// TimetableImported says which timetable is in force from then on.
type TimetableImported struct {
	Hash                           string
	Feed                           string // what it was called
	Cities, Routes, Trips, Skipped int

	loaded *schedule.Timetable // nil in a replay
}

// apply changes the state as the event says.
func apply(s *State, stamp store.Stamp, e Event) {
	now := stamp.Time
	switch {
	case e.ClockSet != nil:
		s.Clock = Clock{!e.ClockSet.Real, e.ClockSet.Offset}
	case e.KeyAdded != nil:
		s.Partners.ApplyKeyAdded(now, e.KeyAdded)
	case e.KeysRevoked != nil:
		s.Partners.ApplyKeysRevoked(now, e.KeysRevoked)
	case e.TimetableImported != nil:
		s.TimetableHash = e.TimetableImported.Hash
		if e.TimetableImported.loaded != nil {
			s.timetable = e.TimetableImported.loaded
		}
		s.Bookings.ForgetPlans()
	case e.Created != nil:
		s.Bookings.ApplyCreated(now, e.Created)
	case e.Asked != nil:
		s.Bookings.ApplyAsked(now, e.Asked)
	case e.Refused != nil:
		s.Bookings.ApplyRefused(now, e.Refused)
	case e.Settled != nil:
		s.Bookings.ApplySettled(now, e.Settled)
	case e.Canceled != nil:
		s.Bookings.ApplyCanceled(now, e.Canceled)
	case e.Moved != nil:
		s.Bookings.ApplyMoved(now, e.Moved)
	case e.CarrierSet != nil:
		s.Bookings.ApplyCarrierSet(now, e.CarrierSet)
	default:
		panic("server: an event with no pointer set")
	}
}

// check tells whether an event may follow the state, without what decided it.
func check(s *State, stamp store.Stamp, e Event) error {
	switch {
	case e.Created != nil:
		return s.Bookings.CheckCreated(stamp.Time, e.Created)
	case e.Settled != nil && e.Settled.Reseated:
		return s.Bookings.CheckReseated(stamp.Time, e.Settled.Ticket, e.Settled.Seats)
	case e.Asked != nil && e.Asked.Reseated:
		return s.Bookings.CheckReseated(stamp.Time, e.Asked.Ticket, e.Asked.Seats)
	}
	return nil
}
