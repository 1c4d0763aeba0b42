package journey

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"strings"

	"waybill/schedule"
)

// Journey is one leg, or two with a change in between.
type Journey []schedule.Leg

// Dep and Arr are departure and arrival in Unix seconds.
func (j Journey) Dep() int64 {
	return j[0].Dep
}

// Arr returns when a journey ends, in Unix seconds.
func (j Journey) Arr() int64 {
	return j[len(j)-1].Arr
}

// Query is a search for journeys (decision search.days).
type Query struct {
	From, To  int32        // cities
	First     schedule.Day // the first calendar day of departure, in the departure city
	Days      int
	After     int64                 // Unix seconds; rides that leave by then have left
	Changes   int                   // 0 or 1
	Companies []bool                // whose rides are wanted, by index; nil is all
	Full      map[schedule.Leg]bool // rides without enough seats are left out
}

const (
	maxWait = 8 * 3600 // seconds one waits at most
	never   = int64(math.MaxInt64)
)

// MaxWalk is how many kilometres may be between the stops of a change.
const MaxWalk = 5.0

// Search returns the journeys of a query in order: by departure, arrival, route name and trip id. A journey
// with a change is left out if another one with no more legs leaves no earlier and arrives no later; of equal
// ones the first stays. That does not depend on where the asked days end.
func (f Finder) Search(q *Query) (list []Journey) {
	if q.From == q.To || q.Days < 1 {
		return nil
	}
	for _, day := range f.days(q, q.First, q.Days) {
		for i := range day.list {
			if j := day.list[i].Legs; j.Dep() > q.After {
				list = append(list, j)
			}
		}
	}
	return list
}

// days returns so many days from one on with the journeys of a query that leave on each, also those that have
// left. Days that are searched at once cost less than one by one.
func (f Finder) days(q *Query, first schedule.Day, n int) []*Day {
	bounds := make([]int64, n+1) // of the days, in Unix seconds
	zone := f.CityZone(q.From)
	for i := range bounds {
		bounds[i] = (first + schedule.Day(i)).In(zone).Unix()
	}
	rides := f.rides(q, f.between(q.From, q.To), bounds[0], bounds[n])
	found := make([]findings, n)
	for i := range found {
		end := 0
		for end < len(rides) && rides[end].Dep < bounds[i+1] {
			end++
		}
		found[i].direct = rides[:end]
		rides = rides[end:]
	}
	if q.Changes > 0 {
		f.withChange(q, found, bounds)
	}
	list := make([]*Day, n)
	for i := range found {
		list[i] = f.newDay(&found[i])
	}
	return list
}

// compare is the order journeys are listed in; it never calls two journeys equal.
func (f Finder) compare(a, b Journey) int {
	c := cmp.Or(cmp.Compare(a.Dep(), b.Dep()), cmp.Compare(a.Arr(), b.Arr()))
	if c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(f.routeName(a), f.routeName(b)),
		slices.CompareFunc(a, b, func(a, b schedule.Leg) int {
			return cmp.Or(strings.Compare(f.Trips[a.Trip].ID, f.Trips[b.Trip].ID),
				cmp.Compare(a.Day, b.Day), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		}))
}

// routeName returns the name by which a journey is sorted.
func (f Finder) routeName(j Journey) string {
	return f.RouteName(j[0].Trip, schedule.Untranslated)
}

// line is a trip's ride over a hop, on whatever day. Each ride leaves at a time of day UTC, in seconds, give
// or take the slack of the zone, so many days after its service day; it takes so many seconds.
type line struct {
	hop
	trip  int32
	after schedule.Day
	at    int64
	dep   int64 // seconds after the service day's start
	takes int64
	// moved is set of a ride on one run that was moved. The line has that service day only.
	moved bool
	day   schedule.Day
}

// leaves reports whether the line has a ride on a service day.
func (x *line) leaves(f Finder, day schedule.Day) bool {
	if x.moved {
		return day == x.day
	}
	if !f.timings[x.trip].service.Runs(day) {
		return false
	}
	_, changed := f.Change(schedule.Run{Trip: x.trip, Day: day})
	return !changed
}

// days splits seconds into days, rounded down, and the seconds of the last.
func days(seconds int64) (schedule.Day, int64) {
	rest := (seconds%86400 + 86400) % 86400
	return schedule.Day((seconds - rest) / 86400), rest
}

// lines returns the lines over hops that a query may take, by their time of day.
func (f Finder) lines(q *Query, hops []hop) []line {
	list := make([]line, 0, len(hops))
	for _, h := range hops {
		for _, trip := range f.trips[h.pattern] {
			if q.Companies != nil && !q.Companies[f.timings[trip].company] {
				break // a pattern is of one company
			}
			x := line{
				hop:  h,
				trip: trip,
			}
			list = append(list, f.lineAt(x, 0))
			for _, day := range f.MovedDays(trip) {
				change, _ := f.Change(schedule.Run{Trip: trip, Day: day})
				x.moved = true
				x.day = day
				list = append(list, f.lineAt(x, change.Shift))
			}
		}
	}
	slices.SortFunc(list, func(a, b line) int {
		return cmp.Compare(a.at, b.at)
	})
	return list
}

// lineAt returns a line that leaves so many seconds later than the tables say.
func (f Finder) lineAt(x line, shift int32) line {
	at := &f.timings[x.trip]
	dep := at.dep(x.from)
	x.takes = at.arr(x.to) - dep
	x.dep = dep + int64(shift)
	x.after, x.at = days(x.dep - f.ahead[at.company])
	return x
}

// runs goes through the rides on lines that leave in [start, end) and are not full, by departure give or take
// slack.
func (f Finder) runs(q *Query, lines []line, start, end int64) iter.Seq[schedule.Leg] {
	return func(yield func(schedule.Leg) bool) {
		first, _ := days(start - f.slack)
		last, _ := days(end + f.slack)
		for day := first; day <= last; day++ {
			since := start - f.slack - int64(day)*86400
			until := end + f.slack - int64(day)*86400
			i := sort.Search(len(lines), func(i int) bool {
				return lines[i].at >= since
			})
			for ; i < len(lines) && lines[i].at < until; i++ {
				x := &lines[i]
				if !x.leaves(f, day-x.after) {
					continue
				}
				l := schedule.Leg{
					Trip: x.trip,
					Day:  day - x.after,
					From: x.from,
					To:   x.to,
					Dep:  f.DayStart(f.timings[x.trip].company, day-x.after) + x.dep,
				}
				l.Arr = l.Dep + x.takes
				if l.Dep >= start && l.Dep < end && !q.Full[l] && !yield(l) {
					return
				}
			}
		}
	}
}

// rides returns the rides over hops that leave in [start, end), in the order journeys are listed in.
func (f Finder) rides(q *Query, hops []hop, start, end int64) []schedule.Leg {
	lines := f.lines(q, hops)
	list := make([]schedule.Leg, 0, len(lines)*int(max(0, end-start)/86400+1))
	for l := range f.runs(q, lines, start, end) {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b schedule.Leg) int {
		c := cmp.Or(cmp.Compare(a.Dep, b.Dep), cmp.Compare(a.Arr, b.Arr))
		if c != 0 {
			return c
		}
		return f.compare(Journey{a}, Journey{b})
	})
	return list
}

// findings is what a search has found that leaves within a time.
type findings struct {
	direct  []schedule.Leg // in the order journeys are listed in
	changed []Journey      // with a change; the last first
	hiding  Journey        // leaves after the time, and makes some of it pointless; nil is none
}

// soonest returns the journey of the findings that arrives first, or another one if that arrives no later.
func (x *findings) soonest(other Journey) Journey {
	for i := range x.direct {
		if other == nil || x.direct[i].Arr < other.Arr() {
			other = Journey(x.direct[i : i+1])
		}
	}
	for _, j := range x.changed {
		if other == nil || j.Arr() < other.Arr() {
			other = j
		}
	}
	return other
}

// hide takes out the journeys that one which leaves later makes pointless.
func (x *findings) hide(later Journey) {
	all := len(x.changed)
	x.changed = slices.DeleteFunc(x.changed, func(j Journey) bool {
		return j.Arr() >= later.Arr()
	})
	if len(x.changed) < all {
		x.hiding = later
	}
}

// withChange adds the journeys with one change to what was found on days without, but those that any other
// journey makes pointless.
func (f Finder) withChange(q *Query, found []findings, bounds []int64) {
	c := f.changesOf(q)
	end := bounds[len(found)]
	latest := int64(math.MinInt64) // arrival of all
	for i := range found {
		c.sweep(found[i].direct, bounds[i], bounds[i+1], never)
		found[i].changed = c.found
		if len(c.found) > 0 {
			latest = max(latest, c.found[0].Arr()) // what leaves last arrives last
		}
	}
	// Journeys that leave after the last day but arrive earlier count as well. Of all that leave after a day,
	// the one that arrives first hides every journey of the day that any of them hides.
	var later Journey
	if latest >= end {
		beyond := findings{direct: f.rides(q, f.between(q.From, q.To), end, latest+1)}
		c.sweep(beyond.direct, end, latest+1, latest+1)
		beyond.changed = c.found
		later = beyond.soonest(nil)
	}
	for i := range slices.Backward(found) {
		if later != nil {
			found[i].hide(later)
		}
		later = found[i].soonest(later)
	}
}

// changes is one search for journeys with a change.
type changes struct {
	f        Finder
	q        Query
	calls    []line   // that leave the city of departure
	origins  []origin // from which one gets to the destination
	quickest int64    // seconds that the shortest ride from any of them takes
	place    []int32  // by city, from 1: its place among the origins, from 1; 0 is none
	lines    [][]line // by place among the origins: the rides that go on from there, made when first needed

	// During a sweep: the journeys found, the last first, and the first arrival of all that leave no earlier.
	found []Journey
	best  int64

	departures []schedule.Leg // room for a day's
	legs       []schedule.Leg // room for those of journeys
}

// changesOf finds out where one can change.
func (f Finder) changesOf(q *Query) *changes {
	c := &changes{
		f:        f,
		q:        *q,
		origins:  f.origins[q.To],
		quickest: never,
		place:    make([]int32, len(f.Cities)+1),
	}
	c.lines = make([][]line, len(c.origins))
	for i := range c.origins {
		x := &c.origins[i]
		if x.city != q.From {
			c.place[x.city+1] = int32(i) + 1
			c.quickest = min(c.quickest, int64(x.least))
		}
	}
	if c.quickest < never { // else one cannot come from anywhere else
		c.calls = f.lines(q, f.calls[q.From])
	}
	c.departures = make([]schedule.Leg, 0, len(c.calls))
	return c
}

// sweep goes through the departures in [start, end), the latest first, and keeps a journey if it arrives
// before the instant best and before everything that leaves no earlier. The direct rides of that time come by
// departure. After it, best is the first arrival of all.
func (c *changes) sweep(direct []schedule.Leg, start, end, best int64) {
	open := c.q
	open.Full = nil // whether a ride is full is asked where its end is known
	c.found = nil
	c.best = best
	// Day by day, so that there is never a list of them all.
	for end > start {
		since := max(start, end-86400)
		list := c.departures[:0]
		for l := range c.f.runs(&open, c.calls, since, end) {
			list = append(list, l)
		}
		c.departures = list
		slices.SortFunc(list, func(a, b schedule.Leg) int {
			return cmp.Compare(a.Dep, b.Dep)
		})
		for _, first := range slices.Backward(list) {
			direct = c.take(direct, first.Dep)
			c.connect(first)
		}
		end = since
	}
	c.take(direct, start)
}

// take removes from a list the direct rides that leave no earlier than an instant, counts their arrivals,
// and returns the others.
func (c *changes) take(direct []schedule.Leg, since int64) []schedule.Leg {
	n := len(direct)
	for n > 0 && direct[n-1].Dep >= since {
		n--
		c.best = min(c.best, direct[n].Arr)
	}
	return direct[:n]
}

// connect keeps the journeys that start with a ride, wherever it ends.
func (c *changes) connect(first schedule.Leg) {
	f := c.f
	at := &f.timings[first.Trip]
	start := first.Dep - at.dep(first.From)
	for to := first.From + 1; int(to) < len(at.ends); to++ {
		first.To = to
		first.Arr = start + at.arr(to)
		ready := first.Arr + f.leastWait
		if ready+c.quickest > c.best {
			continue
		}
		place := c.place[at.ends[to]] - 1
		if place < 0 {
			continue
		}
		from := &c.origins[place]
		latest := min(first.Arr+maxWait, c.best-int64(from.least))
		if ready > latest || c.q.Full[first] {
			continue
		}
		if c.lines[place] == nil {
			c.lines[place] = f.lines(&c.q, f.hops[from.from:from.to])
		}
		for second := range f.runs(&c.q, c.lines[place], ready, latest+1) {
			if second.Arr <= c.best && f.canChange(&first, &second) {
				c.keep(first, second)
			}
		}
	}
}

// keep takes a journey in if it arrives first; of those that leave together, the first in order stays.
func (c *changes) keep(first, second schedule.Leg) {
	if len(c.legs) < 2 {
		c.legs = make([]schedule.Leg, 32) // and no longer: most searches find little
	}
	j := Journey(c.legs[:2:2])
	j[0] = first
	j[1] = second
	last := len(c.found) - 1
	if last >= 0 && c.found[last].Dep() == j.Dep() {
		if c.f.compare(j, c.found[last]) > 0 {
			return
		}
		c.found = c.found[:last]
	} else if j.Arr() >= c.best {
		return
	}
	c.legs = c.legs[2:]
	c.found = append(c.found, j)
	c.best = j.Arr()
}

// canChange reports whether the second ride may follow the first in a journey.
func (f Finder) canChange(first, second *schedule.Leg) bool {
	a := f.timings[first.Trip].company
	b := f.timings[second.Trip].company
	return f.Companies[a].Source == f.Companies[b].Source && f.CanChange(first, second) &&
		near(f.Alighting(first), f.Boarding(second))
}

// near reports whether a change between two stops is offered: a city, and all the more an area, can be wide.
func near(a, b *schedule.Stop) bool {
	if a == b {
		return true
	}
	const degree = 111.0 // kilometres of latitude, a little less than there are
	if math.Abs(a.Lat-b.Lat)*degree > MaxWalk {
		return false
	}
	return schedule.Kilometres(a.Lat, a.Lon, b.Lat, b.Lon) <= MaxWalk
}
