package carrier

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/ledger"
)

// Rider is a ticket with a ride on a run, in whatever state it is now: after a cancellation one can say who
// had been on the bus. It has its passenger's data: a page that shows these says so in the journal first.
type Rider struct {
	Booking  *booking.Booking
	Ticket   *booking.Ticket
	Seat     int    // that it has, or had
	From, To string // the cities of its stops, as it was sold
	// Waiting are its messages that have not left: those that wait, and those that are parked.
	Waiting []*ledger.Message

	boards time.Time
}

// IsLive reports whether the ticket has its seat at an instant.
func (r *Rider) IsLive(now time.Time) bool {
	switch r.Ticket.PhaseAt(now) {
	case booking.Unpaid, booking.Booked, booking.Paid:
		return true
	}
	return false
}

// ridersOf returns the tickets of a run: first those that have their seats, by seat and boarding, then the
// others.
func ridersOf(st ledger.State, name ids.RunName, now time.Time) (list []Rider) {
	for _, o := range st.Bookings.Riders(name) {
		r := Rider{
			Booking: o.Booking,
			Ticket:  o.Ticket,
			Waiting: st.Outbox.Of(o.Ticket.ID),
		}
		for _, l := range o.Ticket.Itinerary() {
			form := l.Run.Form
			if form.Trip == name.Trip && l.Run.Day == name.Day {
				r.Seat = int(l.Seat)
				r.boards = l.Run.Dep(l.From)
				r.From = form.Stops[l.From].City.Name
				r.To = form.Stops[l.To].City.Name
			}
		}
		list = append(list, r)
	}
	slices.SortStableFunc(list, func(a, b Rider) int {
		return cmp.Or(liveFirst(&a, &b, now), cmp.Compare(a.Seat, b.Seat), a.boards.Compare(b.boards))
	})
	return list
}

// liveFirst orders tickets that have their seats before those that have lost them.
func liveFirst(a, b *Rider, now time.Time) int {
	live := a.IsLive(now)
	switch {
	case live == b.IsLive(now):
		return 0
	case live:
		return -1
	}
	return 1
}

// outlookOf says what could be done with a run now.
func (s *Dispatcher) outlookOf(st ledger.State, name ids.RunName, now time.Time) (x Outlook) {
	e, waits, err := st.Bookings.CancelRun(now, st.Timetable(), name, "", s.Phones)
	x.Ends = waits
	if err == nil {
		x.Ends += len(e.Tickets)
	}
	// The same decision as that of run restore: the page offers it where that would succeed.
	_, err = st.Bookings.RestoreRun(now, st.Timetable(), name, "")
	x.CanRestore = err == nil
	if err != nil {
		x.Stays = strings.TrimSuffix(err.Error(), ".")
	}
	return x
}

// Outlook says what could be done with a run.
type Outlook struct {
	Ends       int // tickets that a cancellation would end, so that it could not be taken back
	CanRestore bool
	Stays      string // why its last change cannot be taken back; "" where it can
}
