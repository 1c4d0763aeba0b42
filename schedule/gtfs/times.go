package gtfs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
)

// days collects the days of a service.
type days struct {
	ranges        []dayRange
	added, except []schedule.Day
}

type dayRange struct {
	first, last schedule.Day
	weekdays    [7]bool // from Sunday
}

// Service days outside these years are not kept; no bus ticket needs them.
var firstDay, lastDay = mustDay("1990-01-01"), mustDay("2099-12-31")

func mustDay(s string) schedule.Day {
	d, err := schedule.ParseDay(s)
	if err != nil {
		panic(err)
	}
	return d
}

// parseDate reads a date as in 20261120.
func parseDate(s string) (schedule.Day, bool) {
	t, err := time.Parse("20060102", s)
	return schedule.DayOf(t), err == nil
}

func (im *importer) service(id string) *days {
	if im.services[id] == nil {
		im.services[id] = new(days)
	}
	return im.services[id]
}

var weekdayColumns = [7]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}

func (im *importer) readServices() error {
	err := im.read("calendar.txt", func(t *table) {
		r := dayRange{}
		first, ok1 := parseDate(t.get("start_date"))
		last, ok2 := parseDate(t.get("end_date"))
		if !ok1 || !ok2 {
			t.drop("start_date %q, end_date %q are not dates as in 20261120", t.get("start_date"), t.get("end_date"))
			return
		}
		if r.first, r.last = max(first, firstDay), min(last, lastDay); first <= last && r.first > r.last {
			t.drop("has no day from 1990 to 2099")
			return
		}
		for i, column := range weekdayColumns {
			r.weekdays[i] = t.get(column) == "1"
		}
		s := im.service(t.get("service_id"))
		s.ranges = append(s.ranges, r)
	})
	if err != nil {
		return err
	}
	err = im.read("calendar_dates.txt", func(t *table) {
		day, ok := parseDate(t.get("date"))
		kind := t.get("exception_type")
		if !ok || kind != "1" && kind != "2" {
			t.drop("date %q, exception_type %q are not a date as in 20261120 and 1 or 2", t.get("date"), kind)
			return
		}
		if day < firstDay || day > lastDay {
			t.drop("date %q is not from 1990 to 2099", t.get("date"))
			return
		}
		s := im.service(t.get("service_id"))
		if kind == "2" {
			s.except = append(s.except, day)
		} else {
			s.added = append(s.added, day)
		}
	})
	ids := make([]string, 0, len(im.services))
	for id := range im.services {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	im.serviceIndex = make(map[string]int32, len(ids))
	for i, id := range ids {
		im.serviceIndex[id] = int32(i)
		im.out.Services = append(im.out.Services, im.services[id].service(id))
	}
	im.services = nil
	return err
}

// service makes the set of days: the ranges', and the days added, without those excepted.
func (s *days) service(id string) schedule.Service {
	first, last := lastDay, firstDay
	for _, r := range s.ranges {
		first, last = min(first, r.first), max(last, r.last)
	}
	for _, d := range s.added {
		first, last = min(first, d), max(last, d)
	}
	out := schedule.Service{ID: id, First: first}
	if first > last {
		return out
	}
	out.Bits = make([]uint64, (last-first)/64+1)
	set := func(d schedule.Day) { out.Bits[(d-first)/64] |= 1 << ((d - first) % 64) }
	for _, r := range s.ranges {
		for d := r.first; d <= r.last; d++ {
			if r.weekdays[(d%7+11)%7] { // day 0 was a Thursday
				set(d)
			}
		}
	}
	for _, d := range s.added {
		set(d)
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

func (im *importer) readStopTimes() error {
	var rows []stopTime
	err := im.read("stop_times.txt", func(t *table) {
		trip, ok := im.trips[t.get("trip_id")]
		if trip == leftOut {
			return
		}
		if !ok {
			t.drop("trip_id %q is not a usable trip", t.get("trip_id"))
			return
		}
		stop, ok := im.stops[t.get("stop_id")]
		if !ok {
			t.drop("stop_id %q is not a usable stop", t.get("stop_id"))
			return
		}
		seq, err := strconv.ParseInt(t.get("stop_sequence"), 10, 32)
		if err != nil || seq < 0 {
			t.drop("stop_sequence %q is not a number", t.get("stop_sequence"))
			return
		}
		row := stopTime{trip: trip, seq: int32(seq), stop: stop, arr: blank, dep: blank, line: int32(t.line),
			noPickup: t.get("pickup_type") == "1", noDropOff: t.get("drop_off_type") == "1"}
		for _, x := range [...]struct {
			column string
			to     *int32
		}{{"arrival_time", &row.arr}, {"departure_time", &row.dep}} {
			if cell := t.get(x.column); cell != "" {
				if *x.to, ok = parseTime(cell); !ok {
					t.drop("%s %q is not a time as in 08:30:00", x.column, cell)
					return
				}
			}
		}
		if row.arr == blank {
			row.arr = row.dep
		} else if row.dep == blank {
			row.dep = row.arr
		}
		rows = append(rows, row)
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b stopTime) int {
		return cmp.Or(cmp.Compare(a.trip, b.trip), cmp.Compare(a.seq, b.seq), cmp.Compare(a.line, b.line))
	})
	im.makeTrips(rows)
	return nil
}

// makeTrips gives each trip its pattern and times; a trip that has none is left out.
func (im *importer) makeTrips(rows []stopTime) {
	patterns := map[string]int32{}
	times := map[string]int32{}
	renumbered := make([]int32, len(im.out.Trips))
	var kept []schedule.Trip
	for i, trip := range im.out.Trips {
		n := 0
		for n < len(rows) && rows[n].trip == int32(i) {
			n++
		}
		calls := im.distinct(rows[:n])
		rows = rows[n:]
		renumbered[i] = -1
		if reason := complete(calls); reason != "" {
			im.skip("trips.txt", im.tripLines[i], "trip_id "+strconv.Quote(trip.ID)+": "+reason)
			continue
		}
		p, key := pattern(trip.Pattern, calls)
		at, ok := patterns[key]
		if !ok {
			at = int32(len(im.out.Patterns))
			patterns[key] = at
			im.out.Patterns = append(im.out.Patterns, p)
		}
		trip.Pattern = at
		list, key := timesOf(calls)
		at, ok = times[key]
		if !ok {
			at = int32(len(im.out.Times))
			times[key] = at
			im.out.Times = append(im.out.Times, list)
		}
		trip.Times = at
		renumbered[i] = int32(len(kept))
		kept = append(kept, trip)
	}
	for id, i := range im.trips {
		if i >= 0 {
			if renumbered[i] < 0 {
				delete(im.trips, id)
			} else {
				im.trips[id] = renumbered[i]
			}
		}
	}
	im.out.Trips = kept
}

// distinct drops rows that repeat a stop_sequence.
func (im *importer) distinct(rows []stopTime) []stopTime {
	return slices.CompactFunc(rows, func(a, b stopTime) bool {
		if a.seq == b.seq {
			im.skip("stop_times.txt", int(max(a.line, b.line)), "stop_sequence "+itoa(int(b.seq))+" of the trip is there already")
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
		return "has more than " + itoa(schedule.MaxStops) + " stops"
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
			return "goes back in time at stop_sequence " + itoa(int(c.seq))
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
