package booking

import (
	"cmp"
	"math"
	"slices"
	"time"

	"waybill/booking/seating"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// SeatMap is who has which seat of a run, and from where to where, by a view of the state. What it points to
// never changes.
type SeatMap struct {
	Run    *Run // as it is now, see State.Present
	Change RunChange
	Taken  []SeatTaken // by seat and by stop
	Loads  []Segment   // from each stop to the next
}

// SeatTaken is a seat that is not free on a part of the run. After an import with a smaller bus somebody may
// have a seat that it no longer has.
type SeatTaken struct {
	Seat     int16
	From, To int16 // positions among the stops of the run as it is now; equal where it has none of the ride
	Booking  *Booking
	Ticket   *Ticket
	Until    time.Time // when the hold of who has yet to pay ends; zero where it does not
}

// Segment is how full the bus is from one stop to the next.
type Segment struct {
	Taken int // seats that are paid, booked, or held by who has yet to pay
	Free  int // that can be sold
}

// SeatMap returns who has which seat of a run; nil where there is no such run.
func (s *State) SeatMap(tt *schedule.Timetable, name ids.RunName, now time.Time) *SeatMap {
	run := s.Present(tt, name)
	if run == nil {
		return nil
	}
	m := &SeatMap{Run: run, Change: s.Change(name)}
	held := cmp.Or(s.seatings[name.Key()], new(seats))
	for _, h := range held.Holds {
		if h.Until <= now.UnixMilli() {
			continue
		}
		x := SeatTaken{Seat: h.Seat}
		x.From, x.To = held.Ride(&h).In(run.Form)
		x.Booking, x.Ticket = s.AnyTicket(h.Ticket)
		if h.Until != math.MaxInt64 {
			x.Until = time.UnixMilli(h.Until).UTC()
		}
		m.Taken = append(m.Taken, x)
	}
	slices.SortFunc(m.Taken, func(a, b SeatTaken) int {
		return cmp.Or(cmp.Compare(a.Seat, b.Seat), cmp.Compare(a.From, b.From),
			a.Ticket.ID.Compare(b.Ticket.ID))
	})
	for at := range int16(len(run.Form.Stops) - 1) {
		m.Loads = append(m.Loads, Segment{
			Taken: held.Held(run.Form, at, now),
			Free:  held.Free(run.Form, seating.Ride{Form: run.Form, From: at, To: at + 1}, now).Left,
		})
	}
	return m
}
