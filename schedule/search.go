package schedule

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// Journey is one leg, or two with a change in between.
type Journey struct {
	first, second Leg
	change        bool
}

func (j *Journey) Legs() []*Leg {
	if j.change {
		return []*Leg{&j.first, &j.second}
	}
	return []*Leg{&j.first}
}

// Dep and Arr are departure and arrival in Unix seconds.
func (j *Journey) Dep() int64 { return j.first.Dep }

func (j *Journey) Arr() int64 {
	if j.change {
		return j.second.Arr
	}
	return j.first.Arr
}

// Query is a search for journeys (contract §6).
type Query struct {
	From, To  int32 // cities
	First     Day   // the first calendar day of departure, in the departure city
	Days      int
	After     int64        // Unix seconds; what leaves by then has left
	Changes   int          // 0 or 1
	Companies []bool       // whose rides are wanted, by index; nil is all
	Full      map[Leg]bool // rides without enough seats: they are not there
}

const (
	minWait = 30 * 60  // seconds a change takes, unless the feed says otherwise
	maxWait = 8 * 3600 // seconds one waits at most
	never   = int64(math.MaxInt64)
)

// Search gives the journeys of a query in order: by departure, arrival, route name and trip id. A journey with a change
// is left out if another one with no more legs leaves no earlier and arrives no later; of equal ones the first stays.
// That does not depend on where the asked days end.
func (t *Timetable) Search(q *Query) []Journey {
	if q.From == q.To || q.Days < 1 {
		return nil
	}
	zone := t.CityZone(q.From)
	start, end := max(q.First.In(zone).Unix(), q.After+1), (q.First + Day(q.Days)).In(zone).Unix()
	var list []Journey
	for _, l := range t.rides(q, q.From, q.To, start, end) {
		list = append(list, Journey{first: l})
	}
	if q.Changes > 0 && start < end {
		list = append(list, t.withChange(q, start, end)...)
	}
	slices.SortFunc(list, t.compare)
	return list
}

// compare is the order journeys are listed in; it never calls two journeys equal.
func (t *Timetable) compare(a, b Journey) int {
	if c := cmp.Or(cmp.Compare(a.Dep(), b.Dep()), cmp.Compare(a.Arr(), b.Arr())); c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(t.RouteName(a.first.Trip, Untranslated), t.RouteName(b.first.Trip, Untranslated)),
		t.compareLegs(&a.first, &b.first), t.compareLegs(&a.second, &b.second))
}

func (t *Timetable) compareLegs(a, b *Leg) int {
	return cmp.Or(strings.Compare(t.Trips[a.Trip].ID, t.Trips[b.Trip].ID),
		cmp.Compare(a.Day, b.Day), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// rides gives the rides between two cities that leave in [start, end).
func (t *Timetable) rides(q *Query, from, to int32, start, end int64) []Leg {
	var list []Leg
	for _, h := range t.between(from, to) {
		list = t.runs(list, q, h, start, end)
	}
	return list
}

// runs appends the rides over one hop that leave in [start, end). The service
// day may lie any number of days before the departure.
func (t *Timetable) runs(list []Leg, q *Query, h hop, start, end int64) []Leg {
	company := t.Routes[t.Patterns[h.pattern].Route].Company
	if q.Companies != nil && !q.Companies[company] {
		return list
	}
	zone := t.companyZn[company]
	for _, trip := range t.trips[h.pattern] {
		service := t.service(trip)
		dep, arr := t.dep(trip, h.from), t.arr(trip, h.to)
		// A service day starts within a day of midnight UTC of its date.
		first := max(service.First, Day((start-dep)/86400-2))
		last := min(service.First+Day(len(service.Bits)*64), Day((end-dep)/86400+2))
		for d := first; d <= last; d++ {
			if !service.Runs(d) {
				continue
			}
			at := zone.start(d)
			l := Leg{trip, d, h.from, h.to, at + dep, at + arr}
			if l.Dep >= start && l.Dep < end && !q.Full[l] {
				list = append(list, l)
			}
		}
	}
	return list
}

// withChange gives the journeys with one change that leave in [start, end) and that no other journey makes pointless.
func (t *Timetable) withChange(q *Query, start, end int64) []Journey {
	c := changes{t: t, q: *q, start: start, onward: map[int32]*onward{}}
	found, _ := c.sweep(start, end)
	if len(found) == 0 || found[0].Arr() < end {
		return found
	}
	// What leaves after the asked days but arrives earlier counts as well. The
	// journey that leaves last arrives last: all others arrive before it.
	_, beyond := c.sweep(end, found[0].Arr()+1)
	return slices.DeleteFunc(found, func(j Journey) bool { return j.Arr() >= beyond })
}

// changes is one search for journeys with a change.
type changes struct {
	t      *Timetable
	q      Query
	start  int64
	onward map[int32]*onward // by city of the change, made when first needed

	// During a sweep: the journeys found, and the first arrival of all that leave no earlier.
	found []Journey
	best  int64
}

// onward are the rides from a city to the destination, by departure. earliest[i] is the first arrival among rides[i:].
type onward struct {
	rides    []Leg
	earliest []int64
	until    int64 // rides that leave before this are in
}

// departure is a run that leaves the city of departure, with all places to change at.
type departure struct {
	ride Leg   // To is not set
	ends []hop // the first gives the pattern; from is the same in all
}

// sweep goes through the departures in [start, end), the latest first, and keeps a journey if it arrives before
// everything that leaves no earlier. It also gives the first arrival of all that leaves in that time.
func (c *changes) sweep(start, end int64) (found []Journey, earliest int64) {
	direct := c.t.rides(&c.q, c.q.From, c.q.To, start, end)
	slices.SortFunc(direct, func(a, b Leg) int { return cmp.Compare(b.Dep, a.Dep) })
	c.found, c.best = nil, never
	for _, d := range c.departures(start, end) {
		for ; len(direct) > 0 && direct[0].Dep >= d.ride.Dep; direct = direct[1:] {
			c.best = min(c.best, direct[0].Arr)
		}
		c.connect(&d)
	}
	for _, l := range direct {
		c.best = min(c.best, l.Arr)
	}
	return c.found, c.best
}

// keep takes a journey in if it arrives first; of those that leave together, the first in order stays.
func (c *changes) keep(j Journey) {
	last := len(c.found) - 1
	if last >= 0 && c.found[last].Dep() == j.Dep() {
		if c.t.compare(j, c.found[last]) > 0 {
			return
		}
		c.found = c.found[:last]
	} else if j.Arr() >= c.best {
		return
	}
	c.found, c.best = append(c.found, j), j.Arr()
}

// departures lists the runs that leave the city in [start, end), the latest first.
func (c *changes) departures(start, end int64) []departure {
	t := c.t
	var list []departure
	var legs []Leg
	open := c.q
	open.Full = nil // whether a ride is full is asked where its end is known
	for _, call := range t.calls[c.q.From] {
		var ends []hop
		for h, city := range t.hopsFrom(call) {
			if city != c.q.From && city != c.q.To && len(t.between(city, c.q.To)) > 0 {
				ends = append(ends, h)
			}
		}
		if len(ends) == 0 {
			continue
		}
		legs = t.runs(legs[:0], &open, ends[0], start, end)
		for _, l := range legs {
			list = append(list, departure{l, ends})
		}
	}
	slices.SortFunc(list, func(a, b departure) int { return cmp.Compare(b.ride.Dep, a.ride.Dep) })
	return list
}

// connect keeps the journeys that start with a departure.
func (c *changes) connect(d *departure) {
	t := c.t
	start := d.ride.Dep - t.dep(d.ride.Trip, d.ride.From)
	for _, h := range d.ends {
		first := d.ride
		first.To, first.Arr = h.to, start+t.arr(first.Trip, h.to)
		ready, latest := first.Arr+t.leastWait, first.Arr+maxWait
		if ready > c.best || c.q.Full[first] {
			continue
		}
		on := c.from(t.Alighting(&first).City, latest+1)
		i, _ := slices.BinarySearchFunc(on.rides, ready, func(l Leg, at int64) int { return cmp.Compare(l.Dep, at) })
		for ; i < len(on.rides) && on.earliest[i] <= c.best && on.rides[i].Dep <= latest; i++ {
			if second := &on.rides[i]; second.Arr <= c.best && t.canChange(&first, second) {
				c.keep(Journey{first, *second, true})
			}
		}
	}
}

// from gives the rides from a city to the destination that leave before until.
func (c *changes) from(city int32, until int64) *onward {
	on := c.onward[city]
	if on != nil && on.until >= until {
		return on
	}
	const ahead = 2 * 86400 // departures come the latest first, so this is rarely extended
	on = &onward{until: until + ahead}
	on.rides = c.t.rides(&c.q, city, c.q.To, c.start, on.until)
	slices.SortFunc(on.rides, func(a, b Leg) int { return cmp.Compare(a.Dep, b.Dep) })
	on.earliest = make([]int64, len(on.rides))
	least := never
	for i := len(on.rides) - 1; i >= 0; i-- {
		least = min(least, on.rides[i].Arr)
		on.earliest[i] = least
	}
	c.onward[city] = on
	return on
}

// canChange tells whether the second ride may follow the first, and there is time to get to it.
func (t *Timetable) canChange(first, second *Leg) bool {
	if second.Run() == first.Run() || t.Company(second.Trip).Source != t.Company(first.Trip).Source {
		return false
	}
	from, to := t.Alighting(first), t.Boarding(second)
	for _, pair := range [...]stopPair{{from.ID, to.ID}, {from.ID, to.Parent}, {from.Parent, to.ID}, {from.Parent, to.Parent}} {
		if x, ok := t.transfers[pair]; ok && pair.from != "" && pair.to != "" {
			return !x.Forbidden && second.Dep >= first.Arr+int64(x.Seconds)
		}
	}
	return second.Dep >= first.Arr+minWait
}
