package carrier

import (
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger"
)

// Seats is a run seat by seat: which is free, held or sold, from where to where; the tickets for it; and what
// could be done with it. Only the tickets have names of passengers.
type Seats struct {
	RunShown
	Outlook
	At         time.Time // the instant at which all this is so
	Zone       string    // of the clock at its first stop
	Seats      int
	Bus        string
	Canceled   bool
	Minutes    int    // by how much it is moved
	Reason     string // of the last change; "" is none
	Stops      []StopShown
	Rows       []SeatRow
	Riders     []Rider
	Deliveries ledger.Deliveries // the messages that have left, of all tickets
}

// Fullest returns the position of the stop after which most seats are taken, the first of these.
func (x *Seats) Fullest() int {
	most := 0
	for i := range x.Stops {
		if x.Stops[i].Taken > x.Stops[most].Taken {
			most = i
		}
	}
	return most
}

// StopShown is a stop, and how full the bus is from there to the next.
type StopShown struct {
	Place           string
	Arrives, Leaves string // by the clock there; "" at an end
	Taken, Free     int
	Last            bool
}

// SeatRow is a seat, from the first stop to the last; or several beside each other that are free all the way.
type SeatRow struct {
	Seat  int
	Until int  // the last of them
	Gone  bool // the bus, which has become smaller, does not have it
	Parts []SeatPart
}

// isFree reports whether nobody has the seat on any part of the way.
func (r *SeatRow) isFree() bool {
	return len(r.Parts) == 1 && r.Parts[0].State == "free"
}

// SeatPart is a part of the way on which a seat is free, or one ticket has it.
type SeatPart struct {
	Span            int    // from stop to stop
	State           string // free, held, asked, booked or paid
	Booking, Ticket ids.ID
	Left            string // of a hold: how long it still lasts
}

// Seats returns a run seat by seat. Its error is booking.ErrNoRun.
func (s *Dispatcher) Seats(name ids.RunName) (x *Seats, err error) {
	err = s.Store.View(func(st ledger.State, now time.Time) {
		if m := st.Bookings.SeatMap(st.Timetable(), name, now); m != nil {
			x = newSeats(st.Timetable(), name, m, now)
			x.Outlook = s.outlookOf(st, name, now)
			x.Riders = ridersOf(st, name, now)
			x.Deliveries = st.Outbox.Deliveries()
		}
	})
	if err == nil && x == nil {
		err = booking.ErrNoRun
	}
	return x, err
}

// newSeats returns a run seat by seat, by its map.
func newSeats(tt *schedule.Timetable, name ids.RunName, m *booking.SeatMap, now time.Time) *Seats {
	bus := m.Run.Form.Bus
	x := &Seats{
		RunShown: newRunShown(tt, name, m, now),
		At:       now,
		Zone:     m.Run.Form.Stops[0].City.Zone,
		Seats:    int(bus.Seats),
		Bus:      strings.Join(strings.Fields(bus.Brand+" "+bus.Model+" "+bus.Registration), " "),
		Canceled: m.Change.Canceled,
		Minutes:  int(m.Change.Shift / 60),
		Reason:   m.Change.Reason,
		Rows:     seatRows(m, now),
	}
	last := len(m.Run.Form.Stops) - 1
	for i := range m.Run.Form.Stops {
		at := int16(i)
		stop := StopShown{
			Place: m.Run.Form.Stops[i].Title(),
			Last:  i == last,
		}
		if i > 0 {
			stop.Arrives = Write(Arrives(m.Run, at), timeOfDay)
		}
		if i < last {
			stop.Leaves = Write(Leaves(m.Run, at), timeOfDay)
			stop.Taken = m.Loads[i].Taken
			stop.Free = m.Loads[i].Free
		}
		x.Stops = append(x.Stops, stop)
	}
	return x
}

// seatRows returns the seats of a bus, and those that it no longer has and somebody still sits on.
func seatRows(m *booking.SeatMap, now time.Time) (rows []SeatRow) {
	seats := int(m.Run.Form.Bus.Seats)
	most := seats
	bySeat := map[int][]booking.SeatTaken{}
	for _, t := range m.Taken {
		if t.From == t.To {
			continue // of the run as it is now, the ticket has no part
		}
		seat := int(t.Seat)
		bySeat[seat] = append(bySeat[seat], t)
		most = max(most, seat)
	}
	for seat := 1; seat <= most; seat++ {
		taken := bySeat[seat]
		if seat > seats && taken == nil {
			continue
		}
		// A list of free seats tells nothing: those beside each other share a row.
		if n := len(rows); taken == nil && n > 0 && rows[n-1].isFree() {
			rows[n-1].Until = seat
			continue
		}
		rows = append(rows, SeatRow{
			Seat:  seat,
			Until: seat,
			Gone:  seat > seats,
			Parts: seatParts(taken, len(m.Run.Form.Stops)-1, now),
		})
	}
	return rows
}

// seatParts divides the way into parts on which a seat is free, or one ticket has it.
func seatParts(taken []booking.SeatTaken, segments int, now time.Time) (parts []SeatPart) {
	at := 0
	free := func(until int) {
		if until > at {
			parts = append(parts, SeatPart{Span: until - at, State: "free"})
		}
	}
	for i := range taken {
		t := &taken[i]
		// Rides of other timetables than this one may come to lie on the same stretch of it.
		from := max(int(t.From), at)
		to := max(int(t.To), from+1)
		free(from)
		parts = append(parts, newSeatPart(t, to-from, now))
		at = to
	}
	free(segments)
	return parts
}

// newSeatPart returns a part of the way on which a ticket has a seat.
func newSeatPart(t *booking.SeatTaken, span int, now time.Time) SeatPart {
	p := SeatPart{
		Span:    span,
		State:   "held",
		Booking: t.Booking.ID,
		Ticket:  t.Ticket.ID,
	}
	switch {
	case t.Ticket.Phase == booking.Paid:
		p.State = "paid"
	case t.Ticket.Phase == booking.Booked:
		p.State = "booked"
	case t.Until.IsZero(): // the provider was asked, and the seat is kept until it answers
		p.State = "asked"
	default:
		p.Left = t.Until.Sub(now).Truncate(time.Second).String()
	}
	return p
}
