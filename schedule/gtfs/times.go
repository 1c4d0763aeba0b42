package gtfs

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
)

// days collects the days of a service.
type days struct {
	ranges []dayRange
	except []schedule.Day
}

type dayRange struct {
	first, last schedule.Day
	weekdays    [7]bool // from Sunday
}

// Service days outside these years are not kept; no bus ticket needs them.
var (
	firstDay = schedule.DayOf(time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC))
	lastDay  = schedule.DayOf(time.Date(2099, 12, 31, 0, 0, 0, 0, time.UTC))
)

var weekdayColumns = [7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func (f *Feed) readServices() {
	services := map[string]*days{}
	of := func(r *row) *days {
		id := r.get("service_id")
		if services[id] == nil {
			services[id] = new(days)
		}
		return services[id]
	}
	for r := range f.rows("calendar.txt") {
		first, last := r.date("start_date"), r.date("end_date")
		days := dayRange{first: max(first, firstDay), last: min(last, lastDay)}
		r.check(first > last || days.first <= days.last, "has no day from 1990 to 2099")
		for i, column := range weekdayColumns {
			days.weekdays[i] = r.get(column) == "1"
		}
		if !r.unused {
			s := of(r)
			s.ranges = append(s.ranges, days)
		}
	}
	for r := range f.rows("calendar_dates.txt") {
		day, kind := r.date("date"), r.get("exception_type")
		r.check(firstDay <= day && day <= lastDay, "date %q is not from 1990 to 2099", r.get("date"))
		r.check(kind == "1" || kind == "2", "exception_type %q is neither 1 nor 2", kind)
		if r.unused {
			continue
		}
		if s := of(r); kind == "2" {
			s.except = append(s.except, day)
		} else {
			s.ranges = append(s.ranges, dayRange{day, day, [7]bool{true, true, true, true, true, true, true}})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(services)) {
		f.services[id] = add(&f.out.Services, services[id].service(id))
	}
}

// service makes the set of days: those of the ranges, without those excepted.
func (s *days) service(id string) schedule.Service {
	first, last := lastDay, firstDay
	for _, r := range s.ranges {
		first, last = min(first, r.first), max(last, r.last)
	}
	out := schedule.Service{ID: id, First: first}
	if first > last {
		return out
	}
	out.Bits = make([]uint64, (last-first)/64+1)
	for _, r := range s.ranges {
		for d := r.first; d <= r.last; d++ {
			if r.weekdays[(d%7+11)%7] { // day 0 was a Thursday
				out.Bits[(d-first)/64] |= 1 << ((d - first) % 64)
			}
		}
	}
	for _, d := range s.except {
		if d >= first && d <= last {
			out.Bits[(d-first)/64] &^= 1 << ((d - first) % 64)
		}
	}
	return out
}

// parseTime reads a time of a service day as in 8:30:00; hours go beyond 24.
func parseTime(s string) (seconds int32, ok bool) {
	h, rest, ok1 := strings.Cut(s, ":")
	m, sec, ok2 := strings.Cut(rest, ":")
	hours, err1 := strconv.ParseUint(h, 10, 16)
	minutes, err2 := strconv.ParseUint(m, 10, 8)
	secs, err3 := strconv.ParseUint(sec, 10, 8)
	ok = ok1 && ok2 && err1 == nil && err2 == nil && err3 == nil && len(h) <= 3 && len(m) == 2 && len(sec) == 2 && minutes < 60 && secs < 60
	return int32(hours*3600 + minutes*60 + secs), ok
}

// stopTime is a row of stop_times.txt, packed: there may be millions.
type stopTime struct {
	trip, seq, stop int32
	arr, dep        int32 // blank where the feed gives none
	line            int32
	noPickup        bool
	noDropOff       bool
}

const blank = -1

func (f *Feed) readStopTimes() []stopTime {
	var calls []stopTime
	for r := range f.rows("stop_times.txt") {
		c := stopTime{
			trip: r.ref("trip_id", f.trips, "trips.txt"), stop: r.ref("stop_id", f.stops, "stops.txt"),
			seq: int32(r.number("stop_sequence", 0, math.MaxInt32)), line: int32(r.line),
			arr: r.clock("arrival_time"), dep: r.clock("departure_time"),
			noPickup: r.get("pickup_type") == "1", noDropOff: r.get("drop_off_type") == "1",
		}
		if r.unused {
			continue
		}
		if c.arr == blank {
			c.arr = c.dep
		} else if c.dep == blank {
			c.dep = c.arr
		}
		calls = append(calls, c)
	}
	slices.SortFunc(calls, func(a, b stopTime) int {
		return cmp.Or(cmp.Compare(a.trip, b.trip), cmp.Compare(a.seq, b.seq), cmp.Compare(a.line, b.line))
	})
	return calls
}

// finishTrips gives each trip its pattern and times; a trip that has none is left out.
func (f *Feed) finishTrips(trips []tripRow, calls []stopTime) {
	patterns, times := index{}, index{}
	for i, t := range trips {
		n := 0
		for n < len(calls) && calls[n].trip == int32(i) {
			n++
		}
		own := f.distinct(calls[:n])
		calls = calls[n:]
		if reason := complete(own); reason != "" {
			f.skip("trips.txt", t.line, "trip_id %q: %s", t.id, reason)
			delete(f.trips, t.id)
			continue
		}
		p, key := pattern(t.route, own)
		if _, ok := patterns[key]; !ok {
			patterns[key] = add(&f.out.Patterns, p)
		}
		list, key2 := timesOf(own)
		if _, ok := times[key2]; !ok {
			times[key2] = add(&f.out.Times, list)
		}
		t.Pattern, t.Times = patterns[key], times[key2]
		f.trips[t.id] = add(&f.out.Trips, t.Trip)
	}
}

// distinct drops rows that repeat a stop_sequence.
func (f *Feed) distinct(rows []stopTime) []stopTime {
	return slices.CompactFunc(rows, func(a, b stopTime) bool {
		if a.seq == b.seq {
			f.skip("stop_times.txt", int(max(a.line, b.line)), "stop_sequence %d of the trip is there already", b.seq)
		}
		return a.seq == b.seq
	})
}

// complete fills in blank times, evenly between those that are given, and says what is wrong with a trip.
func complete(calls []stopTime) string {
	switch n := len(calls); {
	case n < 2:
		return "has fewer than two usable stop times"
	case n > schedule.MaxStops:
		return "has more than " + strconv.Itoa(schedule.MaxStops) + " stops"
	case calls[0].dep == blank || calls[n-1].arr == blank:
		return "has no time at its first or last stop"
	}
	known := 0
	for i := range calls {
		c := &calls[i]
		if c.dep == blank {
			continue
		}
		if c.dep < c.arr || c.arr < calls[known].dep && i > 0 {
			return "goes back in time at stop_sequence " + strconv.Itoa(int(c.seq))
		}
		for k := known + 1; k < i; k++ {
			at := calls[known].dep + int32(int64(c.arr-calls[known].dep)*int64(k-known)/int64(i-known))
			calls[k].arr, calls[k].dep = at, at
		}
		known = i
	}
	return ""
}

func pattern(route int32, calls []stopTime) (p schedule.Pattern, key string) {
	p.Route = route
	b := strconv.AppendInt(nil, int64(route), 36)
	for i, c := range calls {
		p.Stops = append(p.Stops, c.stop)
		b = strconv.AppendInt(append(b, ' '), int64(c.stop), 36)
		if c.noPickup {
			p.NoPickup = append(p.NoPickup, int16(i))
			b = append(b, '-')
		}
		if c.noDropOff {
			p.NoDropOff = append(p.NoDropOff, int16(i))
			b = append(b, '+')
		}
	}
	return p, string(b)
}

func timesOf(calls []stopTime) (list schedule.Times, key string) {
	var b []byte
	for _, c := range calls {
		list = append(list, c.arr, c.dep)
		b = strconv.AppendInt(append(b, ' '), int64(c.arr), 36)
		b = strconv.AppendInt(append(b, ' '), int64(c.dep), 36)
	}
	return list, string(b)
}
