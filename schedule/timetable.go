// Package schedule says what runs when: a timetable, the runs and rides of it, days, money, and what a ticket
// on a ride shows and refunds by.
//
// A [Timetable] is one immutable value, made from [Tables] by [New] and shared by everyone without a lock. It
// knows no partners and no tickets. A [Run] is a trip on one service day; a [Leg] is a ride on a run, and a
// [LegRef] names it outside of the timetable. A [Form] is all that a ticket on a trip shows, and outlives the
// timetable. What carriers change of runs is beside the tables: [Timetable.With].
//
//	tt, err := schedule.New(tables)
//	trip, ok := tt.TripByID("kl-0530")
//	leg := schedule.Leg{Trip: trip, Day: day, From: 0, To: 2}
//	start := tt.Start(&leg)
//	list := schedule.Discounted(tt, &leg, schedule.FaresOf(tt).Base(&leg)) // a price for each currency
//
// Journeys are found, and priced, by the sub-package journey. A feed in GTFS becomes Tables in gtfs.
//
// Time. A service day starts at noon minus 12 hours in the company's zone, so that the times of day hold when
// clocks change; stop times are seconds after that. Instants are Unix seconds. Passengers see their city's
// wall-clock time.
package schedule

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// Timetable is a timetable in force. It never changes.
type Timetable struct {
	Tables

	cityByID, citySlug, stopByID map[string]int32
	transfers                    map[stopPair]int32
	companyZn                    []*zone          // by company
	cityZn                       []*time.Location // by city

	tripByKey map[uint64]int32
	keys      []uint64       // by trip
	rules     [][]RefundRule // by route
	discounts [][]Discount   // by route

	forms   []atomic.Pointer[Form] // by trip, made when first asked for
	derived *derived               // shared, as all above, by timetables that differ only by changes of runs

	changes map[Run]Change  // see With
	moved   map[int32][]Day // by trip: the days of runs that were moved, in order
}

// derived is what [Timetable.Derived] returns.
type derived struct {
	once  sync.Once
	value any
}

// New makes the timetable of the tables. Its error names rows that do not fit together.
func New(tables *Tables) (*Timetable, error) {
	t := &Timetable{
		Tables: *tables,
		cityByID: rowsBy(tables.Cities, func(c *City) string {
			return c.ID
		}),
		citySlug: rowsBy(tables.Cities, func(c *City) string {
			return c.Slug
		}),
		stopByID: rowsBy(tables.Stops, func(s *Stop) string {
			return s.ID
		}),
		transfers: rowsBy(tables.Transfers, func(x *Transfer) stopPair {
			return stopPair{x.From, x.To}
		}),
		tripByKey: make(map[uint64]int32, len(tables.Trips)),
		forms:     make([]atomic.Pointer[Form], len(tables.Trips)),
		derived:   new(derived),
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	if err := t.indexZones(); err != nil {
		return nil, err
	}
	for i, x := range t.Trips {
		key := KeyOf(x.ID)
		t.keys = append(t.keys, key)
		t.tripByKey[key] = int32(i)
	}
	t.indexRules()
	return t, nil
}

// Derived returns a value that a package above makes of the tables, as the indexes of a search. It is made
// once, by the first call, and stays as long as the tables are in use. Timetables that differ only by
// changes of runs share it, so that it must depend on none of these. The one user is the sub-package
// journey.
func (t *Timetable) Derived(build func() any) any {
	t.derived.once.Do(func() {
		t.derived.value = build()
	})
	return t.derived.value
}

// rowsBy finds rows by a value that each row alone has.
func rowsBy[R any, K comparable](rows []R, key func(*R) K) map[K]int32 {
	m := make(map[K]int32, len(rows))
	for i := range rows {
		m[key(&rows[i])] = int32(i)
	}
	return m
}

// zone is a time zone with the starts of service days in it.
type zone struct {
	loc    *time.Location
	first  Day
	starts []int64 // from the first day on
}

// indexZones loads each zone once, and works out when all service days start in those of companies.
func (t *Timetable) indexZones() (err error) {
	loaded := map[string]*zone{}
	load := func(name string) *zone {
		if loaded[name] == nil {
			loc, wrong := time.LoadLocation(name)
			if wrong != nil || name == "" || name == "Local" {
				err = cmp.Or(err, fmt.Errorf("schedule: %q is not a time zone", name))
			}
			loaded[name] = &zone{loc: cmp.Or(loc, time.UTC)}
		}
		return loaded[name]
	}
	for i := range t.Companies {
		t.companyZn = append(t.companyZn, load(t.Companies[i].Zone))
	}
	for i := range t.Cities {
		t.cityZn = append(t.cityZn, load(t.Cities[i].Zone).loc)
	}
	first, end := t.ServiceDays()
	for _, z := range t.companyZn {
		if z.starts != nil {
			continue // another company's, too
		}
		z.first = first
		for d := first; d < end; d++ {
			z.starts = append(z.starts, z.start(d))
		}
	}
	return err
}

// ServiceDays returns the first day on which a trip of the tables runs, and the end: the day after the last.
// Without any the first is after the end.
func (t *Tables) ServiceDays() (first, end Day) {
	first = Day(math.MaxInt32)
	end = Day(math.MinInt32)
	for i := range t.Trips {
		from, to := t.Services[t.Trips[i].Service].days()
		first = min(first, from)
		end = max(end, to)
	}
	return first, end
}

// days returns the first day on which the service runs, and the end: the day after the last. Without any the
// first is after the end.
func (s *Service) days() (first, end Day) {
	first, end = Day(math.MaxInt32), Day(math.MinInt32)
	for word, days := range s.Bits {
		if days != 0 {
			from := s.First + Day(64*word)
			first = min(first, from+Day(bits.TrailingZeros64(days)))
			end = from + Day(bits.Len64(days))
		}
	}
	return first, end
}

// LastDay returns the last day, by the clocks of companies, on which a run leaves a stop: a run of the last
// service day leaves after midnight, too. It is false where no trip has a day.
func (t *Tables) LastDay() (last Day, ok bool) {
	last = Day(math.MinInt32)
	for i := range t.Trips {
		x := &t.Trips[i]
		times := t.Times[x.Times]
		_, end := t.Services[x.Service].days()
		last = max(last, end-1+Day((times[len(times)-3]+x.Shift)/(24*3600))) // of the last departure
	}
	first, end := t.ServiceDays()
	return last, first < end
}

// begins returns the instant at which a day has begun by the clocks of all companies.
func (t *Tables) begins(d Day) (begun time.Time) {
	for i := range t.Companies {
		loc, err := time.LoadLocation(t.Companies[i].Zone)
		if err != nil {
			continue
		}
		if at := time.Unix((&zone{loc: loc}).start(d), 0); at.After(begun) {
			begun = at
		}
	}
	return begun
}

// Over reports whether the last day with a departure is over by the clocks of all companies. It is where
// there is none.
func (t *Tables) Over(now time.Time) bool {
	last, ok := t.LastDay()
	return !ok || !t.begins(last+1).After(now)
}

// Ending says that a timetable with trips ends in a week or less; "" is of one that does not.
func (t *Tables) Ending(now time.Time) string {
	last, ok := t.LastDay()
	switch {
	case len(t.Trips) == 0 || ok && t.begins(last-7).After(now):
		return ""
	case !t.Over(now):
		return fmt.Sprintf("the last day of the timetable is %s: import the next one", last)
	}
	return "all days of the timetable are over: nothing is sold until the next one is imported"
}

// DayStart returns the instant, in Unix seconds, at which a service day of a company starts.
func (t *Timetable) DayStart(company int32, d Day) int64 {
	return t.companyZn[company].start(d)
}

// start returns the instant, in Unix seconds, at which a service day starts: noon minus 12 hours.
func (z *zone) start(d Day) int64 {
	i := int(d - z.first)
	if i >= 0 && i < len(z.starts) {
		return z.starts[i]
	}
	y, m, n := d.Date().Date()
	return time.Date(y, m, n, 12, 0, 0, 0, z.loc).Unix() - 12*3600
}

// CityByID finds a city by its id, and returns its index.
func (t *Timetable) CityByID(id string) (int32, bool) {
	return find(t.cityByID, id)
}

// CityBySlug finds a city by its slug, and returns its index.
func (t *Timetable) CityBySlug(slug string) (int32, bool) {
	return find(t.citySlug, slug)
}

// StopByID finds a stop by its id, and returns its index.
func (t *Timetable) StopByID(id string) (int32, bool) {
	return find(t.stopByID, id)
}

// TripByID finds a trip by its id, and returns its index.
func (t *Timetable) TripByID(id string) (int32, bool) {
	return find(t.tripByKey, KeyOf(id))
}

func find[K comparable](in map[K]int32, key K) (int32, bool) {
	i, ok := in[key]
	return i, ok
}

// CityZone returns the zone of a city's clocks.
func (t *Timetable) CityZone(city int32) *time.Location {
	return t.cityZn[city]
}

// About a trip: its rows, and when it is at a position, in seconds after its service day's start.
func (t *Timetable) pattern(trip int32) *Pattern {
	return &t.Patterns[t.Trips[trip].Pattern]
}
func (t *Timetable) service(trip int32) *Service {
	return &t.Services[t.Trips[trip].Service]
}

// Route returns the route of a trip.
func (t *Timetable) Route(trip int32) *Route {
	return &t.Routes[t.pattern(trip).Route]
}

// Company returns the company that runs a trip.
func (t *Timetable) Company(trip int32) *Company {
	return &t.Companies[t.Route(trip).Company]
}

// StopsOf returns the stops of a trip, in its order, by index.
func (t *Timetable) StopsOf(trip int32) []int32 {
	return t.pattern(trip).Stops
}

// Scheduled reports whether the timetable has a run of a trip on a day, also one that was cancelled.
func (t *Timetable) Scheduled(trip int32, d Day) bool {
	return t.service(trip).Runs(d)
}

// RunsOn reports whether a trip runs on a day, at whatever time: it does unless that run was cancelled.
func (t *Timetable) RunsOn(trip int32, d Day) bool {
	return t.Scheduled(trip, d) && !t.changes[Run{trip, d}].Canceled
}

func (t *Timetable) arr(trip int32, at int16) int64 {
	x := &t.Trips[trip]
	return int64(t.Times[x.Times][2*at] + x.Shift)
}
func (t *Timetable) dep(trip int32, at int16) int64 {
	x := &t.Trips[trip]
	return int64(t.Times[x.Times][2*at+1] + x.Shift)
}

// Seats returns the capacity of a trip.
func (t *Timetable) Seats(trip int32) int {
	if b := t.Trips[trip].Bus; b >= 0 {
		return int(t.Buses[b].Seats)
	}
	return DefaultSeats
}

// Or returns the name in a language, or else the name as the feed has it.
func (n *Names) Or(name string, lang Language) string {
	if lang >= 0 && n[lang] != "" {
		return n[lang]
	}
	return name
}

// RouteName returns the name of a trip's route in a language, or else the trip's first and last city.
func (t *Timetable) RouteName(trip int32, lang Language) string {
	if r := t.Route(trip); r.Name != "" {
		return r.Names.Or(r.Name, lang)
	}
	stops := t.StopsOf(trip)
	first := &t.Cities[t.Stops[stops[0]].City]
	last := &t.Cities[t.Stops[stops[len(stops)-1]].City]
	return first.Names.Or(first.Name, lang) + " – " + last.Names.Or(last.Name, lang)
}
