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

// zone reads a time zone, which is the same on every machine; it may be blank.
func (f *Feed) zone(r *row, column string) string {
	name := r.get(column)
	if _, tried := f.zones[name]; !tried {
		_, err := time.LoadLocation(name)
		f.zones[name] = err == nil && name != "Local"
	}
	r.check(f.zones[name], column, "is not an IANA time zone")
	return name
}

// stopRow is a row of stops.txt until all are read. Its ids are the feed's; its City is -1 where no area has it.
type stopRow struct {
	schedule.Stop
	zone, country string
	located       bool
	line          int
}

// readStops reads the areas, the stops, and which of these are in which of those.
func (f *Feed) readStops() {
	for r := range f.rows("areas.txt") {
		id, name := r.id("area_id"), r.get("area_name")
		keep(r, &f.out.Cities, schedule.City{
			ID: urlSafe(id), Name: cmp.Or(name, id), Slug: r.get("waybill_slug"),
			Names:   f.names("areas", "area_name", id, name),
			Country: strings.ToUpper(r.get("waybill_country")), Zone: f.zone(r, "waybill_timezone"),
		})
	}
	var stops []stopRow
	for r := range f.rows("stops.txt") {
		id, kind := r.id("stop_id"), r.get("location_type")
		if kind == "2" || kind == "3" {
			continue // an entrance or a node in a station: no bus calls there
		}
		s := stopRow{
			Stop: schedule.Stop{
				ID: id, Parent: r.get("parent_station"), Station: kind == "1", City: -1, FareZone: r.get("zone_id"),
				Place: r.get("stop_name"), Platform: cmp.Or(r.get("waybill_platform"), r.get("platform_code")),
			},
			zone: f.zone(r, "stop_timezone"), country: strings.ToUpper(r.get("waybill_country")),
			located: r.get("stop_lat") != "" || r.get("stop_lon") != "", line: r.line,
		}
		if s.located {
			s.Lat, s.Lon = r.degrees("stop_lat", 90), r.degrees("stop_lon", 180)
		}
		keep(r, &stops, s)
	}
	for r := range f.rows("stop_areas.txt") {
		stop, area := r.ref("stop_id", "stops.txt"), r.ref("area_id", "areas.txt")
		if !r.unused && stops[stop].City < 0 {
			stops[stop].City = area
		}
	}
	if f.err == nil {
		byID := f.ids["stops.txt"]
		f.ids["stops.txt"] = index{}
		for _, s := range stops {
			f.placeStop(s, stops, byID)
		}
	}
}

// placeStop finds a stop's city: its area, else its parent station's city, else a city of its own name (contract §5).
// What a stop leaves out it takes from its station.
func (f *Feed) placeStop(s stopRow, stops []stopRow, byID index) {
	top := &s
	for depth := 0; top.Parent != ""; depth++ {
		i, ok := byID[top.Parent]
		if !ok || depth == 3 {
			reason := fmt.Sprintf("parent_station %q is not in stops.txt, or a part of this stop", top.Parent)
			f.opt.Skip("stops.txt", s.line, reason)
			return
		}
		top = &stops[i]
		if !s.located {
			s.Lat, s.Lon, s.located = top.Lat, top.Lon, top.located
		}
		if s.City < 0 {
			s.City = top.City
		}
		s.Place, s.Station = cmp.Or(s.Place, top.Place), s.Station || top.Station
		s.zone, s.country = cmp.Or(s.zone, top.zone), cmp.Or(s.country, top.country)
	}
	if !s.located {
		f.opt.Skip("stops.txt", s.line, "has no coordinates")
		return
	}
	if s.City < 0 {
		name := cmp.Or(top.Place, top.ID)
		if _, ok := f.cityByName[name]; !ok {
			names := f.names("stops", "stop_name", top.ID, name)
			f.cityByName[name] = add(&f.out.Cities, schedule.City{ID: "~." + urlSafe(name), Name: name, Names: names})
		}
		s.City = f.cityByName[name]
	}
	c := &f.out.Cities[s.City]
	c.Zone, c.Country = cmp.Or(c.Zone, s.zone), cmp.Or(c.Country, s.country)
	id := s.ID
	if s.ID = urlSafe(id); s.Parent != "" {
		s.Parent = urlSafe(s.Parent)
	}
	f.ids["stops.txt"][id] = add(&f.out.Stops, s.Stop)
}

// finishCities gives a city without a zone that of the first company to serve it; and without a country, the zone's.
func (f *Feed) finishCities() {
	for _, p := range f.out.Patterns {
		for _, s := range p.Stops {
			c := &f.out.Cities[f.out.Stops[s].City]
			c.Zone = cmp.Or(c.Zone, f.out.Companies[f.out.Routes[p.Route].Company].Zone)
		}
	}
	country := map[string]string{} // by zone
	for line := range strings.Lines(countries) {
		code, zones, _ := strings.Cut(line, " ")
		for zone := range strings.FieldsSeq(zones) {
			country[zone] = code
		}
	}
	for i := range f.out.Cities {
		c := &f.out.Cities[i]
		c.Zone = cmp.Or(c.Zone, f.out.Companies[0].Zone)
		c.Country = cmp.Or(c.Country, country[c.Zone])
	}
}

// countries lists countries with their zones: all of the interface's 23, their neighbours, and some beyond.
//
//go:embed countries.txt
var countries string

// dayRange is a row of calendar.txt, or one day of calendar_dates.txt.
type dayRange struct {
	first, last schedule.Day
	weekdays    [7]bool
	except      bool // the service does not run on this day, whatever other rows say
}

const (
	firstDay, lastDay schedule.Day = 7305, 47481 // 1990-01-01, 2099-12-31: no bus ticket needs other days

	calendars     = "calendar.txt or calendar_dates.txt"
	blank         = -1      // a time that the feed does not give
	maxDepartures = 500_000 // that frequencies.txt may bring
)

func (f *Feed) readServices() {
	services := map[string][]dayRange{}
	f.ids[calendars] = index{}
	enter := func(r *row, days dayRange) {
		if id := r.get("service_id"); !r.unused {
			services[id] = append(services[id], days)
		}
	}
	for r := range f.rows("calendar.txt") {
		first, last := r.date("start_date"), r.date("end_date")
		days := dayRange{first: max(first, firstDay), last: min(last, lastDay)}
		r.check(first > last || days.first <= days.last, "start_date", "and end_date have no day from 1990 to 2099")
		// From the weekday of day 0, 1970-01-01.
		for i, column := range strings.Fields("thursday friday saturday sunday monday tuesday wednesday") {
			days.weekdays[i] = r.get(column) == "1"
		}
		enter(r, days)
	}
	for r := range f.rows("calendar_dates.txt") {
		day, kind := r.date("date"), r.get("exception_type")
		r.check(firstDay <= day && day <= lastDay, "date", "is not from 1990 to 2099")
		r.check(kind == "1" || kind == "2", "exception_type", "is neither 1 nor 2")
		enter(r, dayRange{day, day, [7]bool{true, true, true, true, true, true, true}, kind == "2"})
	}
	for _, id := range slices.Sorted(maps.Keys(services)) {
		f.ids[calendars][id] = add(&f.out.Services, service(id, services[id]))
	}
}

// service makes the set of days: those of the ranges, without those excepted.
func service(id string, ranges []dayRange) schedule.Service {
	first, last := lastDay, firstDay
	except := map[schedule.Day]bool{}
	for _, r := range ranges {
		if r.except {
			except[r.first] = true
		} else {
			first, last = min(first, r.first), max(last, r.last)
		}
	}
	out := schedule.Service{ID: id, First: first}
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

func (f *Feed) readTrips() {
	var trips []tripRow
	for r := range f.rows("trips.txt") {
		t := schedule.Trip{
			Bus: r.maybe("waybill_bus_id", "waybill_buses.txt"), ID: urlSafe(r.id("trip_id")),
			Pattern: r.ref("route_id", "routes.txt"), Phones: r.list("waybill_phones", " "),
			Name: cmp.Or(r.get("trip_short_name"), r.get("trip_headsign")),
		}
		if r.unused && r.reason == "" {
			f.ids[r.file][r.key] = leftOut
		}
		t.Service = r.ref("service_id", calendars)
		keep(r, &trips, tripRow{Trip: t, id: r.key, line: r.line})
	}
	for r := range f.rows("stop_times.txt") {
		trip := r.ref("trip_id", "trips.txt")
		c := stopTime{
			seq: int32(r.number("stop_sequence", 0, math.MaxInt32)), stop: r.ref("stop_id", "stops.txt"),
			arr: r.clock("arrival_time"), dep: r.clock("departure_time"), line: int32(r.line),
			noPickup: r.get("pickup_type") == "1", noDropOff: r.get("drop_off_type") == "1",
		}
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

// finishTrips gives each trip its pattern and times; a trip that has none is left out.
func (f *Feed) finishTrips(trips []tripRow) {
	ids, patterns, times := f.ids["trips.txt"], index{}, index{}
	for _, t := range trips {
		slices.SortStableFunc(t.calls, func(a, b stopTime) int { return cmp.Compare(a.seq, b.seq) })
		calls := slices.CompactFunc(t.calls, func(a, b stopTime) bool {
			if a.seq == b.seq {
				reason := fmt.Sprintf("stop_sequence %d of the trip is there already", b.seq)
				f.opt.Skip("stop_times.txt", int(max(a.line, b.line)), reason)
			}
			return a.seq == b.seq
		})
		if reason := complete(calls); reason != "" {
			f.opt.Skip("trips.txt", t.line, fmt.Sprintf("trip_id %q %s", t.id, reason))
			delete(ids, t.id)
			continue
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
	key, _ := json.Marshal(row)
	if _, ok := seen[string(key)]; !ok {
		seen[string(key)] = add(table, row)
	}
	return seen[string(key)]
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

// readFrequencies puts one trip per departure in place of each trip that runs at intervals.
func (f *Feed) readFrequencies() {
	var departures []schedule.Trip
	made, replaced := map[string]bool{}, map[string]bool{} // by id
	for r := range f.rows("frequencies.txt") {
		trip := r.ref("trip_id", "trips.txt")
		start, end := int(r.clock("start_time")), int(r.clock("end_time"))
		r.check(start != blank, "start_time", "is missing")
		headway := r.number("headway_secs", 1, math.MaxInt)
		r.check(end > start, "end_time", "leaves no departure")
		few := (end-start)/headway < maxDepartures-len(departures)
		r.check(few, "headway_secs", "brings the feed beyond 500,000 departures")
		if r.unused {
			continue
		}
		base := f.out.Trips[trip]
		replaced[base.ID] = true
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
	kept := slices.DeleteFunc(f.out.Trips, func(t schedule.Trip) bool { return replaced[t.ID] })
	f.out.Trips = append(kept, departures...)
}
