package booking

import (
	"math"
	"slices"
	"time"

	"waybill/booking/seating"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// key returns the name of the run, which is the same in all timetables.
func (r *Run) key() schedule.RunKey {
	return schedule.RunKey{Trip: r.Form.TripKey(), Day: r.Day}
}

// seats has the holds of a run, and everything else that all its forms share.
type seats struct {
	line uint64 // the last journal line that changed a booking on it; see SeatsLeft
	seating.Plan
	sold []*Run // in each form of the plan

	// bookings are the numbers of those that have a ticket on the run, whatever its state; rising.
	bookings []uint32
	change   *RunChange // the carrier's change; nil is none
}

// sit gives a ticket its seats, by leg, for as long as its phase says. Without seats it keeps those that it
// had.
func (t *Ticket) sit(seats []int16, now time.Time) {
	for i, seat := range seats {
		t.Legs[i].Seat = seat
	}
	for _, l := range t.Itinerary() {
		l.Run.seats.Set(l.hold(t.ID, t.until()), now.UnixMilli())
	}
}

// ride returns the leg as a ride that takes a seat.
func (l *Leg) ride() seating.Ride {
	return seating.Ride{Form: l.Run.Form, From: l.From, To: l.To}
}

// collides reports whether the leg and a hold of its run cannot have the same seat, where the run has a form
// at present (decision seats.surplus).
func (l *Leg) collides(h *seating.Hold, present *schedule.Form) bool {
	other := l.Run.seats.Ride(h)
	return l.ride().MeetsAsSold(other) || l.ride().Meets(other, present)
}

func (l *Leg) hold(ticket ids.ID, until int64) seating.Hold {
	return seating.Hold{
		Ticket: ticket,
		Until:  until,
		From:   l.From,
		To:     l.To,
		Seat:   l.Seat,
		Form:   uint16(slices.Index(l.Run.seats.sold, l.Run)),
	}
}

// present is the run in the timetable in force, whose seats are asked for. Where its trip is gone, it is
// the run as it was sold last.
func (s *seats) present(tt *schedule.Timetable) *schedule.Form {
	return presentForm(tt, s.sold[len(s.sold)-1])
}

// presentForm is the form of a run in the timetable in force. Where its trip is gone, it is the form in
// which it was sold last.
func presentForm(tt *schedule.Timetable, last *Run) *schedule.Form {
	trip, known := tt.TripByID(last.Form.Trip)
	if known && tt.RunsOn(trip, last.Day) {
		return tt.Form(trip)
	}
	return last.Form
}

// SeatsLeft returns how many seats are free for a ride, and the number of the last journal line that changed
// a booking on its run; 0 where there is none. Where there are more than enough, left is any number from
// enough to that.
func (s *State) SeatsLeft(tt *schedule.Timetable, l *schedule.Leg, enough int,
	now time.Time) (left int, line uint64) {
	held := s.seatings[schedule.RunKey{Trip: tt.TripKey(l.Trip), Day: l.Day}]
	all := tt.Seats(l.Trip)
	if held == nil {
		return all, 0
	}
	if least := all - len(held.Holds); least >= enough { // each takes one seat at most
		return least, held.line
	}
	form := tt.Form(l.Trip)
	return held.Left(form, seating.Ride{Form: form, From: l.From, To: l.To}, now), held.line
}

// vacancy is what a ticket whose hold has run out may get on a leg, beside what other tickets of its request
// will get.
func (l *Leg) vacancy(tt *schedule.Timetable, picked map[*seats][]seating.Hold,
	now time.Time) seating.Vacancy {
	seats := l.Run.seats
	plan := seating.Plan{
		Forms: seats.Forms,
		Holds: slices.Concat(seats.Holds, picked[seats]),
	}
	return plan.Free(seats.present(tt), l.ride(), now)
}

// noSeat is on a leg for which no seat is found yet.
const noSeat = 0

// reseat finds seats for the legs of a ticket whose hold has run out, where got has none: its own, or with
// other any. picked has the seats that tickets of the request get, and takes up those that are found.
func (t *Ticket) reseat(tt *schedule.Timetable, other bool, got []int16, picked map[*seats][]seating.Hold,
	now time.Time) []int16 {
	if got == nil {
		got = make([]int16, len(t.Itinerary()))
	}
	for i, l := range t.Itinerary() {
		free := l.vacancy(tt, picked, now)
		own := free.Seats.Has(l.Seat)
		if got[i] != noSeat || free.Left == 0 || !own && !other {
			continue
		}
		if !own {
			l.Seat = free.Seats.Together(1)[0]
		}
		got[i] = l.Seat
		picked[l.Run.seats] = append(picked[l.Run.seats], l.hold(t.ID, math.MaxInt64))
	}
	return got
}
