package gtfs

import (
	"cmp"
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
	firstDay, lastDay schedule.Day = 0, 84005 // of [schedule.InYears]

	maxDepartures = 500_000 // that frequencies.txt may bring
)

// readServices reads on which days trips run. A feed says it by weekdays and a period, by single days, or by
// both, of which the single days win.
func (f *Feed) readServices() {
	services := map[string][]dayRange{}
	f.files.IDs[calendars] = Index{}
	// A service may have rows in both files, or in one of them.
	enter := func(r *Row, days dayRange) {
		if id := r.Get("service_id"); !r.Unused {
			services[id] = append(services[id], days)
		}
	}
	for r := range f.files.Rows("calendar.txt") {
		r.Unique("service_id")
		first := r.Date("start_date")
		last := r.Date("end_date")
		// Feeds say "for ever" with a year 9999: what is beyond is cut off.
		days := dayRange{
			first: max(first, firstDay),
			last:  min(last, lastDay),
		}
		r.Check(first > last || days.first <= days.last, "start_date",
			"and end_date have no day "+schedule.InYears)
		// From the weekday of day 0, 1970-01-01.
		for i, column := range strings.Fields("thursday friday saturday sunday monday tuesday wednesday") {
			days.weekdays[i] = r.Get(column) == "1"
			if !days.weekdays[i] && r.Get(column) != "0" {
				r.Decided("weekdays that are neither 0 nor 1, on which a service does not run")
			}
		}
		enter(r, days)
		if !r.Unused {
			r.Became(0) // a second row is told by that
		}
	}
	type exception struct {
		service string
		day     schedule.Day
	}
	seen := map[exception]bool{}
	for r := range f.files.Rows("calendar_dates.txt") {
		day := r.Date("date")
		kind := r.Get("exception_type")
		if t, err := time.Parse(time.DateOnly, r.Get("date")); err == nil {
			// no date of GTFS, but it can be told
			day = schedule.DayOf(t)
		}
		x := exception{r.Get("service_id"), day}
		r.Check(firstDay <= day && day <= lastDay, "date", "is not "+schedule.InYears)
		r.Check(kind == "1" || kind == "2", "exception_type", "is neither 1 nor 2")
		again := seen[x]
		r.Check(!again, "date", "repeats an earlier row of this service_id")
		enter(r, dayRange{day, day, everyDay, kind == "2"})
		seen[x] = seen[x] || !r.Unused
		if r.Unused && kind == "2" && firstDay <= day && day <= lastDay {
			// The row says that no bus runs on that day. That holds, whatever else is wrong with the row.
			services[x.service] = append(services[x.service], dayRange{day, day, everyDay, true})
			r.Decided("days without service, from rows that were skipped for another reason")
		}
	}
	for _, id := range slices.Sorted(maps.Keys(services)) {
		days := service(id, services[id])
		f.files.IDs[calendars][id] = add(&f.out.Services, days)
	}
}

var everyDay = [7]bool{true, true, true, true, true, true, true}

// service makes the set of days: those of the ranges, without those excepted. An exception wins over what
// other rows say, wherever it stands.
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

// tripRow is a row of trips.txt with its rows of stop_times.txt. Until those are read, Pattern is the index
// of its route.
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
	for r := range f.files.Rows("trips.txt") {
		t := schedule.Trip{
			Bus:     r.Maybe("waybill_bus_id", "waybill_buses.txt"),
			ID:      urlSafe(r.ID("trip_id")),
			Pattern: r.Ref("route_id", "routes.txt"),
			Phones:  r.List("waybill_phones", " "),
			Name:    cmp.Or(r.Get("trip_short_name"), r.Get("trip_headsign")),
		}
		if r.Unused && r.Reason == "" {
			r.LeaveOut()
		}
		t.Service = r.Ref("service_id", calendars)
		keep(r, &trips, tripRow{
			Trip: t,
			id:   r.Key,
			line: r.Line,
		})
	}
	for r := range f.files.Rows("stop_times.txt") {
		if flexible(r) {
			r.Decided("stop times on demand (GTFS Flex), which are not used")
			continue
		}
		trip := r.Ref("trip_id", "trips.txt")
		c := stopTime{
			seq:       int32(r.Number("stop_sequence", 0, math.MaxInt32)),
			stop:      r.Ref("stop_id", "stops.txt"),
			arr:       r.Clock("arrival_time"),
			dep:       r.Clock("departure_time"),
			line:      int32(r.Line),
			noPickup:  r.Get("pickup_type") == "1",
			noDropOff: r.Get("drop_off_type") == "1",
		}
		// 2 and 3 are to be arranged with somebody, which no ticket depends on: the stop is sold.
		for _, column := range []string{"pickup_type", "drop_off_type"} {
			kind := r.Get(column) // blank is 0
			known := len(kind) <= 1 && strings.Contains("0123", kind)
			r.Check(known, column, "is not 0, 1, 2 or 3")
			if kind == "2" || kind == "3" {
				r.Decided("boardings or alightings to be arranged with somebody, which are sold as any other")
			}
		}
		// Where one of the two is given the bus does not stop for longer.
		if c.arr == blank {
			c.arr = c.dep
		} else if c.dep == blank {
			c.dep = c.arr
		}
		if !r.Unused {
			trips[trip].calls = append(trips[trip].calls, c)
		}
	}
	if f.files.Err == nil {
		f.finishTrips(trips)
	}
}

// flexible reports whether a row of stop_times.txt is of a service on demand. Such a row has an area or a
// window instead of a stop and a time.
func flexible(r *Row) bool {
	for _, column := range []string{"location_id", "location_group_id", "start_pickup_drop_off_window",
		"end_pickup_drop_off_window"} {
		if r.Get(column) != "" {
			return true
		}
	}
	return false
}

// finishTrips gives each trip its pattern and times; a trip that has none is left out.
func (f *Feed) finishTrips(trips []tripRow) {
	ids := f.files.IDs["trips.txt"]
	patterns := Index{}
	times := Index{}
	for _, t := range trips {
		slices.SortStableFunc(t.calls, func(a, b stopTime) int {
			return cmp.Compare(a.seq, b.seq)
		})
		// Of rows with the same place in the trip the first stays.
		calls := slices.CompactFunc(t.calls, func(a, b stopTime) bool {
			if a.seq == b.seq {
				reason := fmt.Sprintf("stop_sequence %d of the trip already exists", b.seq)
				f.files.Skip("stop_times.txt", int(max(a.line, b.line)), reason)
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
			f.files.Skip("trips.txt", t.line, fmt.Sprintf("trip_id %q %s", t.id, reason))
			delete(ids, t.id)
			continue
		}
		if blanks > 0 {
			f.files.DecidedMany(blanks, "trips.txt", t.line,
				"blank stop times, which are interpolated")
		}
		if t.Bus < 0 {
			f.files.Decided("trips.txt", t.line,
				fmt.Sprintf("trips without a bus, which have %d seats", schedule.DefaultSeats))
		}
		if !slices.ContainsFunc(f.out.Services[t.Service].Bits, func(days uint64) bool { return days != 0 }) {
			f.files.Decided("trips.txt", t.line, "trips whose service has no day, which never run")
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
		t.Pattern = once(patterns, &f.out.Patterns, p)
		t.Times = once(times, &f.out.Times, at)
		ids[t.id] = add(&f.out.Trips, t.Trip)
	}
}

// once adds a row to a table unless it is there.
func once[T any](seen Index, table *[]T, row T) int32 {
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
		// Between two given times the bus is taken to run evenly.
		for k := known + 1; k < i; k++ {
			from := calls[known].dep
			part := int64(c.arr-from) * int64(k-known) / int64(i-known)
			at := from + int32(part)
			calls[k].arr = at
			calls[k].dep = at
		}
		known = i
	}
	return ""
}

// readFrequencies puts one trip per departure in place of each trip that runs at intervals. A ticket is for
// one departure, whose time a passenger is told, so intervals are sold as the departures they come to.
func (f *Feed) readFrequencies() {
	var departures []schedule.Trip
	made := map[string]bool{}
	replaced := map[string]bool{} // by id
	type interval struct {
		trip  int32
		start int
	}
	seen := map[interval]bool{}
	trips := f.files.IDs["trips.txt"]
	for r := range f.files.Rows("frequencies.txt") {
		if trip, known := r.Find("trip_id", "trips.txt"); known {
			// its own times are no departure, whatever happens to this row
			replaced[f.out.Trips[trip].ID] = true
		}
		trip := r.Ref("trip_id", "trips.txt")
		start := int(r.Clock("start_time"))
		end := int(r.Clock("end_time"))
		r.Check(start != blank, "start_time", "is missing")
		headway := r.Number("headway_secs", 1, math.MaxInt)
		r.Check(end > start, "end_time", "leaves no departure")
		r.Check(!seen[interval{trip, start}], "start_time", "repeats an earlier row of this trip_id")
		few := (end-start)/headway < maxDepartures-len(departures)
		r.Check(few, "headway_secs", "brings the feed beyond 500,000 departures")
		if r.Unused {
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
			for _, taken := trips[x.ID]; taken; _, taken = trips[x.ID] {
				x.ID += "~"
			}
			x.Shift = int32(at) - f.out.Times[base.Times][1]
			departures = append(departures, x)
		}
	}
	if len(replaced) > 0 {
		f.files.DecidedMany(len(departures), "frequencies.txt", 2,
			"departures in place of trips that run at intervals")
	}
	kept := slices.DeleteFunc(f.out.Trips, func(t schedule.Trip) bool {
		return replaced[t.ID]
	})
	f.out.Trips = append(kept, departures...)
}
