// Package schedule answers what runs when: a timetable, the journeys between two cities, fares and refund
// rules.
//
// A [Timetable] is one immutable value, made from [Tables] by [New] and shared by everyone without a lock. It
// knows no partners and no tickets: which seats are free is the caller's business, who passes the rides that
// are full to [Timetable.Search]. A feed in GTFS becomes Tables in the sub-package gtfs.
//
// Time. A service day starts at noon minus 12 hours in the company's zone, so that the times of day hold when
// clocks change; stop times are seconds after that. Instants are Unix seconds. Passengers see their city's
// wall-clock time.
package schedule

import (
	"cmp"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"waybill/schedule/fold"
)

// Timetable is a timetable in force. It never changes.
type Timetable struct {
	Tables

	cityByID, citySlug, stopByID map[string]int32
	companyZn                    []*zone          // by company
	cityZn                       []*time.Location // by city
	byName                       []int32          // cities in the order of their names
	folded                       []string         // by city: all its names, folded, a line each

	trips     [][]int32 // by pattern
	timings   []timing  // by trip
	tripByKey map[uint64]int32
	keys      []uint64                  // by trip
	calls     [][]hop                   // by city: where one can board; to is not set
	hops      []hop                     // those of a pair of cities next to each other, the shown ones first
	origins   [][]origin                // by city: those that one can come from, in order
	hopFares  []atomic.Pointer[[]Money] // by place in hops: what BaseFares returns, once asked
	fares     fareIndex
	rules     [][]RefundRule // by route
	discounts [][]Discount   // by route
	transfers map[stopPair]Transfer
	leastWait int64 // the shortest change anywhere, in seconds
	slack     int64 // seconds that a service day's start may differ from its zone's first in that, at most

	forms []atomic.Pointer[Form] // by trip, made when first asked for

	changes map[Run]Change  // see With
	moved   map[int32][]Day // by trip: the days of runs that were moved
}

// hop is a ride on a pattern from one position to a later one.
type hop struct {
	pattern  int32
	from, to int16
}

// timing is what a search asks of a trip, next to each other: the rows of the tables are large, and far apart
// in memory.
type timing struct {
	times            Times
	ends             []int32 // by position: the city where one may alight, from 1; 0 is nowhere
	shift            int32
	company, service int32
}

// arr returns when a trip is at a position, in seconds after its service day's start; dep when it leaves.
func (x *timing) arr(at int16) int64 { return int64(x.times[2*at] + x.shift) }
func (x *timing) dep(at int16) int64 { return int64(x.times[2*at+1] + x.shift) }

// origin is a city from which rides go to another one, and what part of hops they are, as numbers: slices
// would be a million pointers for the garbage collector.
type origin struct {
	city            int32
	from, shown, to int32 // those up to shown are listed for a search, the others only where one changes
	least           int32 // seconds that the shortest ride takes
}

type stopPair struct{ from, to string }

// New makes the timetable of the tables. Its error names what does not fit together.
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
		tripByKey: map[uint64]int32{},
		trips:     make([][]int32, len(tables.Patterns)),
		forms: make([]atomic.Pointer[Form],
			len(tables.Trips)),
		calls:     make([][]hop, len(tables.Cities)),
		origins:   make([][]origin, len(tables.Cities)),
		transfers: map[stopPair]Transfer{},
		leastWait: minWait,
	}
	if err := cmp.Or(t.check(), t.indexZones()); err != nil {
		return nil, err
	}
	for i, c := range t.Cities {
		t.byName = append(t.byName, int32(i))
		t.folded = append(t.folded, fold.Text(strings.Join(append(c.Names[:], c.Name), "\n")))
	}
	slices.SortFunc(t.byName, func(a, b int32) int {
		x := &t.Cities[a]
		y := &t.Cities[b]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	for _, x := range t.Transfers {
		t.transfers[stopPair{x.From, x.To}] = x
		if !x.Forbidden {
			t.leastWait = min(t.leastWait, int64(x.Seconds))
		}
	}
	ends := make([][]int32, len(t.Patterns))
	for i := range t.Patterns {
		ends[i] = t.endsOf(&t.Patterns[i])
	}
	for i, x := range t.Trips {
		t.trips[x.Pattern], t.keys = append(t.trips[x.Pattern], int32(i)), append(t.keys, KeyOf(x.ID))
		t.tripByKey[t.keys[i]] = int32(i)
		t.timings = append(t.timings, timing{
			times:   t.Times[x.Times],
			ends:    ends[x.Pattern],
			shift:   x.Shift,
			company: t.Route(int32(i)).Company,
			service: x.Service,
		})
	}
	t.indexHops()
	t.hopFares = make([]atomic.Pointer[[]Money], len(t.hops))
	t.indexFares()
	t.indexRules()
	return t, nil
}

// rowsBy finds rows by what each alone has.
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
	ahead  int64   // seconds that the first of them lies before midnight UTC
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
	first := Day(math.MaxInt32)
	end := Day(math.MinInt32)
	for _, s := range t.Services {
		if n := Day(len(s.Bits) * 64); n > 0 {
			first = min(first, s.First)
			end = max(end, s.First+n)
		}
	}
	for i := range t.Cities {
		t.cityZn = append(t.cityZn, load(t.Cities[i].Zone).loc)
	}
	for _, z := range t.companyZn {
		if z.starts != nil {
			continue // another company's, too
		}
		z.first = first
		for d := first; d < end; d++ {
			z.starts = append(z.starts, z.start(d))
			ahead := int64(d)*86400 - z.starts[d-first]
			if d == first {
				z.ahead = ahead
			}
			t.slack = max(t.slack, ahead-z.ahead, z.ahead-ahead)
		}
	}
	return err
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

func (t *Timetable) indexHops() {
	for i, p := range t.Patterns {
		for from, s := range p.Stops {
			city := t.Stops[s].City
			if !slices.Contains(p.NoPickup, int16(from)) {
				t.calls[city] = append(t.calls[city], hop{
					pattern: int32(i),
					from:    int16(from),
				})
			}
		}
	}
	for i, calls := range t.calls {
		city := int32(i)
		hops := map[int32][]hop{}
		for _, c := range calls {
			for h, there := range t.hopsFrom(c) {
				if there != city {
					hops[there] = append(hops[there], h)
				}
			}
		}
		for there, list := range hops {
			start := int32(len(t.hops))
			shown, others := listed(list)
			t.byTime(shown)
			t.byTime(others)
			t.hops = append(append(t.hops, shown...), others...)
			x := origin{
				city:  city,
				from:  start,
				shown: start + int32(len(shown)),
				to:    int32(len(t.hops)),
				least: math.MaxInt32,
			}
			for _, h := range list {
				for _, trip := range t.trips[h.pattern] {
					x.least = min(x.least, int32(t.arr(trip, h.to)-t.dep(trip, h.from)))
				}
			}
			t.origins[there] = append(t.origins[there], x)
		}
		t.byTime(calls)
	}
}

// MaxPairs is how many pairs of a boarding and an alighting stop a run may have between two cities to be
// listed once for each. An area may have hundreds of stops: beyond that a run is listed once only.
const MaxPairs = 16

// listed splits the hops between two cities into those that a search lists and the others (contract §5): of
// a pattern with more than MaxPairs, the one from the last stop where one may board to the first after it
// where one may alight is listed. The hops come by pattern, then by where they start and end.
func listed(hops []hop) (shown, others []hop) {
	for len(hops) > 0 {
		n := slices.IndexFunc(hops, func(h hop) bool {
			return h.pattern != hops[0].pattern
		})
		if n < 0 {
			n = len(hops)
		}
		of := hops[:n]
		hops = hops[n:]
		if n <= MaxPairs {
			shown = append(shown, of...)
			continue
		}
		one := slices.IndexFunc(of, func(h hop) bool {
			return h.from == of[n-1].from
		})
		shown = append(shown, of[one])
		others = append(others, of[:one]...)
		others = append(others, of[one+1:]...)
	}
	return shown, others
}

// endsOf returns the ends of a pattern's timing.
func (t *Timetable) endsOf(p *Pattern) []int32 {
	ends := make([]int32, len(p.Stops))
	for at, s := range p.Stops {
		if !slices.Contains(p.NoDropOff, int16(at)) {
			ends[at] = t.Stops[s].City + 1
		}
	}
	return ends
}

// byTime sorts hops by when the first trip of each leaves, so that little is left to sort when they are
// searched.
func (t *Timetable) byTime(hops []hop) {
	at := func(h hop) int64 {
		trips := t.trips[h.pattern]
		if len(trips) == 0 {
			return 0
		}
		x := line{
			hop:  h,
			trip: trips[0],
		}
		return t.lineAt(x, 0).at
	}
	slices.SortFunc(hops, func(a, b hop) int {
		return cmp.Compare(at(a), at(b))
	})
}

// hopsFrom goes through the hops that start with a call, and the cities where they end.
func (t *Timetable) hopsFrom(call hop) iter.Seq2[hop, int32] {
	return func(yield func(hop, int32) bool) {
		p := &t.Patterns[call.pattern]
		h := call
		for h.to = h.from + 1; int(h.to) < len(p.Stops); h.to++ {
			if !slices.Contains(p.NoDropOff, h.to) && !yield(h, t.Stops[p.Stops[h.to]].City) {
				return
			}
		}
	}
}

// origin returns what goes from one city to another. The zero origin is nothing.
func (t *Timetable) origin(from, to int32) origin {
	list := t.origins[to]
	i, ok := slices.BinarySearchFunc(list, from, func(x origin, city int32) int {
		return cmp.Compare(x.city, city)
	})
	if !ok {
		return origin{}
	}
	return list[i]
}

// between returns the hops that a search between two cities lists.
func (t *Timetable) between(from, to int32) []hop {
	at := t.origin(from, to)
	return t.hops[at.from:at.shown]
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

// Of a trip: the rows it rests on, and when it is at a position, in seconds after its service day's start.
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
	return t.timings[trip].arr(at)
}
func (t *Timetable) dep(trip int32, at int16) int64 {
	return t.timings[trip].dep(at)
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

// RouteName returns what a trip's route is called in a language: its name, or else the trip's first and last
// city.
func (t *Timetable) RouteName(trip int32, lang Language) string {
	if r := t.Route(trip); r.Name != "" {
		return r.Names.Or(r.Name, lang)
	}
	stops := t.StopsOf(trip)
	first := &t.Cities[t.Stops[stops[0]].City]
	last := &t.Cities[t.Stops[stops[len(stops)-1]].City]
	return first.Names.Or(first.Name, lang) + " – " + last.Names.Or(last.Name, lang)
}

// FindCities returns, in the order of names, a country's cities with a text in any of their names, folded; ""
// is any.
func (t *Timetable) FindCities(name, country string) []int32 {
	name = fold.Text(name)
	var list []int32
	for _, i := range t.byName {
		if (country == "" || t.Cities[i].Country == country) && strings.Contains(t.folded[i], name) {
			list = append(list, i)
		}
	}
	return list
}
