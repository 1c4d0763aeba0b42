package gtfs_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	_ "time/tzdata"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// files is a feed in the making: the text of each file.
type files map[string]string

// with returns a copy of the feed in which one file is another.
func (f files) with(name, text string) files {
	f = maps.Clone(f)
	f[name] = text
	return f
}

// edit returns a copy of the feed in which a piece of one file is another.
func (f files) edit(t testing.TB, name, old, text string) files {
	t.Helper()
	if strings.Count(f[name], old) != 1 {
		t.Fatalf("%s has %q %d times, want once", name, old, strings.Count(f[name], old))
	}
	return f.with(name, strings.Replace(f[name], old, text, 1))
}

// plus returns a copy of the feed in which one file has further rows.
func (f files) plus(name string, rows ...string) files {
	return f.with(name, f[name]+strings.Join(rows, "\n")+"\n")
}

// each returns a copy of the feed in which every file is changed in the same way.
func (f files) each(change func(text string) string) files {
	f = maps.Clone(f)
	for name, text := range f {
		f[name] = change(text)
	}
	return f
}

func (f files) fs() fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range f {
		m[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return m
}

// plain is a small feed without anything odd: one trip a day from Alfa over Bravo to Charlie.
func plain() files {
	return files{
		"agency.txt": "agency_id,agency_name,agency_url,agency_timezone\n" +
			"ag,Agency,https://agency.example,Europe/Kyiv\n",
		"stops.txt": "stop_id,stop_name,stop_lat,stop_lon\n" +
			"a,Alfa,50,30\n" +
			"b,Bravo,50,31\n" +
			"c,Charlie,50,32\n",
		"routes.txt": "route_id,agency_id,route_short_name,route_long_name,route_type\n" +
			"r,ag,7,Alfa Line,3\n",
		"trips.txt": "route_id,service_id,trip_id\nr,daily,t\n",
		"calendar.txt": "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n" +
			"daily,1,1,1,1,1,1,1,20260101,20261231\n",
		"stop_times.txt": "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n" +
			"t,08:00:00,08:00:00,a,1\n" +
			"t,09:00:00,09:05:00,b,2\n" +
			"t,10:00:00,10:00:00,c,3\n",
	}
}

// imported is what an import gave.
type imported struct {
	journey.Finder
	tables  *schedule.Tables
	counts  map[string]int
	skipped []string // as file:line: reason
}

// load imports a feed, which must be one, and makes sure that what comes out is
// a timetable and stays the same when it is kept.
func load(t testing.TB, feed fs.FS, opt gtfs.Options) *imported {
	t.Helper()
	return loadAfter(t, feed, opt, nil)
}

// loadAfter imports a feed in place of a timetable, which may be nil.
func loadAfter(t testing.TB, feed fs.FS, opt gtfs.Options, before *schedule.Tables) *imported {
	t.Helper()
	x := new(imported)
	opt.Skip = func(file string, line int, reason string) {
		x.skipped = append(x.skipped, fmt.Sprintf("%s:%d: %s", file, line, reason))
	}
	var err error
	var f *gtfs.Feed
	if f, x.counts, err = gtfs.Read(feed, opt); err != nil {
		t.Fatalf("Read: %v", err)
	}
	x.tables = f.Tables(cmp.Or(before, new(schedule.Tables)))
	tt, err := schedule.New(x.tables)
	if err != nil {
		t.Fatalf("what Import gave is no timetable: %v", err)
	}
	x.Finder = journey.On(tt)
	var text bytes.Buffer
	hash, err := x.tables.Encode(&text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := schedule.Decode(&text, hash)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(again, x.tables) {
		t.Errorf("tables are not the same once encoded and decoded:\n%+v\n%+v", again, x.tables)
	}
	return x
}

// stop finds a stop by its id; one that is not there is blank.
func (x *imported) stop(id string) (stop schedule.Stop, ok bool) {
	i, ok := x.StopByID(id)
	if ok {
		stop = x.Stops[i]
	}
	return stop, ok
}

// clean imports a feed of which every row can be used.
func clean(t testing.TB, f files) *imported {
	t.Helper()
	x := load(t, f.fs(), gtfs.Options{})
	if len(x.skipped) > 0 {
		t.Errorf("rows were skipped: %q", x.skipped)
	}
	return x
}

// sameLines compares two lists of lines.
func sameLines(t testing.TB, what string, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	for _, l := range got {
		if !slices.Contains(want, l) {
			t.Errorf("%s: unexpected: %.300s", what, l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			t.Errorf("%s: missing: %.300s", what, l)
		}
	}
	t.Errorf("%s: got %d lines, want %d, or their order is another", what, len(got), len(want))
}

// departures lists the rides between two cities, by slug, as a passenger sees them.
func (x *imported) departures(t testing.TB, from, to, first string, days int) []string {
	t.Helper()
	a, ok1 := x.CityBySlug(from)
	b, ok2 := x.CityBySlug(to)
	d, err := schedule.ParseDay(first)
	if !ok1 || !ok2 || err != nil {
		t.Fatalf("no departures of %s, %s, %s: %v %v %v", from, to, first, ok1, ok2, err)
	}
	var list []string
	for _, j := range x.Search(&journey.Query{From: a, To: b, First: d, Days: days, After: -1 << 40}) {
		l := &j[0]
		list = append(list, fmt.Sprintf("%s %s %s", x.Trips[l.Trip].ID,
			time.Unix(l.Dep, 0).In(x.CityZone(a)).Format("2006-01-02T15:04:05-07:00"),
			time.Unix(l.Arr, 0).In(x.CityZone(b)).Format("02T15:04:05-07:00")))
	}
	return list
}

// cityOf returns the city of a stop.
func (x *imported) cityOf(t testing.TB, stop string) *schedule.City {
	t.Helper()
	s, ok := x.stop(stop)
	if !ok {
		t.Fatalf("there is no stop %q", stop)
	}
	return &x.Cities[s.City]
}

// describe says all there is to a timetable without regard to the order of rows.
func (x *imported) describe() []string {
	var list []string
	add := func(format string, args ...any) { list = append(list, fmt.Sprintf(format, args...)) }
	name := func(i int32, n int, id func(int32) string) string {
		if i < 0 || int(i) >= n {
			return "-"
		}
		return id(i)
	}
	company := func(i int32) string {
		return name(i, len(x.Companies), func(i int32) string { return x.Companies[i].ID })
	}
	route := func(i int32) string {
		return name(i, len(x.Routes), func(i int32) string { return x.Routes[i].ID })
	}
	for _, c := range x.Companies {
		add("company %+v", c)
	}
	for _, c := range x.Cities {
		add("city %+v", c)
	}
	for _, s := range x.Stops {
		city := x.Cities[s.City].ID
		s.City = 0
		add("stop %+v in %s", s, city)
	}
	for i := range x.Trips {
		add("%s", x.describeTrip(int32(i)))
	}
	for _, r := range x.Routes {
		by := company(r.Company)
		r.Company = 0
		add("route %+v of %s", r, by)
	}
	for _, b := range x.Buses {
		of := company(b.Company)
		b.Company = 0
		add("bus %+v of %s", b, of)
	}
	for _, f := range x.Fares {
		add("fare of %s on %s from %q to %q: %s %d", company(f.Company), route(f.Route), f.From, f.To,
			f.Currency, f.Amount)
	}
	for _, r := range x.RefundRules {
		add("rule %s of %s on %s: %d h %d", r.ID, company(r.Company), route(r.Route), r.Hours, r.Percent)
	}
	for _, d := range x.Discounts {
		add("discount %s %s %s on %s: %d from %s to %s", d.ID, d.Name, d.Description, route(d.Route),
			d.Percent, d.First, d.Last)
	}
	for _, tr := range x.Transfers {
		add("transfer %+v", tr)
	}
	slices.Sort(list)
	return list
}

func (x *imported) describeTrip(i int32) string {
	trip := x.Trips[i]
	p := x.Patterns[trip.Pattern]
	var b strings.Builder
	fmt.Fprintf(&b, "trip %s %q %q on %s with %d seats:", trip.ID, trip.Name, trip.Phones,
		x.Routes[p.Route].ID, x.Seats(i))
	for k, s := range p.Stops {
		times := x.Times[trip.Times]
		fmt.Fprintf(&b, " %s %d-%d", x.Stops[s].ID, times[2*k]+trip.Shift, times[2*k+1]+trip.Shift)
		if slices.Contains(p.NoPickup, int16(k)) {
			b.WriteString(" no pickup")
		}
		if slices.Contains(p.NoDropOff, int16(k)) {
			b.WriteString(" no drop-off")
		}
	}
	b.WriteString(" on")
	first, _ := schedule.ParseDay("2025-01-01")
	for d := range schedule.Day(3 * 365) {
		if x.RunsOn(i, first+d) {
			fmt.Fprintf(&b, " %d", first+d)
		}
	}
	return b.String()
}

// rides returns the stops of the rides on June 1, 2026 between two cities.
func (x *imported) rides(t *testing.T, from, to string) (list [][2]string) {
	t.Helper()
	start, _ := x.CityBySlug(from)
	end, _ := x.CityBySlug(to)
	day, err := schedule.ParseDay("2026-06-01")
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range x.Search(&journey.Query{From: start, To: end, First: day, Days: 1}) {
		list = append(list, [2]string{x.Boarding(&j[0]).ID, x.Alighting(&j[0]).ID})
	}
	return list
}
