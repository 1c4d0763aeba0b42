package carrier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/schedule/fold"
	"waybill/server/ledger"
)

// Day is runs of a service day, in the order in which they leave.
type Day struct {
	Runs []RunShown
	More int // that are not among them
}

// RunShown is a run as a list has it. It has no names of passengers.
type RunShown struct {
	Name            ids.RunName
	Company, Route  string
	From, To        string    // its first and last city
	Leaves, Arrives time.Time // by the clocks at the stops
	Taken, Free     int       // seats, where the bus is fullest
	News            string    // what its carrier has changed, or is wrong with it, in short; "" is nothing

	Withdrawn bool // the timetable no longer has it
	Overfull  bool // more people have seats than the bus has
	Over      bool // it has arrived
}

// Day returns the runs of a service day that somebody looks for, those of the timetable and those that were
// sold before it, as many as are asked for. A query is a part of a trip's id, or of the name of a company, a
// route or a city; "" is all.
func (s *Dispatcher) Day(on schedule.Day, query string, most int) (*Day, error) {
	runs, err := s.runsOn(on)
	if err != nil {
		return nil, err
	}
	runs = slices.DeleteFunc(runs, func(run *booking.Run) bool {
		return !mentions(run.Form, query)
	})
	slices.SortFunc(runs, func(a, b *booking.Run) int {
		return cmp.Or(a.Dep(0).Compare(b.Dep(0)), strings.Compare(a.Form.Trip, b.Form.Trip))
	})
	x := &Day{More: max(0, len(runs)-most)}
	err = s.Store.View(func(st ledger.State, now time.Time) {
		for _, run := range runs[:len(runs)-x.More] {
			name := ids.RunName{Trip: run.Form.Trip, Day: run.Day}
			if m := st.Bookings.SeatMap(st.Timetable(), name, now); m != nil {
				x.Runs = append(x.Runs, newRunShown(st.Timetable(), name, m, now))
			}
		}
	})
	return x, err
}

// runsOn returns the runs of a service day. What was sold is looked through without the lock.
func (s *Dispatcher) runsOn(on schedule.Day) (runs []*booking.Run, err error) {
	var sold []*booking.Run
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		sold = st.Bookings.Freeze().Runs
	})
	tt := s.Timetable.Load()
	for i := range tt.Trips {
		trip := int32(i)
		if tt.Scheduled(trip, on) {
			start := tt.Start(&schedule.Leg{Trip: trip, Day: on})
			runs = append(runs, booking.NewRun(tt.Form(trip), on, start, tt.Offsets(trip, start)))
		}
	}
	// Of a run that was sold in several forms the last one counts.
	withdrawn := map[string]*booking.Run{}
	for _, run := range sold {
		trip, known := tt.TripByID(run.Form.Trip)
		if run.Day == on && !(known && tt.Scheduled(trip, on)) {
			withdrawn[run.Form.Trip] = run
		}
	}
	for _, run := range withdrawn {
		runs = append(runs, run)
	}
	return runs, err
}

// newRunShown returns a run as a list has it.
func newRunShown(tt *schedule.Timetable, name ids.RunName, m *booking.SeatMap, now time.Time) RunShown {
	run := m.Run
	form := run.Form
	last := int16(len(form.Stops) - 1)
	x := RunShown{
		Name:    name,
		Company: form.Company.Name,
		Route:   form.Route.Name,
		From:    form.Stops[0].City.Name,
		To:      form.Stops[last].City.Name,
		Leaves:  run.Local(run.Dep(0), 0),
		Arrives: run.Local(run.Arr(last), last),
		Free:    int(form.Bus.Seats),
		News:    ShortNews(&m.Change),
	}
	for _, part := range m.Loads {
		x.Taken = max(x.Taken, part.Taken)
		x.Free = min(x.Free, part.Free)
	}
	trip, known := tt.TripByID(name.Trip)
	x.Withdrawn = !known || !tt.Scheduled(trip, name.Day)
	x.Overfull = x.Taken > int(form.Bus.Seats)
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

// ShortNews says in a word or two what a carrier has changed of a run; "" is nothing.
func ShortNews(c *booking.RunChange) string {
	switch {
	case c.Canceled:
		return "cancelled"
	case c.Shift != 0:
		return fmt.Sprintf("moved by %+d min", c.Shift/60)
	}
	return ""
}

// mentions reports whether a trip is one that somebody looks for.
func mentions(form *schedule.Form, query string) bool {
	wanted := fold.Text(query)
	said := []string{form.Trip, form.Company.Name, form.Company.Slug, form.Route.Name}
	for i := range form.Stops {
		said = append(said, form.Stops[i].City.Name)
	}
	return slices.ContainsFunc(said, func(text string) bool {
		return strings.Contains(fold.Text(text), wanted)
	})
}
