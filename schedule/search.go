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

// Legs gives the legs in order.
func (j *Journey) Legs() []*Leg {
	if j.change {
		return []*Leg{&j.first, &j.second}
	}
	return []*Leg{&j.first}
}

// Dep gives the departure in Unix seconds.
func (j *Journey) Dep() int64 { return j.first.Dep }

// Arr gives the arrival in Unix seconds.
func (j *Journey) Arr() int64 {
	if j.change {
		return j.second.Arr
	}
	return j.first.Arr
}

// Query is a search for journeys (contract §6).
type Query struct {
	From, To int32 // cities
	First    Day   // the first calendar day of departure, in the departure city
	Days     int
	After    int64 // Unix seconds; what leaves by then has left
	Changes  int   // 0 or 1
	// Companies are those whose rides are wanted, by index; nil is all.
	Companies []bool
	// Full are rides without enough seats. They are not there.
	Full map[Leg]bool
}

const (
	minWait = 30 * 60  // seconds a change takes, unless the feed says otherwise
	maxWait = 8 * 3600 // seconds one waits at most
	never   = int64(math.MaxInt64)
)

// Search gives the journeys of a query in order: by departure, arrival, route
// name and trip id. A journey with a change is left out if another one with no
// more legs leaves no earlier and arrives no later; of equal ones the first
// stays. That does not depend on where the asked days end.
func (t *Timetable) Search(q *Query) []Journey {
	if q.From == q.To || q.Days < 1 {
		return nil
	}
	zone := t.CityZone(q.From)
	start, end := q.First.In(zone).Unix(), (q.First + Day(q.Days)).In(zone).Unix()
	start = max(start, q.After+1)
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
		service := &t.Services[t.Trips[trip].Service]
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
