// Package schedule answers what runs when: a timetable, the journeys between
// two cities on given days, their fares, discounts and refund rules.
//
// A [Timetable] is one immutable value, made from [Tables] by [New] and shared
// by everyone without a lock. It knows no partners and no tickets: which seats
// are free is the caller's business, who passes the rides that are full to
// [Timetable.Search]. A feed in GTFS becomes Tables in the sub-package gtfs.
//
// Time. A service day starts at noon minus 12 hours in the company's zone, so
// that on days when clocks change the times of day still hold; stop times are seconds after
// that. Instants are Unix seconds. What passengers see is wall-clock time in the city's zone.
package schedule

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// Timetable is a timetable in force. It never changes.
type Timetable struct {
	Tables

	zones     map[string]*zone
	companyZn []*zone // by company
	cityZn    []*zone // by city
	cityByID  map[string]int32
	citySlug  map[string]int32
	stopByID  map[string]int32
	tripKeys  []uint64 // by trip
	tripByKey map[uint64]int32
	byName    []int32  // cities in the order of their names
	folded    []string // by city: all its names, folded, a line each

	calls     index[int32, call]   // by city: where trips call
	pairs     index[cityPair, hop] // by city pair: who goes there
	trips     index[int32, int32]  // by pattern
	fares     fareIndex
	rules     [][]RefundRule // by route
	discounts [][]Discount   // by route
	transfers map[stopPair]Transfer
	leastWait int64 // the shortest change anywhere, in seconds

	forms []atomic.Pointer[Form] // by trip, made when first asked for
}

// call is a pattern's stop at a position.
type call struct {
	pattern  int32
	position int16
}

// hop is a ride on a pattern from one position to a later one.
type hop struct {
	pattern  int32
	from, to int16
}

type cityPair struct{ from, to int32 }

type stopPair struct{ from, to string }

// New makes the timetable of the tables. Its error names what does not fit together.
func New(tables *Tables) (*Timetable, error) {
	t := &Timetable{
		Tables: *tables, zones: map[string]*zone{}, cityByID: map[string]int32{}, citySlug: map[string]int32{},
		stopByID: map[string]int32{}, tripByKey: make(map[uint64]int32, len(tables.Trips)),
		transfers: map[stopPair]Transfer{}, leastWait: minWait,
		forms: make([]atomic.Pointer[Form], len(tables.Trips)),
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	for i := range t.Companies {
		z, err := t.zone(t.Companies[i].Zone)
		if err != nil {
			return nil, err
		}
		t.companyZn = append(t.companyZn, z)
	}
	for i := range t.Cities {
		c := &t.Cities[i]
		z, err := t.zone(c.Zone)
		if err != nil {
			return nil, err
		}
		t.cityZn = append(t.cityZn, z)
		t.cityByID[c.ID], t.citySlug[c.Slug] = int32(i), int32(i)
		t.byName = append(t.byName, int32(i))
		t.folded = append(t.folded, Fold(strings.Join(append(c.Names[:], c.Name), "\n")))
	}
	slices.SortFunc(t.byName, func(a, b int32) int {
		x, y := &t.Cities[a], &t.Cities[b]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.ID, y.ID))
	})
	for i := range t.Stops {
		t.stopByID[t.Stops[i].ID] = int32(i)
	}
	for _, x := range t.Transfers {
		t.transfers[stopPair{x.From, x.To}] = x
		if !x.Forbidden {
			t.leastWait = min(t.leastWait, int64(x.Seconds))
		}
	}
	t.indexTrips()
	t.fares = newFareIndex(t)
	t.indexRules()
	return t, nil
}

// check makes sure that every index is one.
func (t *Timetable) check() error {
	in := func(i int32, n int) bool { return i >= 0 && int(i) < n }
	maybe := func(i int32, n int) bool { return i == -1 || in(i, n) }
	for _, x := range t.Stops {
		if !in(x.City, len(t.Cities)) {
			return fmt.Errorf("schedule: stop %q is in no city", x.ID)
		}
	}
	for _, x := range t.Routes {
		if !in(x.Company, len(t.Companies)) {
			return fmt.Errorf("schedule: route %q is of no company", x.ID)
		}
	}
	for i, x := range t.Patterns {
		ok := in(x.Route, len(t.Routes)) && len(x.Stops) > 1 && len(x.Stops) <= MaxStops
		for _, s := range x.Stops {
			ok = ok && in(s, len(t.Stops))
		}
		for _, list := range [][]int16{x.NoPickup, x.NoDropOff} {
			for _, p := range list {
				ok = ok && in(int32(p), len(x.Stops))
			}
		}
		if !ok {
			return fmt.Errorf("schedule: pattern %d names a route, stop or position that is not there", i)
		}
	}
	for _, x := range t.Trips {
		ok := in(x.Pattern, len(t.Patterns)) && in(x.Service, len(t.Services)) && in(x.Times, len(t.Times)) && maybe(x.Bus, len(t.Buses))
		if !ok || len(t.Times[x.Times]) != 2*len(t.Patterns[x.Pattern].Stops) {
			return fmt.Errorf("schedule: trip %q names a pattern, service, bus or times that are not there", x.ID)
		}
	}
	for _, x := range t.Fares {
		if !maybe(x.Company, len(t.Companies)) || !maybe(x.Route, len(t.Routes)) {
			return fmt.Errorf("schedule: a fare of %s %d names a company or route that is not there", x.Currency, x.Amount)
		}
	}
	for _, x := range t.RefundRules {
		if !maybe(x.Company, len(t.Companies)) || !maybe(x.Route, len(t.Routes)) {
			return fmt.Errorf("schedule: refund rule %q names a company or route that is not there", x.ID)
		}
	}
	for _, x := range t.Discounts {
		if !in(x.Route, len(t.Routes)) {
			return fmt.Errorf("schedule: discount %q names a route that is not there", x.ID)
		}
	}
	return nil
}

// MaxStops is the longest a trip may be.
const MaxStops = 1 << 9

func (t *Timetable) indexTrips() {
	var byPattern []keyed[int32, int32]
	for i := range t.Trips {
		byPattern = append(byPattern, keyed[int32, int32]{t.Trips[i].Pattern, int32(i)})
		t.tripKeys = append(t.tripKeys, tripKey(t.Trips[i].ID))
		t.tripByKey[t.tripKeys[i]] = int32(i)
	}
	t.trips = newIndex(byPattern, cmp.Compare[int32])
	count := 0
	for i := range t.Patterns {
		count += len(t.Patterns[i].Stops) * (len(t.Patterns[i].Stops) - 1) / 2
	}
	var calls []keyed[int32, call]
	hops := make([]keyed[cityPair, hop], 0, count)
	for i := range t.Patterns {
		p := &t.Patterns[i]
		for from, s := range p.Stops {
			city := t.Stops[s].City
			if slices.Contains(p.NoPickup, int16(from)) {
				continue
			}
			calls = append(calls, keyed[int32, call]{city, call{int32(i), int16(from)}})
			for to := from + 1; to < len(p.Stops); to++ {
				if there := t.Stops[p.Stops[to]].City; there != city && !slices.Contains(p.NoDropOff, int16(to)) {
					hops = append(hops, keyed[cityPair, hop]{cityPair{city, there}, hop{int32(i), int16(from), int16(to)}})
				}
			}
		}
	}
	t.calls = newIndex(calls, cmp.Compare[int32])
	t.pairs = newIndex(hops, func(a, b cityPair) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
}

// CityByID finds a city by its id.
func (t *Timetable) CityByID(id string) (int32, bool) { i, ok := t.cityByID[id]; return i, ok }

// CityBySlug finds a city by its slug.
func (t *Timetable) CityBySlug(slug string) (int32, bool) { i, ok := t.citySlug[slug]; return i, ok }

// StopByID finds a stop by its id.
func (t *Timetable) StopByID(id string) (*Stop, bool) {
	i, ok := t.stopByID[id]
	if !ok {
		return nil, false
	}
	return &t.Stops[i], true
}

// CityZone gives the zone of a city's clocks.
func (t *Timetable) CityZone(city int32) *time.Location { return t.cityZn[city].loc }

// pattern gives the pattern of a trip.
func (t *Timetable) pattern(trip int32) *Pattern { return &t.Patterns[t.Trips[trip].Pattern] }

// Route gives the route of a trip.
func (t *Timetable) Route(trip int32) *Route { return &t.Routes[t.pattern(trip).Route] }

// Company gives the company of a trip.
func (t *Timetable) Company(trip int32) *Company { return &t.Companies[t.Route(trip).Company] }

// Seats gives the capacity of a trip.
func (t *Timetable) Seats(trip int32) int {
	if b := t.Trips[trip].Bus; b >= 0 {
		return int(t.Buses[b].Seats)
	}
	return DefaultSeats
}

// StopsOf gives the stops a trip calls at, as indexes of Stops.
func (t *Timetable) StopsOf(trip int32) []int32 { return t.pattern(trip).Stops }

// RouteName gives what a trip's route is called in a language: its name, or
// else the trip's first and last city.
func (t *Timetable) RouteName(trip int32, lang Language) string {
	r := t.Route(trip)
	if r.Name == "" {
		stops := t.pattern(trip).Stops
		return t.CityName(t.Stops[stops[0]].City, lang) + " – " + t.CityName(t.Stops[stops[len(stops)-1]].City, lang)
	}
	if lang >= 0 && r.Names[lang] != "" {
		return r.Names[lang]
	}
	return r.Name
}

// Untranslated asks for names as the feed has them.
const Untranslated Language = -1

// CityName gives a city's name in a language, or else as the feed has it.
func (t *Timetable) CityName(city int32, lang Language) string {
	c := &t.Cities[city]
	if lang >= 0 && c.Names[lang] != "" {
		return c.Names[lang]
	}
	return c.Name
}

// index groups values by key, in one array sorted by key.
type index[K comparable, V any] struct {
	compare func(K, K) int
	keys    []K
	starts  []int32 // by key, and one more
	values  []V
}

type keyed[K comparable, V any] struct {
	key   K
	value V
}

// newIndex keeps the values of a key in the order they are listed in.
func newIndex[K comparable, V any](list []keyed[K, V], compare func(K, K) int) index[K, V] {
	slices.SortStableFunc(list, func(a, b keyed[K, V]) int { return compare(a.key, b.key) })
	x := index[K, V]{compare: compare, values: make([]V, len(list))}
	for i, kv := range list {
		if x.values[i] = kv.value; i == 0 || kv.key != list[i-1].key {
			x.keys, x.starts = append(x.keys, kv.key), append(x.starts, int32(i))
		}
	}
	x.starts = append(x.starts, int32(len(list)))
	return x
}

func (x *index[K, V]) get(key K) []V {
	i, ok := slices.BinarySearchFunc(x.keys, key, x.compare)
	if !ok {
		return nil
	}
	return x.values[x.starts[i]:x.starts[i+1]]
}

// TripByID finds a trip by its id.
func (t *Timetable) TripByID(id string) (int32, bool) {
	i, ok := t.tripByKey[tripKey(id)]
	return i, ok
}

// RunsOn tells whether a trip runs on a service day.
func (t *Timetable) RunsOn(trip int32, d Day) bool { return t.Services[t.Trips[trip].Service].Runs(d) }

// FindCities gives the cities whose name, or a translation of it, has the text
// in it, without regard to case and accents, in the order of their names; "" is
// any name, and any country.
func (t *Timetable) FindCities(name, country string) []int32 {
	name = Fold(name)
	var list []int32
	for _, i := range t.byName {
		c := &t.Cities[i]
		if country != "" && c.Country != country {
			continue
		}
		if name == "" || strings.Contains(t.folded[i], name) {
			list = append(list, i)
		}
	}
	return list
}
