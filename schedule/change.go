package schedule

import (
	"cmp"
	"slices"
)

// withChange gives the journeys with one change that leave in [start, end) and
// that no other journey makes pointless.
func (t *Timetable) withChange(q *Query, start, end int64) []Journey {
	c := changes{t: t, q: q, onward: map[int32]*onward{}, start: start}
	found := c.sweep(start, end)
	// What leaves after the asked days but arrives earlier counts as well.
	latest := int64(0)
	for i := range found {
		latest = max(latest, found[i].Arr())
	}
	if latest < end {
		return found
	}
	beyond := never
	for _, j := range c.sweep(end, latest+1) {
		beyond = min(beyond, j.Arr())
	}
	for _, l := range t.rides(q, q.From, q.To, end, latest+1) {
		beyond = min(beyond, l.Arr)
	}
	return slices.DeleteFunc(found, func(j Journey) bool { return j.Arr() >= beyond })
}

// changes is one search for journeys with a change.
type changes struct {
	t      *Timetable
	q      *Query
	start  int64
	onward map[int32]*onward // by city of the change, made when first needed
}

// onward are the rides from a city to the destination, by departure.
// earliest[i] is the first arrival among rides[i:].
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

// sweep goes through the departures in [start, end), the latest first, and
// keeps a journey if it arrives before everything that leaves no earlier.
func (c *changes) sweep(start, end int64) []Journey {
	t := c.t
	direct := t.rides(c.q, c.q.From, c.q.To, start, end)
	slices.SortFunc(direct, func(a, b Leg) int { return cmp.Compare(b.Dep, a.Dep) })
	departures := c.departures(start, end)
	best, d := never, 0
	var found []Journey
	for len(departures) > 0 {
		dep := departures[0].ride.Dep
		for ; d < len(direct) && direct[d].Dep >= dep; d++ {
			best = min(best, direct[d].Arr)
		}
		var first *Journey
		for ; len(departures) > 0 && departures[0].ride.Dep == dep; departures = departures[1:] {
			if j, ok := c.connect(&departures[0], best); ok && (first == nil || t.compare(j, *first) < 0) {
				first = &j
			}
		}
		if first != nil {
			best = first.Arr()
			found = append(found, *first)
		}
	}
	return found
}

// departures lists the runs that leave the city in [start, end), the latest first.
func (c *changes) departures(start, end int64) []departure {
	t := c.t
	var list []departure
	var legs []Leg
	open := *c.q
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

// connect finds the journey that starts with a departure and arrives first, before best.
func (c *changes) connect(d *departure, best int64) (found Journey, ok bool) {
	t := c.t
	x := &t.Trips[d.ride.Trip]
	times := t.Times[x.Times]
	base := d.ride.Dep - int64(times[2*d.ride.From+1])
	source := t.Company(d.ride.Trip).Source
	for _, h := range d.ends {
		first := d.ride
		first.To, first.Arr = h.to, base+int64(times[2*h.to])
		ready := first.Arr + t.leastWait
		if ready >= best {
			continue
		}
		if len(c.q.Full) > 0 && c.q.Full[first] {
			continue
		}
		on := c.from(t.Alighting(&first).City, first.Arr+maxWait+1)
		i, _ := slices.BinarySearchFunc(on.rides, ready, func(l Leg, at int64) int { return cmp.Compare(l.Dep, at) })
		for ; i < len(on.rides) && on.earliest[i] <= best; i++ {
			second := &on.rides[i]
			if second.Dep > first.Arr+maxWait {
				break
			}
			if second.Arr > best || second.Run() == first.Run() || t.Company(second.Trip).Source != source || !t.canChange(&first, second) {
				continue
			}
			j := Changing(first, *second)
			if second.Arr < best || ok && t.compare(j, found) < 0 {
				found, ok, best = j, true, second.Arr
			}
		}
	}
	return found, ok
}

// from gives the rides from a city to the destination that leave before until.
func (c *changes) from(city int32, until int64) *onward {
	on := c.onward[city]
	if on != nil && on.until >= until {
		return on
	}
	const ahead = 2 * 86400 // departures come the latest first, so this is rarely extended
	on = &onward{until: until + ahead}
	on.rides = c.t.rides(c.q, city, c.q.To, c.start, on.until)
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

// canChange tells whether there is time to get from the first ride to the second.
func (t *Timetable) canChange(first, second *Leg) bool {
	wait := int64(minWait)
	if len(t.transfers) > 0 {
		from, to := t.Alighting(first), t.Boarding(second)
		for _, pair := range [...]stopPair{{from.ID, to.ID}, {from.ID, to.Parent}, {from.Parent, to.ID}, {from.Parent, to.Parent}} {
			if x, ok := t.transfers[pair]; ok && pair.from != "" && pair.to != "" {
				if x.Forbidden {
					return false
				}
				wait = int64(x.Seconds)
				break
			}
		}
	}
	return second.Dep >= first.Arr+wait
}
