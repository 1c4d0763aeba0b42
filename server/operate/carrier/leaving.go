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

// Which runs leave on a day, and by which clock (decision runs.clock).
//
// A list of runs has one clock: that of the first stops, and where these have several, that of the carrier
// with most of the runs. A run stands on the day on which it leaves by this clock, which may be another than
// its service day: one of 2026-11-19 that leaves at 25:30 stands on the 20th, and so does one of the 19th at
// 23:50 that was moved by 40 minutes. So the runs of some days around are looked at first.

// candidate is a run that may be in a list.
type candidate struct {
	name    ids.RunName
	leaves  time.Time
	arrives time.Time
	zone    *time.Location // of its first stop
	company *schedule.Company
}

// candidates are runs that leave around a day.
type candidates struct {
	now  time.Time
	tt   *schedule.Timetable
	runs []candidate
}

// around is how many days before and after a day are looked at: clocks differ by up to 26 hours.
const around = 2

// candidates returns the runs that are under way around the day of a query, however long ago they have left,
// and that it asks for by names.
func (s *Dispatcher) candidates(q Query) (*candidates, error) {
	var sold []*booking.Run
	c := new(candidates)
	err := s.Store.View(func(st ledger.State, now time.Time) {
		c.now = now
		c.tt = st.Timetable()
		sold = st.Bookings.Freeze().Runs
	})
	if err != nil {
		return nil, err
	}
	on := q.On
	if q.Today {
		on = schedule.DayOf(c.now.UTC())
	}
	first := (on - around).Date()
	end := (on + around + 1).Date()
	wanted := newFilter(c.tt, q)
	c.addScheduled(first, end, wanted)
	// A run may have been moved since it was sold, from 12 hours later to 12 hours earlier.
	near := c.withdrawn(sold, first.AddDate(0, 0, -1), end.AddDate(0, 0, 1))
	withdrawn, err := s.present(near)
	for name, run := range withdrawn {
		if !isUnderWay(run, first, end) || !wanted.has(run.Form) {
			continue
		}
		c.add(name, run.Form, run.Start)
	}
	return c, err
}

// isUnderWay reports whether a run is under way at some instant from first until before end.
func isUnderWay(run *booking.Run, first, end time.Time) bool {
	last := int16(len(run.Form.Stops) - 1)
	return run.Dep(0).Before(end) && !run.Arr(last).Before(first)
}

// addScheduled adds the runs of the timetable that are under way between two instants.
func (c *candidates) addScheduled(first, end time.Time, wanted *filter) {
	for i := range c.tt.Trips {
		trip := int32(i)
		runs := c.tt.UnderWay(trip, first.Unix(), end.Unix())
		if len(runs) == 0 {
			continue
		}
		if form := c.tt.Form(trip); wanted.has(form) {
			for i := range runs {
				c.add(ids.RunName{Trip: form.Trip, Day: runs[i].Day}, form, c.tt.Start(&runs[i]))
			}
		}
	}
}

// add adds a run.
func (c *candidates) add(name ids.RunName, form *schedule.Form, start int64) {
	stops := form.Stops
	c.runs = append(c.runs, candidate{
		name:    name,
		leaves:  time.Unix(start+int64(stops[0].Dep), 0),
		arrives: time.Unix(start+int64(stops[len(stops)-1].Arr), 0),
		zone:    zoneOf(c.tt, &stops[0].City),
		company: &form.Company,
	})
}

// withdrawn returns the names of runs that were sold to be under way between two instants, and that the
// timetable no longer has.
func (c *candidates) withdrawn(sold []*booking.Run, first, end time.Time) (names []ids.RunName) {
	for _, run := range sold {
		if !isUnderWay(run, first, end) || !isWithdrawn(c.tt, run.Name()) {
			continue
		}
		names = append(names, run.Name())
	}
	return names
}

// present returns runs as they are now.
func (s *Dispatcher) present(names []ids.RunName) (map[ids.RunName]*booking.Run, error) {
	runs := map[ids.RunName]*booking.Run{}
	for some := range slices.Chunk(names, presentAtATime) {
		err := s.Store.View(func(st ledger.State, _ time.Time) {
			for _, name := range some {
				if run := st.Bookings.Present(st.Timetable(), name); run != nil {
					runs[name] = run
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// presentAtATime is how many runs are looked up under the lock at a time.
const presentAtATime = 50

// clock returns the clock of the list of a query (decision runs.clock).
func (c *candidates) clock(q Query) *time.Location {
	mixed := false
	zone := (*time.Location)(nil)
	counts := map[string]int{} // of the runs of each carrier, by its id
	most := (*schedule.Company)(nil)
	for i := range c.runs {
		run := &c.runs[i]
		on := q.On
		if q.Today {
			on = schedule.DayOf(c.now.In(run.zone))
		}
		if schedule.DayOf(run.leaves.In(run.zone)) != on {
			continue
		}
		mixed = mixed || zone != nil && zone.String() != run.zone.String()
		zone = run.zone
		counts[run.company.ID]++
		if most == nil || isMore(counts, run.company, most) {
			most = run.company
		}
	}
	switch {
	case mixed:
		return loadZone(most.Zone)
	case zone != nil:
		return zone
	}
	return usualClock(c.tt)
}

// isMore reports whether a carrier has more runs than another, or as many and a name before the other's.
func isMore(counts map[string]int, a, b *schedule.Company) bool {
	n := counts[a.ID] - counts[b.ID]
	return n > 0 || n == 0 && schedule.NameOrder(a.Name) < schedule.NameOrder(b.Name)
}

// usualClock returns the clock of a list without runs: that of the carrier with most trips.
func usualClock(tt *schedule.Timetable) *time.Location {
	counts := map[string]int{}
	most := (*schedule.Company)(nil)
	for i := range tt.Trips {
		company := tt.Company(int32(i))
		counts[company.ID]++
		if most == nil || isMore(counts, company, most) {
			most = company
		}
	}
	if most == nil {
		return time.UTC
	}
	return loadZone(most.Zone)
}

// zoneOf returns the zone of a city, which the timetable may not have any more.
func zoneOf(tt *schedule.Timetable, city *schedule.City) *time.Location {
	if i, known := tt.CityByID(city.ID); known {
		return tt.CityZone(i)
	}
	return loadZone(city.Zone)
}

// loadZone returns a zone by its name, which was right when the feed was imported.
func loadZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// compare compares runs by their places in a list: those that have left come last.
func (c *candidates) compare(a, b candidate) int {
	aLeft := !a.leaves.After(c.now)
	bLeft := !b.leaves.After(c.now)
	if aLeft != bLeft {
		if aLeft {
			return 1
		}
		return -1
	}
	return cmp.Or(a.leaves.Compare(b.leaves), a.name.Compare(b.name))
}

// Next returns the next run of a trip by its id, whatever its case: the first that has not left, or else the
// last. It is false where there is no such trip, or no run of it.
func (s *Dispatcher) Next(id string) (next ids.RunName, ok bool, err error) {
	var sold []*booking.Run
	c := new(candidates)
	err = s.Store.View(func(st ledger.State, now time.Time) {
		c.now = now
		c.tt = st.Timetable()
		sold = st.Bookings.Freeze().Runs
	})
	if err != nil || id == "" {
		return next, false, err
	}
	if trip, known := tripOf(c.tt, id); known {
		form := c.tt.Form(trip)
		first, end := c.tt.ServiceDays()
		for day := first; day < end; day++ {
			if c.tt.Scheduled(trip, day) {
				start := c.tt.Start(&schedule.Leg{Trip: trip, Day: day})
				c.add(ids.RunName{Trip: form.Trip, Day: day}, form, start)
			}
		}
	}
	var names []ids.RunName
	for _, run := range sold {
		if isTrip(run.Form.Trip, id) && isWithdrawn(c.tt, run.Name()) {
			names = append(names, run.Name())
		}
	}
	withdrawn, err := s.present(names)
	for name, run := range withdrawn {
		c.add(name, run.Form, run.Start)
	}
	if len(c.runs) == 0 {
		return next, false, err
	}
	slices.SortFunc(c.runs, c.compare)
	run := c.runs[0]
	if !run.leaves.After(c.now) {
		run = c.runs[len(c.runs)-1]
	}
	return run.name, true, err
}

// isTrip reports whether a trip is meant by an id, which may be that of the feed.
func isTrip(trip, id string) bool {
	return strings.EqualFold(trip, id) || strings.EqualFold(schedule.FeedID(trip), id)
}

// tripOf returns a trip by its id. One that differs only by case is taken where there is no other.
func tripOf(tt *schedule.Timetable, id string) (trip int32, known bool) {
	if trip, known = tt.TripByID(id); known {
		return trip, true
	}
	i := slices.IndexFunc(tt.Trips, func(x schedule.Trip) bool {
		return isTrip(x.ID, id)
	})
	return int32(i), i >= 0
}
