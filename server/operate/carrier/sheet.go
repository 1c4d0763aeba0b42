package carrier

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/docs"
	"waybill/server/frame/words"
)

const (
	dayAndTime = "2006-01-02 15:04"
	timeOfDay  = "15:04"
)

// sheet is a manifest as it is printed: all texts are made. Instants are by the clocks at the stops, but for
// the one at which it was read, which is of the directory's clock.
type sheet struct {
	Title, Carrier, Route, Bus, Leaves, Arrives, News string
	Stops                                             []call
	Rows                                              []line
	Seats                                             int
	Count                                             string // of passengers and of held seats
	Read, Hash                                        string
	Seq                                               uint64
	Bar                                               *docs.Clock // the test clock; nil is none
}

// call is a stop of the run, and how full the bus is from there to the next.
type call struct {
	Place, Arrives, Leaves string
	Boarding, Alighting    int
	Taken, Free            string // "" of the last
	Bar                    *bar   // nil of the last
}

// line is a passenger's ride, or a seat that is held, which has no name. A passenger who changes buses is on
// two lists, each with the ride of its run.
type line struct {
	Row                                                            string // rowPassenger or rowHeld
	Seat, Name, Phones, From, To, Status, Payment, Ticket, Booking string
	First, Last                                                    string
	// Boards is of the first who boards at a stop: where and when that is, and how many do.
	Boards string

	taken *booking.SeatTaken
}

const (
	rowPassenger = "passenger"
	rowHeld      = "held"
)

// erased stands for the name of a passenger who was forgotten.
const erased = "(erased)"

// sheet makes the texts: a name or a place is written the same in every form, and by the clock at the stop.
func (m *Manifest) sheet() *sheet {
	form := m.Run.Form
	last := int16(len(form.Stops) - 1)
	x := &sheet{
		Title:   m.Name.String(),
		Carrier: form.Company.Name,
		Route:   form.Route.Name,
		Bus: strings.TrimSpace(
			form.Bus.Brand + " " + form.Bus.Model + " " + form.Bus.Registration,
		),
		Leaves:  Write(Leaves(m.Run, 0), dayAndTime),
		Arrives: Write(Arrives(m.Run, last), dayAndTime),
		News:    m.News(),
		Stops:   m.calls(),
		Rows:    m.rows(),
		Seats:   int(form.Bus.Seats),
		Count:   words.Counted(len(m.Riders), "passenger"),
		Read:    m.At.UTC().Format(time.RFC3339),
		Seq:     m.Seq,
		Hash:    m.Hash,
		Bar:     m.Bar,
	}
	if n := len(m.Held); n > 0 {
		x.Count += ", " + words.Counted(n, "seat") + " held"
	}
	// Who boards and who alights is counted as it is written: a driver compares both with the bus.
	for i := range x.Rows {
		x.Stops[x.Rows[i].taken.From].Boarding++
		x.Stops[x.Rows[i].taken.To].Alighting++
	}
	// The list is by boarding stop, which stands above those who board there, and not beside each.
	for i := range x.Rows {
		at := x.Rows[i].taken.From
		if i == 0 || x.Rows[i-1].taken.From != at {
			stop := &x.Stops[at]
			when := cmp.Or(stop.Leaves, stop.Arrives) // a ride of nothing may begin at the last stop
			x.Rows[i].Boards = fmt.Sprintf("%s, %s: %d", stop.Place, when, stop.Boarding)
		}
	}
	return x
}

// calls returns the stops, at which nobody is counted yet.
func (m *Manifest) calls() (list []call) {
	form := m.Run.Form
	last := int16(len(form.Stops) - 1)
	for at := range last + 1 {
		c := call{Place: form.Stops[at].Title()}
		if at > 0 {
			c.Arrives = Write(Arrives(m.Run, at), timeOfDay)
		}
		if at < last {
			c.Leaves = Write(Leaves(m.Run, at), timeOfDay)
			c.Taken = strconv.Itoa(m.Loads[at].Taken)
			c.Free = strconv.Itoa(m.Loads[at].Free)
			c.Bar = m.newBar(at)
		}
		list = append(list, c)
	}
	return list
}

// rows returns who travels and whose seats are held, by boarding stop and seat.
func (m *Manifest) rows() (list []line) {
	for i := range m.Riders {
		list = append(list, m.rider(&m.Riders[i]))
	}
	for i := range m.Held {
		list = append(list, m.held(&m.Held[i]))
	}
	slices.SortStableFunc(list, func(a, b line) int {
		return byBoarding(*a.taken, *b.taken)
	})
	return list
}

// seat returns the row of a seat that is taken, without a name.
func (m *Manifest) seat(t *booking.SeatTaken) line {
	form := m.Run.Form
	return line{
		Seat:    strconv.Itoa(int(t.Seat)),
		From:    form.Stops[t.From].Title(),
		To:      form.Stops[t.To].Title(),
		Ticket:  t.Ticket.ID.String(),
		Booking: t.Booking.ID.String(),
		taken:   t,
	}
}

// rider returns the row of a passenger.
func (m *Manifest) rider(r *booking.SeatTaken) line {
	first, last, _, phones := r.Ticket.Passenger.Fields()
	p := m.seat(r)
	p.Row = rowPassenger
	p.Name = words.Tidy(last + " " + first)
	p.First = first
	p.Last = last
	p.Phones = strings.Join(phones, ", ")
	p.Status, p.Payment = r.Ticket.Status(m.At)
	if r.Ticket.Passenger.Forgotten() {
		p.Name = erased
	}
	// The driver meets somebody who says something else than the list does.
	if sold := m.soldOtherwise(r); sold != "" {
		p.Name += " (" + sold + ")"
	}
	return p
}

// held returns the row of a seat that is held. Who holds it has no ticket yet, so that no name is on it.
func (m *Manifest) held(t *booking.SeatTaken) line {
	p := m.seat(t)
	p.Row = rowHeld
	p.Status = "held until the provider answers"
	if !t.Until.IsZero() {
		p.Status = "held until " + m.holdsUntil(t.Until)
	}
	p.Payment = p.Status
	return p
}

// holdsUntil says until when a seat is held, by the clock of the run's first stop: with the day where that is
// not the one on which the run leaves.
func (m *Manifest) holdsUntil(at time.Time) string {
	leaves := m.Run.Local(m.Run.Dep(0), 0)
	local := m.Run.Local(at, 0)
	// The clock may be another by then than on the day of the run.
	if zone, err := time.LoadLocation(m.Run.Form.Stops[0].City.Zone); err == nil {
		local = at.In(zone)
	}
	if local.Format(time.DateOnly) == leaves.Format(time.DateOnly) {
		return Write(local, timeOfDay)
	}
	return Write(local, dayAndTime)
}

// soldOtherwise says from where to where a passenger was sold a ride that the run, by the timetable in force,
// does not have; "" where it has.
func (m *Manifest) soldOtherwise(r *booking.SeatTaken) string {
	for _, l := range r.Ticket.Itinerary() {
		form := l.Run.Form
		if form.Trip != m.Name.Trip || l.Run.Day != m.Name.Day {
			continue
		}
		from := &form.Stops[l.From]
		to := &form.Stops[l.To]
		if m.Run.Form.Stops[r.From].Stop.ID != from.Stop.ID || m.Run.Form.Stops[r.To].Stop.ID != to.Stop.ID {
			return "sold from " + from.Title() + " to " + to.Title()
		}
	}
	return ""
}

// bar is how full the bus is from one stop to the next, as a picture: its length is barLength, and each part
// is as long as its share of the seats.
type bar struct {
	Sold, Held int    // lengths
	Title      string // what the picture says
}

// barLength is the length of a bar, in units of the picture.
const barLength = 100

// newBar returns the bar from a position to the next. A bus that has more passengers than seats is full.
func (m *Manifest) newBar(at int16) *bar {
	sold := 0
	held := 0
	for i := range m.Taken {
		t := &m.Taken[i]
		switch {
		case at < t.From || at >= t.To:
		case t.Ticket.Phase == booking.Paid || t.Ticket.Phase == booking.Booked:
			sold++
		default:
			held++
		}
	}
	seats := max(int(m.Run.Form.Bus.Seats), sold+held, 1)
	return &bar{
		Sold:  barLength * sold / seats,
		Held:  barLength * held / seats,
		Title: fmt.Sprintf("%d sold, %d held of %d seats", sold, held, m.Run.Form.Bus.Seats),
	}
}
