package gtfs

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/schedule"
)

// dayRange is a row of calendar.txt, or one day of calendar_dates.txt.
type dayRange struct {
	first, last schedule.Day
	weekdays    [7]bool
	except      bool // the service does not run on this day, whatever other rows say
}

const (
	firstDay, lastDay schedule.Day = 7305, 47481 // 1990-01-01, 2099-12-31: no bus ticket needs other days

	calendars     = "calendar.txt or calendar_dates.txt"
	blank         = -1      // a time that is not in the feed
	maxDepartures = 500_000 // that frequencies.txt may bring
)

// readServices reads on which days trips run.
func (f *Feed) readServices() {
	services := map[string][]dayRange{}
	f.ids[calendars] = index{}
	// A service may have rows in both files, or in one of them.
	enter := func(r *row, days dayRange) {
		if id := r.get("service_id"); !r.unused {
			services[id] = append(services[id], days)
		}
	}
	inCalendar := map[string]bool{}
	for r := range f.rows("calendar.txt") {
		id := r.get("service_id")
		r.check(!inCalendar[id], "service_id", "is there already")
		first := r.date("start_date")
		last := r.date("end_date")
		// Feeds say "for ever" with a year 9999: what is beyond is cut off.
		days := dayRange{
			first: max(first, firstDay),
			last:  min(last, lastDay),
		}
		r.check(first > last || days.first <= days.last, "start_date",
			"and end_date have no day from 1990 to 2099")
		// From the weekday of day 0, 1970-01-01.
		for i, column := range strings.Fields("thursday friday saturday sunday monday tuesday wednesday") {
			days.weekdays[i] = r.get(column) == "1"
		}
		enter(r, days)
		inCalendar[id] = inCalendar[id] || !r.unused
	}
	type exception struct {
		service string
		day     schedule.Day
	}
	seen := map[exception]bool{}
	for r := range f.rows("calendar_dates.txt") {
		day := r.date("date")
		kind := r.get("exception_type")
		if t, err := time.Parse(time.DateOnly, r.get("date")); err == nil {
			// no date of GTFS, but it can be told
			day = schedule.DayOf(t)
		}
		x := exception{r.get("service_id"), day}
		r.check(firstDay <= day && day <= lastDay, "date", "is not from 1990 to 2099")
		r.check(kind == "1" || kind == "2", "exception_type", "is neither 1 nor 2")
		again := seen[x]
		r.check(!again, "date", "is there already for this service_id")
		enter(r, dayRange{day, day, everyDay, kind == "2"})
		seen[x] = seen[x] || !r.unused
		if r.unused && kind == "2" && firstDay <= day && day <= lastDay {
			// It says that no bus runs on that day: that holds, whatever else is wrong with it.
			services[x.service] = append(services[x.service], dayRange{day, day, everyDay, true})
			f.decided(r.file, r.line, "days without service, as rows say that were skipped for something else")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(services)) {
		f.ids[calendars][id] = add(&f.out.Services, service(id, services[id]))
	}
}

var everyDay = [7]bool{true, true, true, true, true, true, true}

// service makes the set of days: those of the ranges, without those excepted.
func service(id string, ranges []dayRange) schedule.Service {
	// One bit a day from the first to the last: a search asks for a day millions of times.
	first := lastDay
	last := firstDay
	except := map[schedule.Day]bool{}
	for _, r := range ranges {
		if r.except {
			except[r.first] = true
		} else {
			first = min(first, r.first)
			last = max(last, r.last)
		}
	}
	out := schedule.Service{ID: id, First: first}
	// It never runs, which is no error of the feed.
	if first > last {
		return out
	}
	out.Bits = make([]uint64, (last-first)/64+1)
	for _, r := range ranges {
		for d := r.first; d <= r.last; d++ {
			if r.weekdays[d%7] && !except[d] {
				out.Bits[(d-first)/64] |= 1 << ((d - first) % 64)
			}
		}
	}
	return out
}

// tripRow is a row of trips.txt with those of stop_times.txt, until which its Pattern is its route.
type tripRow struct {
	schedule.Trip
	id    string // the feed's
	line  int
	calls []stopTime
}

// stopTime is a row of stop_times.txt, packed: there may be millions.
type stopTime struct {
	seq, stop, line     int32
	arr, dep            int32
	noPickup, noDropOff bool
}

// readTrips reads the trips, whose times come later.
func (f *Feed) readTrips() {
	var trips []tripRow
	for r := range f.rows("trips.txt") {
		t := schedule.Trip{
			Bus:     r.maybe("waybill_bus_id", "waybill_buses.txt"),
			ID:      urlSafe(r.id("trip_id")),
			Pattern: r.ref("route_id", "routes.txt"),
			Phones:  r.list("waybill_phones", " "),
			Name:    cmp.Or(r.get("trip_short_name"), r.get("trip_headsign")),
		}
		if r.unused && r.reason == "" {
			f.ids[r.file][r.key] = leftOut
		}
		t.Service = r.ref("service_id", calendars)
		keep(r, &trips, tripRow{
			Trip: t,
			id:   r.key,
			line: r.line,
		})
	}
	for r := range f.rows("stop_times.txt") {
		if flexible(r) {
			f.decided(r.file, r.line, onDemand)
			continue
		}
		trip := r.ref("trip_id", "trips.txt")
		c := stopTime{
			seq:       int32(r.number("stop_sequence", 0, math.MaxInt32)),
			stop:      r.ref("stop_id", "stops.txt"),
			arr:       r.clock("arrival_time"),
			dep:       r.clock("departure_time"),
			line:      int32(r.line),
			noPickup:  r.get("pickup_type") == "1",
			noDropOff: r.get("drop_off_type") == "1",
		}
		for _, column := range []string{"pickup_type", "drop_off_type"} {
			r.check(len(r.get(column)) <= 1 && strings.Contains("0123", r.get(column)), column,
				"is not 0, 1, 2 or 3")
		}
		// Where one of the two is given the bus does not stop for longer.
		if c.arr == blank {
			c.arr = c.dep
		} else if c.dep == blank {
			c.dep = c.arr
		}
		if !r.unused {
			trips[trip].calls = append(trips[trip].calls, c)
		}
	}
	if f.err == nil {
		f.finishTrips(trips)
	}
}

// flexible reports whether a row of stop_times.txt is of a service on demand: it has an area or a window
// instead of a stop and a time.
func flexible(r *row) bool {
	for _, column := range []string{"location_id", "location_group_id", "start_pickup_drop_off_window",
		"end_pickup_drop_off_window"} {
		if r.get(column) != "" {
			return true
		}
	}
	return false
}

// finishTrips gives each trip its pattern and times; a trip that has none is left out.
func (f *Feed) finishTrips(trips []tripRow) {
	ids := f.ids["trips.txt"]
	patterns := index{}
	times := index{}
	for _, t := range trips {
		slices.SortStableFunc(t.calls, func(a, b stopTime) int {
			return cmp.Compare(a.seq, b.seq)
		})
		// Of rows with the same place in the trip the first stays.
		calls := slices.CompactFunc(t.calls, func(a, b stopTime) bool {
			if a.seq == b.seq {
				reason := fmt.Sprintf("stop_sequence %d of the trip is there already", b.seq)
				f.opt.Skip("stop_times.txt", int(max(a.line, b.line)), reason)
			}
			return a.seq == b.seq
		})
		// Counted before they are filled in.
		blanks := 0
		for _, c := range calls {
			if c.dep == blank {
				blanks++
			}
		}
		if reason := complete(calls); reason != "" {
			f.opt.Skip("trips.txt", t.line, fmt.Sprintf("trip_id %q %s", t.id, reason))
			delete(ids, t.id)
			continue
		}
		if blanks > 0 {
			f.decidedMany(blanks, "trips.txt", t.line, "blank stop times, which are filled in evenly between those given")
		}
		if t.Bus < 0 {
			f.decided("trips.txt", t.line,
				fmt.Sprintf("trips without a bus, which have %d seats", schedule.DefaultSeats))
		}
		p := schedule.Pattern{Route: t.Pattern}
		var at schedule.Times
		for i, c := range calls {
			p.Stops = append(p.Stops, c.stop)
			at = append(at, c.arr, c.dep)
			if c.noPickup {
				p.NoPickup = append(p.NoPickup, int16(i))
			}
			if c.noDropOff {
				p.NoDropOff = append(p.NoDropOff, int16(i))
			}
		}
		t.Pattern, t.Times = once(patterns, &f.out.Patterns, p), once(times, &f.out.Times, at)
		ids[t.id] = add(&f.out.Trips, t.Trip)
	}
}

// once adds a row to a table unless it is there.
func once[T any](seen index, table *[]T, row T) int32 {
	// Hundreds of trips run over the same stops, and at the same times after their start: each is kept once.
	key, _ := json.Marshal(row)
	if _, ok := seen[string(key)]; !ok {
		seen[string(key)] = add(table, row)
	}
	return seen[string(key)]
}

// complete fills in blank times, evenly between those that are given, and says what is wrong with a trip.
func complete(calls []stopTime) string {
	n := len(calls)
	switch {
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
		// Between two times that are given the bus is taken to run evenly.
		for k := known + 1; k < i; k++ {
			at := calls[known].dep + int32(int64(c.arr-calls[known].dep)*int64(k-known)/int64(i-known))
			calls[k].arr = at
			calls[k].dep = at
		}
		known = i
	}
	return ""
}

// readFrequencies puts one trip per departure in place of each trip that runs at intervals.
func (f *Feed) readFrequencies() {
	var departures []schedule.Trip
	made := map[string]bool{}
	replaced := map[string]bool{} // by id
	type interval struct {
		trip  int32
		start int
	}
	seen := map[interval]bool{}
	for r := range f.rows("frequencies.txt") {
		if trip, known := r.ids["trips.txt"][r.get("trip_id")]; known && trip >= 0 {
			// its own times are no departure, whatever becomes of this row
			replaced[f.out.Trips[trip].ID] = true
		}
		trip := r.ref("trip_id", "trips.txt")
		start := int(r.clock("start_time"))
		end := int(r.clock("end_time"))
		r.check(start != blank, "start_time", "is missing")
		headway := r.number("headway_secs", 1, math.MaxInt)
		r.check(end > start, "end_time", "leaves no departure")
		r.check(!seen[interval{trip, start}], "start_time", "is there already for this trip_id")
		few := (end-start)/headway < maxDepartures-len(departures)
		r.check(few, "headway_secs", "brings the feed beyond 500,000 departures")
		if r.unused {
			continue
		}
		// Each departure is a trip of its own, which differs in its id and its start.
		base := f.out.Trips[trip]
		seen[interval{trip, start}] = true
		for at := start; at < end; at += min(headway, end) {
			x := base
			x.ID = fmt.Sprintf("%s~%02d%02d%02d", base.ID, at/3600, at/60%60, at%60)
			if made[x.ID] { // intervals may overlap
				continue
			}
			made[x.ID] = true
			for _, taken := r.ids["trips.txt"][x.ID]; taken; _, taken = r.ids["trips.txt"][x.ID] {
				x.ID += "~"
			}
			x.Shift = int32(at) - f.out.Times[base.Times][1]
			departures = append(departures, x)
		}
	}
	if len(replaced) > 0 {
		f.decidedMany(len(departures), "frequencies.txt", 2, fmt.Sprintf("departures in place of %d trips that run at intervals", len(replaced)))
	}
	kept := slices.DeleteFunc(f.out.Trips, func(t schedule.Trip) bool {
		return replaced[t.ID]
	})
	f.out.Trips = append(kept, departures...)
}
