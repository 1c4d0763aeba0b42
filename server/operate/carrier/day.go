package carrier

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger"
)

// Query says which runs of a day are looked for. Its zero value is all runs of day 0.
type Query struct {
	On    schedule.Day // on which they leave by the list's clock; not used where Today is set
	Today bool         // the day that it now is by the list's clock
	Ahead bool         // without those that are over
	// UnderWay has the runs instead that have left before that day, whenever that was, and have not arrived.
	UnderWay bool

	// Names, or parts of names, in any language of the timetable; "" is any.
	Company string
	City    string // at which the run calls
	Text    string // of the trip's id, or of the name of its route, its company or a city

	Page    int // from 1; one after the last page is the last
	PerPage int
}

// Day is runs that leave on one day by one clock: first those that have not left, then the others, each in
// the order in which they leave. It has one page of them.
type Day struct {
	On    schedule.Day
	Clock *time.Location
	Runs  []RunShown

	Total int // runs on all pages
	Page  int // from 1
}

// RunShown is a run as a list has it. It has no names of passengers.
type RunShown struct {
	Name            ids.RunName
	Company, Route  string
	From, To        string    // its first and last city
	Leaves, Arrives time.Time // by the clocks at the stops; in a Day by the clock of the list
	Capacity        int       // seats of the bus
	Taken, Free     int       // seats, where the bus is fullest
	News            string    // what its carrier has changed, or is wrong with it, in short; "" is nothing

	Withdrawn bool // the timetable no longer has it
	Overfull  bool // more people have seats than the bus has
	Left      bool // it has left
	Over      bool // it has arrived
}

// Day returns a page of the runs of a day, those of the timetable and those that were sold before it.
func (s *Dispatcher) Day(q Query) (*Day, error) {
	c, err := s.candidates(q)
	if err != nil {
		return nil, err
	}
	x := &Day{Clock: c.clock(q)}
	x.On = q.On
	if q.Today {
		x.On = schedule.DayOf(c.now.In(x.Clock))
	}
	var runs []candidate
	for _, run := range c.runs {
		if c.isIn(q, x, run) {
			runs = append(runs, run)
		}
	}
	slices.SortFunc(runs, c.compare)
	x.Total = len(runs)
	x.Page = min(max(q.Page, 1), max(1, (len(runs)+q.PerPage-1)/q.PerPage))
	first := (x.Page - 1) * q.PerPage
	last := min(first+q.PerPage, len(runs))
	err = s.Store.View(func(st ledger.State, now time.Time) {
		for _, run := range runs[first:last] {
			if m := st.Bookings.SeatMap(st.Timetable(), run.name, now); m != nil {
				x.Runs = append(x.Runs, newRunShown(st.Timetable(), run.name, m, now))
			}
		}
	})
	for i := range x.Runs {
		run := &x.Runs[i]
		run.Leaves = run.Leaves.In(x.Clock)
		run.Arrives = run.Arrives.In(x.Clock)
	}
	return x, err
}

// isIn reports whether a run is in the list of a query, whose day and clock are known.
func (c *candidates) isIn(q Query, x *Day, run candidate) bool {
	on := schedule.DayOf(run.leaves.In(x.Clock))
	over := !run.arrives.After(c.now)
	if q.UnderWay {
		return on < x.On && !over && !run.leaves.After(c.now)
	}
	return on == x.On && !(q.Ahead && over)
}

// newRunShown returns a run as a list has it.
func newRunShown(tt *schedule.Timetable, name ids.RunName, m *booking.SeatMap, now time.Time) RunShown {
	run := m.Run
	form := run.Form
	last := int16(len(form.Stops) - 1)
	x := RunShown{
		Name:     name,
		Company:  form.Company.Name,
		Route:    form.Route.Name,
		From:     form.Stops[0].City.Name,
		To:       form.Stops[last].City.Name,
		Leaves:   Leaves(run, 0),
		Arrives:  Arrives(run, last),
		Capacity: int(form.Bus.Seats),
		Free:     int(form.Bus.Seats),
		News:     m.Change.News(),
	}
	for _, part := range m.Loads {
		x.Taken = max(x.Taken, part.Taken)
		x.Free = min(x.Free, part.Free)
	}
	x.Withdrawn = isWithdrawn(tt, name)
	x.Overfull = x.Taken > x.Capacity
	x.Left = !x.Leaves.After(now)
	x.Over = !x.Arrives.After(now)
	switch {
	case m.Change.Canceled || x.Withdrawn: // nothing of it is sold, whatever is free
		x.Free = 0
		x.News = cmp.Or(x.News, "not in the timetable")
	case x.Overfull:
		x.News = strings.TrimPrefix(x.News+", more passengers than seats", ", ")
	}
	return x
}

// isWithdrawn reports whether the timetable no longer has a run.
func isWithdrawn(tt *schedule.Timetable, name ids.RunName) bool {
	trip, known := tt.TripByID(name.Trip)
	return !known || !tt.Scheduled(trip, name.Day)
}
