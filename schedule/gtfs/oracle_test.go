package gtfs_test

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// An oracle works out departures straight from the text of a feed, the slow
// way: every trip, every date, every pair of its stops. It knows nothing of the importer.
type oracle struct {
	city  map[string]string         // by stop: its area, or the name of its station or itself
	name  map[string]string         // by city
	zone  map[string]*time.Location // by city
	trips []*oracleTrip
	dates map[string]map[string]bool // by service: dates as in 20261120
}

// oracleTrip is a trip of trips.txt.
type oracleTrip struct {
	id, service, route string
	zone               *time.Location
	calls              []oracleCall
	starts             []int // of frequencies.txt, in seconds; none if it runs once
}

type oracleCall struct {
	seq, arr, dep    int
	stop             string
	noBoard, noLeave bool
}

// oracleRide is one departure from one city to another.
type oracleRide struct {
	dep, arr     int64
	route, trip  string
	stops, towns [2]string
}

// cellsOf reads a file as rows by column name; none if there is no such file.
func cellsOf(t testing.TB, feed fs.FS, name string) (list []map[string]string) {
	t.Helper()
	f, err := feed.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	var header []string
	for {
		row, err := r.Read()
		if err == io.EOF {
			return list
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if header == nil {
			header = row
			continue
		}
		m := map[string]string{}
		for i, c := range row {
			m[header[i]] = c
		}
		list = append(list, m)
	}
}

func atoi(t testing.TB, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// clock reads hours, minutes and seconds; -1 is blank.
func clock(t testing.TB, s string) int {
	if s == "" {
		return -1
	}
	p := strings.Split(s, ":")
	return atoi(t, p[0])*3600 + atoi(t, p[1])*60 + atoi(t, p[2])
}

func location(t testing.TB, name string) *time.Location {
	t.Helper()
	l, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func newOracle(t testing.TB, feed fs.FS) *oracle {
	t.Helper()
	o := &oracle{
		city:  map[string]string{},
		name:  map[string]string{},
		zone:  map[string]*time.Location{},
		dates: map[string]map[string]bool{},
	}
	o.readPlaces(t, feed)
	o.readDates(t, feed)
	agency := map[string]*time.Location{}
	names := map[string]string{}
	for _, row := range cellsOf(t, feed, "agency.txt") {
		agency[row["agency_id"]] = location(t, row["agency_timezone"])
	}
	operator := map[string]string{}
	for _, row := range cellsOf(t, feed, "routes.txt") {
		operator[row["route_id"]] = row["agency_id"]
		names[row["route_id"]] = cmp.Or(row["route_long_name"], row["route_short_name"])
	}
	byID := map[string]*oracleTrip{}
	for _, row := range cellsOf(t, feed, "trips.txt") {
		x := &oracleTrip{
			id:      row["trip_id"],
			service: row["service_id"],
			route:   names[row["route_id"]],
			zone:    agency[operator[row["route_id"]]],
		}
		o.trips = append(o.trips, x)
		byID[x.id] = x
	}
	for _, row := range cellsOf(t, feed, "stop_times.txt") {
		x := byID[row["trip_id"]]
		c := oracleCall{seq: atoi(t, row["stop_sequence"]), stop: row["stop_id"],
			arr: clock(t, row["arrival_time"]), dep: clock(t, row["departure_time"]),
			noBoard: row["pickup_type"] == "1", noLeave: row["drop_off_type"] == "1"}
		if c.arr < 0 {
			c.arr = c.dep
		} else if c.dep < 0 {
			c.dep = c.arr
		}
		x.calls = append(x.calls, c)
	}
	for _, row := range cellsOf(t, feed, "frequencies.txt") {
		x := byID[row["trip_id"]]
		for at := clock(t, row["start_time"]); at < clock(t, row["end_time"]); at += atoi(t,
			row["headway_secs"]) {
			if !slices.Contains(x.starts, at) {
				x.starts = append(x.starts, at)
			}
		}
	}
	for _, x := range o.trips {
		x.finish(o)
	}
	return o
}

func (o *oracle) readPlaces(t testing.TB, feed fs.FS) {
	area := map[string]string{}
	zones := map[string]string{}
	for _, row := range cellsOf(t, feed, "stop_areas.txt") {
		area[row["stop_id"]] = "area " + row["area_id"]
	}
	for _, row := range cellsOf(t, feed, "areas.txt") {
		zones["area "+row["area_id"]] = row["waybill_timezone"]
		o.name["area "+row["area_id"]] = row["area_name"]
	}
	stops := map[string]map[string]string{}
	for _, row := range cellsOf(t, feed, "stops.txt") {
		stops[row["stop_id"]] = row
	}
	for id, row := range stops {
		parent := row["parent_station"]
		city := cmp.Or(area[id], area[parent])
		if city == "" && parent != "" {
			city = stops[parent]["stop_name"]
		}
		city = cmp.Or(city, row["stop_name"])
		o.city[id], o.name[city] = city, cmp.Or(o.name[city], city)
		zones[city] = cmp.Or(zones[city], row["stop_timezone"])
	}
	for city, zone := range zones {
		o.zone[city] = location(t, zone)
	}
}

func (o *oracle) readDates(t testing.TB, feed fs.FS) {
	on := func(service string) map[string]bool {
		if o.dates[service] == nil {
			o.dates[service] = map[string]bool{}
		}
		return o.dates[service]
	}
	for _, row := range cellsOf(t, feed, "calendar.txt") {
		day, err := time.Parse("20060102", row["start_date"])
		if err != nil {
			t.Fatal(err)
		}
		for ; day.Format("20060102") <= row["end_date"]; day = day.AddDate(0, 0, 1) {
			if row[strings.ToLower(day.Weekday().String())] == "1" {
				on(row["service_id"])[day.Format("20060102")] = true
			}
		}
	}
	for _, row := range cellsOf(t, feed, "calendar_dates.txt") {
		on(row["service_id"])[row["date"]] = row["exception_type"] == "1"
	}
}

// finish puts calls in order, fills in what is blank and names the route.
func (x *oracleTrip) finish(o *oracle) {
	slices.SortFunc(x.calls, func(a, b oracleCall) int { return a.seq - b.seq })
	given := slices.Clone(x.calls)
	for i := range x.calls {
		if given[i].arr >= 0 {
			continue
		}
		before := i
		after := i
		for given[before].arr < 0 {
			before--
		}
		for given[after].arr < 0 {
			after++
		}
		at := given[before].dep + (given[after].arr-given[before].dep)*(i-before)/(after-before)
		x.calls[i].arr = at
		x.calls[i].dep = at
	}
	if len(x.calls) > 0 && x.route == "" {
		x.route = o.name[o.city[x.calls[0].stop]] + " – " + o.name[o.city[x.calls[len(x.calls)-1].stop]]
	}
}

// rides returns every ride between cities on service dates of a range.
func (o *oracle) rides(first, last time.Time) (list []oracleRide) {
	for _, x := range o.trips {
		for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
			if !o.dates[x.service][day.Format("20060102")] {
				continue
			}
			y, m, d := day.Date()
			midnight := time.Date(y, m, d, 12, 0, 0, 0, x.zone).Add(-12 * time.Hour).Unix()
			if x.starts == nil {
				list = o.pairs(list, x, midnight)
			}
			for _, at := range x.starts {
				list = o.pairs(list, x, midnight+int64(at-x.calls[0].dep))
			}
		}
	}
	return list
}

// pairs lists the rides of a trip. Of more than 16 between two cities, only the one from the last stop, and
// to the first after it.
func (o *oracle) pairs(list []oracleRide, x *oracleTrip, start int64) []oracleRide {
	type ride struct{ from, to int }
	between := map[[2]string][]ride{}
	for i, a := range x.calls {
		for k := i + 1; k < len(x.calls); k++ {
			b := x.calls[k]
			towns := [2]string{o.city[a.stop], o.city[b.stop]}
			if !a.noBoard && !b.noLeave && towns[0] != towns[1] {
				between[towns] = append(between[towns], ride{i, k})
			}
		}
	}
	for towns, rides := range between {
		for _, r := range rides {
			pointless := slices.ContainsFunc(rides, func(other ride) bool {
				return len(rides) > 16 && (other.from > r.from || other.from == r.from && other.to < r.to)
			})
			if !pointless {
				a := x.calls[r.from]
				b := x.calls[r.to]
				list = append(list, oracleRide{
					dep: start + int64(a.dep), arr: start + int64(b.arr), route: x.route, trip: x.id,
					stops: [2]string{a.stop, b.stop}, towns: towns,
				})
			}
		}
	}
	return list
}

// compare checks one search against the oracle's rides.
func (o *oracle) compare(t testing.TB, x *imported, rides []oracleRide, towns [2]string, first time.Time,
	days int, after int64) (found int) {
	t.Helper()
	var want []string
	from := first.Format(time.DateOnly)
	until := first.AddDate(0, 0, days-1).Format(time.DateOnly)
	for _, r := range rides {
		local := time.Unix(r.dep, 0).In(o.zone[towns[0]]).Format(time.DateOnly)
		if r.towns == towns && from <= local && local <= until && r.dep > after {
			want = append(want, fmt.Sprint(r))
		}
	}
	day, err := schedule.ParseDay(from)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var last oracleRide
	for _, j := range x.Search(&journey.Query{
		From:  x.town(t, o, towns[0]),
		To:    x.town(t, o, towns[1]),
		First: day,
		Days:  days,
		After: after,
	}) {
		l := &j[0]
		trip := x.Trips[l.Trip].ID
		id, _, _ := strings.Cut(trip, "~")
		r := oracleRide{l.Dep, l.Arr, x.RouteName(l.Trip, schedule.Untranslated), id,
			[2]string{x.Boarding(l).ID, x.Alighting(l).ID}, towns}
		if len(got) > 0 &&
			cmp.Or(cmp.Compare(last.dep, r.dep), cmp.Compare(last.arr, r.arr),
				cmp.Compare(last.route, r.route), cmp.Compare(last.trip, trip)) > 0 {
			t.Errorf("%v from %s, %d days: %v comes after %v", towns, from, days, r, last)
		}
		got = append(got, fmt.Sprint(r))
		last = r
		last.trip = trip
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v from %s, %d days, after %d:\n got %q\nwant %q", towns, from, days, after, got, want)
	}
	return len(want)
}

// town finds the index of a city by one of its stops.
func (x *imported) town(t testing.TB, o *oracle, city string) int32 {
	t.Helper()
	for id, c := range o.city {
		if c == city {
			s, ok := x.stop(id)
			if !ok {
				t.Fatalf("no stop %q", id)
			}
			return s.City
		}
	}
	t.Fatalf("no stop in %q", city)
	return -1
}

// TestOracleDemo compares all pairs of cities of the demo network around the days when clocks change.
func TestOracleDemo(t *testing.T) {
	feed := os.DirFS("../../testdata/demo")
	o := newOracle(t, feed)
	x := load(t, feed, gtfs.Options{})
	if len(x.skipped) > 0 {
		t.Errorf("rows were skipped: %q", x.skipped)
	}
	towns := map[string]bool{}
	for _, c := range o.city {
		towns[c] = true
	}
	found := 0
	for _, first := range []time.Time{date(2026, 3, 26), date(2026, 10, 22), date(2026, 12, 24),
		date(2024, 1, 1), date(2036, 12, 25)} {
		byPair := map[[2]string][]oracleRide{}
		for _, r := range o.rides(first.AddDate(0, 0, -8), first.AddDate(0, 0, 16)) {
			byPair[r.towns] = append(byPair[r.towns], r)
		}
		for a := range towns {
			for b := range towns {
				if a != b {
					found += o.compare(t, x, byPair[[2]string{a, b}], [2]string{a, b}, first, 1+len(a)%14, 0)
				}
			}
		}
	}
	if found < 1000 {
		t.Errorf("only %d rides were compared", found)
	}
}

func date(y int, m time.Month, d int) time.Time { return time.Date(y, m, d, 0, 0, 0, 0, time.UTC) }

// TestOracleRandom compares random feeds, written in random ways, around the days when clocks change.
func TestOracleRandom(t *testing.T) {
	found := 0
	for seed := range sampled(uint64(200)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2026))
			f := randomFeed(r)
			o := newOracle(t, f.fs())
			x := clean(t, f)
			var towns []string
			for _, c := range o.city {
				if !slices.Contains(towns, c) {
					towns = append(towns, c)
				}
			}
			slices.Sort(towns)
			season := seasons[seed%uint64(len(seasons))]
			rides := o.rides(season.AddDate(0, 0, -20), season.AddDate(0, 0, 40))
			for range 12 {
				first := season.AddDate(0, 0, r.IntN(16))
				pair := [2]string{towns[r.IntN(len(towns))], towns[r.IntN(len(towns))]}
				after := int64(0)
				if r.IntN(3) == 0 {
					after = first.Add(time.Duration(r.IntN(72)) * time.Hour).Unix()
				}
				found += o.compare(t, x, rides, pair, first, 1+r.IntN(14), after)
			}
		})
	}
	if found < sampled(5000) {
		t.Errorf("only %d rides were compared", found)
	}
}
