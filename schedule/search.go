package schedule

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"
)

// Journey is one leg, or two with a change in between.
type Journey []Leg

// Dep and Arr are departure and arrival in Unix seconds.
func (j Journey) Dep() int64 {
	return j[0].Dep
}

// Arr returns when a journey ends, in Unix seconds.
func (j Journey) Arr() int64 {
	return j[len(j)-1].Arr
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

// MaxWalk is how many kilometres may be between the stops of a change.
const MaxWalk = 5.0

// Search returns the journeys of a query in order: by departure, arrival, route name and trip id. A journey
// with a change is left out if another one with no more legs leaves no earlier and arrives no later; of equal
// ones the first stays. That does not depend on where the asked days end.
func (t *Timetable) Search(q *Query) []Journey {
	if q.From == q.To || q.Days < 1 {
		return nil
	}
	zone := t.CityZone(q.From)
	start := max(q.First.In(zone).Unix(), q.After+1)
	end := (q.First + Day(q.Days)).In(zone).Unix()
	rides := t.rides(q, t.between(q.From, q.To), start, end)
	list := make([]Journey, len(rides))
	for i := range rides {
		list[i] = rides[i : i+1 : i+1]
	}
	if q.Changes > 0 && start < end {
		list = append(list, t.withChange(q, start, end)...)
		slices.SortFunc(list, t.compare)
	}
	return list
}

// compare is the order journeys are listed in; it never calls two journeys equal.
func (t *Timetable) compare(a, b Journey) int {
	c := cmp.Or(cmp.Compare(a.Dep(), b.Dep()), cmp.Compare(a.Arr(), b.Arr()))
	if c != 0 {
		return c
	}
	return cmp.Or(strings.Compare(t.RouteName(a[0].Trip, Untranslated), t.RouteName(b[0].Trip, Untranslated)),
		slices.CompareFunc(a, b, func(a, b Leg) int {
			return cmp.Or(strings.Compare(t.Trips[a.Trip].ID, t.Trips[b.Trip].ID),
				cmp.Compare(a.Day, b.Day), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
		}))
}

// line is a trip's ride over a hop, on whatever day. Each ride leaves at a time of day UTC, in seconds, give
// or take the slack of the zone, so many days after its service day; it takes so many seconds.
type line struct {
	hop
	place         int32 // of the hop among those asked for
	trip, company int32
	after         Day
	at            int64
	dep           int64 // seconds after the service day's start
	takes         int64
	// moved is set of a ride on one run that was moved: the line has that service day only.
	moved bool
	day   Day
}

// leaves reports whether the line has a ride on a service day.
func (x *line) leaves(t *Timetable, day Day) bool {
	if x.moved {
		return day == x.day
	}
	return t.runsUnchanged(x.trip, day)
}

// days splits seconds into days, rounded down, and the seconds of the last.
func days(seconds int64) (Day, int64) {
	rest := (seconds%86400 + 86400) % 86400
	return Day((seconds - rest) / 86400), rest
}

// lines returns the lines over hops that a query may take, by their time of day.
func (t *Timetable) lines(q *Query, hops []hop) []line {
	list := make([]line, 0, len(hops))
	for i, h := range hops {
		company := t.Routes[t.Patterns[h.pattern].Route].Company
		if q.Companies != nil && !q.Companies[company] {
			continue
		}
		for _, trip := range t.trips[h.pattern] {
			x := line{
				hop:     h,
				place:   int32(i),
				trip:    trip,
				company: company,
			}
			list = append(list, t.lineAt(x, 0))
			for _, day := range t.moved[trip] {
				x.moved = true
				x.day = day
				list = append(list, t.lineAt(x, t.changes[Run{trip, day}].Shift))
			}
		}
	}
	slices.SortFunc(list, func(a, b line) int {
		return cmp.Compare(a.at, b.at)
	})
	return list
}

// lineAt returns a line that leaves so many seconds later than the tables say.
func (t *Timetable) lineAt(x line, shift int32) line {
	dep := t.dep(x.trip, x.from)
	x.takes = t.arr(x.trip, x.to) - dep
	x.dep = dep + int64(shift)
	x.after, x.at = days(x.dep - t.companyZn[x.company].ahead)
	return x
}

// runs goes through the rides on lines that leave in [start, end) and are not full, by departure give or take
// slack.
func (t *Timetable) runs(q *Query, lines []line, start, end int64) iter.Seq2[Leg, *line] {
	return func(yield func(Leg, *line) bool) {
		first, _ := days(start - t.slack)
		last, _ := days(end + t.slack)
		for day := first; day <= last; day++ {
			since := start - t.slack - int64(day)*86400
			until := end + t.slack - int64(day)*86400
			i, _ := slices.BinarySearchFunc(lines, since, func(x line, at int64) int {
				return cmp.Compare(x.at, at)
			})
			for ; i < len(lines) && lines[i].at < until; i++ {
				x := &lines[i]
				if !x.leaves(t, day-x.after) {
					continue
				}
				l := Leg{
					Trip: x.trip,
					Day:  day - x.after,
					From: x.from,
					To:   x.to,
					Dep:  t.companyZn[x.company].start(day-x.after) + x.dep,
				}
				l.Arr = l.Dep + x.takes
				if l.Dep >= start && l.Dep < end && !q.Full[l] && !yield(l, x) {
					return
				}
			}
		}
	}
}

// rides returns the rides over hops that leave in [start, end), in the order journeys are listed in.
func (t *Timetable) rides(q *Query, hops []hop, start, end int64) []Leg {
	lines := t.lines(q, hops)
	list := make([]Leg, 0, len(lines)*int(max(0, end-start)/86400+1))
	for l := range t.runs(q, lines, start, end) {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Leg) int {
		c := cmp.Or(cmp.Compare(a.Dep, b.Dep), cmp.Compare(a.Arr, b.Arr))
		if c != 0 {
			return c
		}
		return t.compare(Journey{a}, Journey{b})
	})
	return list
}

// withChange returns the journeys with one change that leave in [start, end) and that no other journey makes
// pointless.
func (t *Timetable) withChange(q *Query, start, end int64) []Journey {
	c := changes{t: t, q: *q}
	c.places()
	found, _ := c.sweep(start, end)
	if len(found) == 0 || found[0].Arr() < end {
		return found
	}
	// What leaves after the asked days but arrives earlier counts as well. The
	// journey that leaves last arrives last: all others arrive before it.
	_, beyond := c.sweep(end, found[0].Arr()+1)
	return slices.DeleteFunc(found, func(j Journey) bool {
		return j.Arr() >= beyond
	})
}

// changes is one search for journeys with a change.
type changes struct {
	t      *Timetable
	q      Query
	calls  []line       // that leave the city of departure
	ends   [][]stopover // by place of the hop: where one can change
	onward []*onward    // by city of the change

	// During a sweep: the journeys found, and the first arrival of all that leave no earlier.
	found []Journey
	best  int64
}

// departure is a ride from the city of departure, wherever it ends.
type departure struct {
	Leg
	place int32 // of its call
}

// stopover is where a ride from the city of departure may end in a change.
type stopover struct {
	to int16
	on *onward
}

// onward are the lines from a city to the destination.
type onward struct {
	hops  []hop
	least int64  // seconds that the shortest ride takes
	lines []line // made when first needed
}

// sweep goes through the departures in [start, end), the latest first, and keeps a journey if it arrives
// before everything that leaves no earlier. It also returns the first arrival of all that leaves in that
// time.
func (c *changes) sweep(start, end int64) (found []Journey, earliest int64) {
	t := c.t
	open := c.q
	open.Full = nil // whether a ride is full is asked where its end is known
	direct := t.rides(&c.q, t.between(c.q.From, c.q.To), start, end)
	list := make([]departure, 0, len(c.calls)*int((end-start)/86400+1))
	for l, x := range t.runs(&open, c.calls, start, end) {
		list = append(list, departure{l, x.place})
	}
	slices.SortFunc(list, func(a, b departure) int {
		return cmp.Compare(a.Dep, b.Dep)
	})
	c.found = nil
	c.best = never
	for _, d := range slices.Backward(list) {
		for n := len(direct) - 1; n >= 0 && direct[n].Dep >= d.Dep; n-- {
			c.best = min(c.best, direct[n].Arr)
			direct = direct[:n]
		}
		c.connect(d.Leg, c.ends[d.place])
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

// places finds where one can change.
func (c *changes) places() {
	t := c.t
	var hops []hop
	nowhere := new(onward)
	c.onward = make([]*onward, len(t.Cities))
	c.onward[c.q.From] = nowhere
	c.onward[c.q.To] = nowhere
	for _, call := range t.calls[c.q.From] {
		var ends []stopover
		for h, city := range t.hopsFrom(call) {
			on := c.onward[city]
			if on == nil {
				on = cmp.Or(t.onward(city, c.q.To), nowhere)
				c.onward[city] = on
			}
			if on != nowhere {
				ends = append(ends, stopover{h.to, on})
				call.to = h.to
			}
		}
		if ends != nil {
			hops = append(hops, call)
			c.ends = append(c.ends, ends)
		}
	}
	c.calls = t.lines(&c.q, hops)
}

// onward returns what goes from one city to another, but for the lines; nil is nothing.
func (t *Timetable) onward(from, to int32) *onward {
	at, ok := t.pairs[pair{from, to}]
	if !ok {
		return nil
	}
	return &onward{
		hops:  t.hops[at.from:at.to],
		least: int64(at.least),
	}
}

// connect keeps the journeys that start with a ride, wherever it ends.
func (c *changes) connect(first Leg, ends []stopover) {
	t := c.t
	start := first.Dep - t.dep(first.Trip, first.From)
	times := t.Times[t.Trips[first.Trip].Times]
	shift := int64(t.Trips[first.Trip].Shift)
	for _, e := range ends {
		first.To, first.Arr = e.to, start+shift+int64(times[2*e.to])
		ready := first.Arr + t.leastWait
		latest := first.Arr + maxWait
		if ready+e.on.least > c.best || c.q.Full[first] {
			continue
		}
		if e.on.lines == nil {
			e.on.lines = t.lines(&c.q, e.on.hops)
		}
		for second := range t.runs(&c.q, e.on.lines, ready, latest+1) {
			if second.Arr <= c.best && t.canChange(&first, &second) {
				c.keep(Journey{first, second})
			}
		}
	}
}

// canChange reports whether the second ride may follow the first, and there is time to get to it.
func (t *Timetable) canChange(first, second *Leg) bool {
	if second.Run() == first.Run() || t.Company(second.Trip).Source != t.Company(first.Trip).Source {
		return false
	}
	from := t.Alighting(first)
	to := t.Boarding(second)
	wait, forbidden := t.waitBetween(from, to)
	return !forbidden && second.Dep >= first.Arr+wait && from.near(to)
}

// waitBetween returns how many seconds a change between two stops takes, and whether the feed forbids it.
func (t *Timetable) waitBetween(from, to *Stop) (wait int64, forbidden bool) {
	pairs := [...]stopPair{{from.ID, to.ID}, {from.ID, to.Parent}, {from.Parent, to.ID},
		{from.Parent, to.Parent}}
	for _, pair := range pairs {
		if x, ok := t.transfers[pair]; ok && pair.from != "" && pair.to != "" {
			return int64(x.Seconds), x.Forbidden
		}
	}
	return minWait, false
}

// near reports whether a change between two stops is offered: a city, and all the more an area, can be wide.
func (s *Stop) near(other *Stop) bool {
	if s == other {
		return true
	}
	const degree = 111.0 // kilometres of latitude, a little less than there are
	if math.Abs(s.Lat-other.Lat)*degree > MaxWalk {
		return false
	}
	return Kilometres(s.Lat, s.Lon, other.Lat, other.Lon) <= MaxWalk
}
