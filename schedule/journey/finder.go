// Package journey finds how one gets from one city to another: the rides of a timetable, with a change of bus
// where that is asked for, in the order in which they are shown, and what each of them costs.
//
//	f := journey.On(tt)
//	from, _ := f.CityBySlug("kyiv")
//	to, _ := f.CityBySlug("lviv")
//	list := f.Search(&journey.Query{From: from, To: to, First: day, Days: 1})
//	price := f.Price(&list[0][0])
//
// A [Finder] is a timetable with the indexes of a search: the hops between each two cities, the fares, the
// cities in the order of their names. A search goes through the hops of its two cities; with a change it goes
// through what leaves the one and what goes on to the other, the latest departure first. [Kept] keeps what
// searches find, by day. It keeps no seats: each search asks its caller for them.
//
// What is sold needs none of this: a booking knows its rides by package schedule alone.
package journey

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"

	"waybill/schedule"
)

// Finder finds journeys in a timetable. It is two pointers, and is passed by value.
type Finder struct {
	*schedule.Timetable
	*index
}

// On returns the finder of a timetable. Its indexes are made by the first call, which may take seconds with a
// large feed; timetables that differ only by changes of runs share them.
func On(tt *schedule.Timetable) Finder {
	x := tt.Derived(func() any {
		return newIndex(tt)
	})
	return Finder{tt, x.(*index)}
}

// Prepare has the indexes of a timetable made now, so that no search waits for them.
func Prepare(tt *schedule.Timetable) {
	On(tt)
}

// index has what searches need beside the tables. It depends on the tables alone.
type index struct {
	byName []int32  // cities in the order of their names
	folded []string // by city: all its names, folded, a line each

	trips    [][]int32                          // by pattern
	timings  []timing                           // by trip
	calls    [][]hop                            // by city: where one can board; to is not set
	hops     []hop                              // those of two cities side by side, the shown ones first
	origins  [][]origin                         // by city: the cities from which rides go there, in order
	hopFares []atomic.Pointer[[]schedule.Money] // by place in hops: what BaseFares has returned
	fares    *schedule.Fares

	leastWait int64 // the shortest change anywhere, in seconds

	ahead []int64 // by company: seconds that the first service day starts before midnight UTC
	slack int64   // seconds by which that of another day may differ, at most
}

// timing has what a search asks about a trip, side by side. The rows of the tables are large, and far apart
// in memory.
type timing struct {
	times   schedule.Times
	ends    []int32 // by position: the city where one may alight, from 1; 0 is nowhere
	service *schedule.Service
	shift   int32
	company int32
}

// arr returns when a trip is at a position, in seconds after its service day's start; dep when it leaves.
func (x *timing) arr(at int16) int64 { return int64(x.times[2*at] + x.shift) }
func (x *timing) dep(at int16) int64 { return int64(x.times[2*at+1] + x.shift) }

func newIndex(tt *schedule.Timetable) *index {
	x := &index{
		trips:     make([][]int32, len(tt.Patterns)),
		calls:     make([][]hop, len(tt.Cities)),
		origins:   make([][]origin, len(tt.Cities)),
		leastWait: schedule.ChangeTime,
	}
	f := Finder{tt, x}
	f.indexCities()
	f.indexStarts()
	f.indexTrips()
	for _, t := range f.Transfers {
		if !t.Forbidden {
			x.leastWait = min(x.leastWait, int64(t.Seconds))
		}
	}
	f.indexHops()
	x.hopFares = make([]atomic.Pointer[[]schedule.Money], len(x.hops))
	x.fares = schedule.FaresOf(tt)
	return x
}

// indexCities sorts the cities by their names, and makes these fit to be searched.
func (f Finder) indexCities() {
	var order []string
	for i, c := range f.Cities {
		order = append(order, schedule.NameOrder(c.Name))
		f.byName = append(f.byName, int32(i))
		f.folded = append(f.folded, schedule.FoldName(strings.Join(append(c.Names[:], c.Name), "\n")))
	}
	slices.SortFunc(f.byName, func(a, b int32) int {
		return cmp.Or(cmp.Compare(order[a], order[b]), cmp.Compare(f.Cities[a].ID, f.Cities[b].ID))
	})
}

// indexStarts finds out by how much the starts of service days differ from midnight UTC.
func (f Finder) indexStarts() {
	f.ahead = make([]int64, len(f.Companies))
	first, end := f.ServiceDays()
	for i := range f.Companies {
		company := int32(i)
		for d := first; d < end; d++ {
			ahead := int64(d)*86400 - f.DayStart(company, d)
			if d == first {
				f.ahead[i] = ahead
			}
			f.slack = max(f.slack, ahead-f.ahead[i], f.ahead[i]-ahead)
		}
	}
}

// indexTrips lists the trips of each pattern, and the timing of each trip.
func (f Finder) indexTrips() {
	ends := make([][]int32, len(f.Patterns))
	for i := range f.Patterns {
		ends[i] = f.endsOf(&f.Patterns[i])
	}
	f.timings = make([]timing, 0, len(f.Trips))
	for i, x := range f.Trips {
		f.trips[x.Pattern] = append(f.trips[x.Pattern], int32(i))
		f.timings = append(f.timings, timing{
			times:   f.Times[x.Times],
			ends:    ends[x.Pattern],
			shift:   x.Shift,
			company: f.Route(int32(i)).Company,
			service: &f.Services[x.Service],
		})
	}
}

// endsOf returns the ends of a pattern's timing.
func (f Finder) endsOf(p *schedule.Pattern) []int32 {
	ends := make([]int32, len(p.Stops))
	for at, s := range p.Stops {
		if !slices.Contains(p.NoDropOff, int16(at)) {
			ends[at] = f.Stops[s].City + 1
		}
	}
	return ends
}
