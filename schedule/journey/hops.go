package journey

import (
	"cmp"
	"iter"
	"math"
	"slices"
)

// hop is a ride on a pattern from one position to a later one.
type hop struct {
	pattern  int32
	from, to int16
}

// origin is a city from which rides go to another one, and its part of hops, as numbers. Slices would be a
// million pointers for the garbage collector.
type origin struct {
	city            int32
	from, shown, to int32 // those up to shown are listed for a search, the others only where one changes
	least           int32 // seconds that the shortest ride takes
}

// indexHops lists the hops between each two cities.
func (f Finder) indexHops() {
	for i, p := range f.Patterns {
		for from, s := range p.Stops {
			city := f.Stops[s].City
			if !slices.Contains(p.NoPickup, int16(from)) {
				f.calls[city] = append(f.calls[city], hop{
					pattern: int32(i),
					from:    int16(from),
				})
			}
		}
	}
	for i, calls := range f.calls {
		city := int32(i)
		hops := map[int32][]hop{}
		for _, c := range calls {
			for h, there := range f.hopsFrom(c) {
				if there != city {
					hops[there] = append(hops[there], h)
				}
			}
		}
		for there, list := range hops {
			start := int32(len(f.hops))
			shown, others := listed(list)
			f.byTime(shown)
			f.byTime(others)
			f.hops = append(append(f.hops, shown...), others...)
			x := origin{
				city:  city,
				from:  start,
				shown: start + int32(len(shown)),
				to:    int32(len(f.hops)),
				least: math.MaxInt32,
			}
			for _, h := range list {
				for _, trip := range f.trips[h.pattern] {
					at := &f.timings[trip]
					x.least = min(x.least, int32(at.arr(h.to)-at.dep(h.from)))
				}
			}
			f.origins[there] = append(f.origins[there], x)
		}
		f.byTime(calls)
	}
}

// MaxPairs is how many pairs of a boarding and an alighting stop a run may have between two cities to be
// listed once for each. An area may have hundreds of stops: beyond that a run is listed once only.
const MaxPairs = 16

// listed splits the hops between two cities into those that a search lists and the others (decision
// stops.several): of a pattern with more than MaxPairs, the one from the last stop where one may board to the
// first after it where one may alight is listed. The hops come by pattern, then by where they start and end.
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

// byTime sorts hops by when the first trip of each leaves, so that little is left to sort when they are
// searched.
func (f Finder) byTime(hops []hop) {
	at := func(h hop) int64 {
		trips := f.trips[h.pattern]
		if len(trips) == 0 {
			return 0
		}
		x := line{
			hop:  h,
			trip: trips[0],
		}
		return f.lineAt(x, 0).at
	}
	slices.SortFunc(hops, func(a, b hop) int {
		return cmp.Compare(at(a), at(b))
	})
}

// hopsFrom goes through the hops that start with a call, and the cities where they end.
func (f Finder) hopsFrom(call hop) iter.Seq2[hop, int32] {
	return func(yield func(hop, int32) bool) {
		p := &f.Patterns[call.pattern]
		h := call
		for h.to = h.from + 1; int(h.to) < len(p.Stops); h.to++ {
			if !slices.Contains(p.NoDropOff, h.to) && !yield(h, f.Stops[p.Stops[h.to]].City) {
				return
			}
		}
	}
}

// origin returns the rides from one city to another. The zero origin has none.
func (f Finder) origin(from, to int32) origin {
	list := f.origins[to]
	i, ok := slices.BinarySearchFunc(list, from, func(x origin, city int32) int {
		return cmp.Compare(x.city, city)
	})
	if !ok {
		return origin{}
	}
	return list[i]
}

// between returns the hops that a search between two cities lists.
func (f Finder) between(from, to int32) []hop {
	at := f.origin(from, to)
	return f.hops[at.from:at.shown]
}

// connected reports whether there may be a journey between the cities of a query, on whatever day: in most
// networks many pairs have none.
func (f Finder) connected(q *Query) bool {
	list := f.origins[q.To]
	if q.Changes > 0 && len(f.calls[q.From]) > 0 && len(list) > 0 {
		return true
	}
	return len(f.between(q.From, q.To)) > 0
}
