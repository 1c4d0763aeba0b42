package gtfs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waybill/schedule"
	"waybill/schedule/gtfs"
)

const callHeader = "trip_id,arrival_time,departure_time,stop_id,stop_sequence,pickup_type,drop_off_type\n"

// TestHours takes times of a service day as they come: one-digit hours, hours of the days after, DST days.
func TestHours(t *testing.T) {
	for _, c := range []struct{ dep, arr, day, want string }{
		{"8:00:00", "9:30:00", "2026-01-15", "t 2026-01-15T08:00:00+02:00 15T09:30:00+02:00"},
		{"0:00:00", "00:00:01", "2026-01-15", "t 2026-01-15T00:00:00+02:00 15T00:00:01+02:00"},
		{"23:59:59", "24:00:00", "2026-01-15", "t 2026-01-15T23:59:59+02:00 16T00:00:00+02:00"},
		{"24:00:00", "25:10:00", "2026-01-16", "t 2026-01-16T00:00:00+02:00 16T01:10:00+02:00"},
		{"47:59:59", "99:59:59", "2026-01-16", "t 2026-01-16T23:59:59+02:00 19T03:59:59+02:00"},
		{"99:00:00", "103:30:15", "2026-01-19", "t 2026-01-19T03:00:00+02:00 19T07:30:15+02:00"},
		{"100:00:00", "250:00:00", "2026-01-19", "t 2026-01-19T04:00:00+02:00 25T10:00:00+02:00"},
		{"999:59:59", "999:59:59", "2026-02-25", "t 2026-02-25T15:59:59+02:00 25T15:59:59+02:00"},
		// Clocks go forward on 2026-03-29 at 03:00 and back on 2026-10-25 at 04:00: noon minus 12 h is 23:00
		// and 01:00.
		{"2:30:00", "08:00:00", "2026-03-29", "t 2026-03-29T01:30:00+02:00 29T08:00:00+03:00"},
		{"26:30:00", "32:00:00", "2026-03-29", "t 2026-03-29T02:30:00+02:00 29T09:00:00+03:00"},
		{"0:30:00", "05:00:00", "2026-10-25", "t 2026-10-25T01:30:00+03:00 25T05:00:00+02:00"},
		{"24:30:00", "30:00:00", "2026-10-25", "t 2026-10-25T00:30:00+03:00 25T05:00:00+02:00"},
	} {
		t.Run(c.dep+" "+c.day, func(t *testing.T) {
			day, err := schedule.ParseDay(c.day)
			if err != nil {
				t.Fatal(err)
			}
			var hours int
			if _, err := fmt.Sscanf(c.dep, "%d:", &hours); err != nil {
				t.Fatal(err)
			}
			service := strings.ReplaceAll((day - schedule.Day(hours/24)).String(), "-", "")
			f := plain().with("calendar.txt", "").with("calendar_dates.txt",
				"service_id,date,exception_type\ndaily,"+service+",1\n").
				with("stop_times.txt", callHeader+"t,,"+c.dep+",a,1,,\nt,"+c.arr+",,b,2,,\n")
			sameLines(t, c.dep, clean(t, f).departures(t, "alfa", "bravo", c.day, 1), []string{c.want})
		})
	}
}

// TestZonesOfAgencies: an agency's trips run by the agency's clock, and a stop has its city's.
func TestZonesOfAgencies(t *testing.T) {
	f := plain().plus("agency.txt", "wa,Warsaw Lines,https://wa.example,Europe/Warsaw").
		plus("routes.txt", "q,wa,8,Warsaw Line,3").plus("trips.txt", "q,daily,u").
		with("stops.txt", "stop_id,stop_name,stop_lat,stop_lon,stop_timezone\n"+
			"a,Alfa,50,30,Europe/Kyiv\n"+
			"b,Bravo,50,31,Europe/Warsaw\n"+
			"c,Charlie,50,32,\n").
		plus("stop_times.txt", "u,08:00:00,08:00:00,a,1", "u,09:00:00,09:00:00,b,2")
	sameLines(t, "two zones", clean(t, f).departures(t, "alfa", "bravo", "2026-07-01", 1), []string{
		"t 2026-07-01T08:00:00+03:00 01T08:00:00+02:00", "u 2026-07-01T09:00:00+03:00 01T09:00:00+02:00",
	})
}

// TestCalendars lists the days of a service that calendar.txt and calendar_dates.txt give together.
func TestCalendars(t *testing.T) {
	const header = "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date\n"
	const dates = "service_id,date,exception_type\n"
	for name, c := range map[string]struct{ calendar, dates, want string }{
		"calendar only": {header + "daily,1,0,0,0,0,0,1,20260601,20260614\n", "-", "1 7 8 14"},
		"dates only":    {"-", dates + "daily,20260603,1\ndaily,20260601,1\n", "1 3"},
		"both": {header + "daily,1,0,0,0,0,0,0,20260601,20260614\n",
			dates + "daily,20260601,2\ndaily,20260602,1\n", "2 8"},
		"removed outside": {header + "daily,1,0,0,0,0,0,0,20260601,20260614\n",
			dates + "daily,20260602,2\ndaily,20200101,2\n", "1 8"},
		"added far away": {header + "daily,1,0,0,0,0,0,0,20260601,20260614\n",
			dates + "daily,20350101,1\ndaily,19990101,1\n", "1 8"},
		"all removed":            {header + "daily,1,0,0,0,0,0,0,20260601,20260601\n", dates + "daily,20260601,2\n", ""},
		"only removed":           {"", dates + "daily,20260601,2\n", ""},
		"ends before its start":  {header + "daily,1,1,1,1,1,1,1,20260614,20260601\n", "-", ""},
		"no weekday":             {header + "daily,0,0,0,0,0,0,0,20260601,20260614\n", dates + "daily,20260609,1\n", "9"},
		"starts in another year": {header + "daily,0,0,0,1,0,0,0,20251225,20260612\n", "", "4 11"},
	} {
		t.Run(name, func(t *testing.T) {
			f := plain().with("calendar.txt", c.calendar).with("calendar_dates.txt", c.dates)
			for _, file := range []string{"calendar.txt", "calendar_dates.txt"} {
				if f[file] == "-" {
					delete(f, file)
				}
			}
			var got []string
			for _, d := range clean(t, f).departures(t, "alfa", "charlie", "2026-06-01", 14) {
				got = append(got, strings.TrimPrefix(strings.TrimPrefix(d, "t 2026-06-")[:2], "0"))
			}
			sameLines(t, name, got, strings.Fields(c.want))
		})
	}
}

// TestFrequencies puts a trip per departure in place of the one that runs at intervals.
func TestFrequencies(t *testing.T) {
	const header = "trip_id,start_time,end_time,headway_secs,exact_times\n"
	for name, c := range map[string]struct {
		rows string
		want []string
	}{
		"end is left out": {"t,10:00:00,11:00:00,1800,\n",
			[]string{"t~100000 2026-06-01T10:00:00+03:00 01T12:00:00+03:00",
				"t~103000 2026-06-01T10:30:00+03:00 01T12:30:00+03:00"}},
		"before the template and beyond midnight": {"t,5:00:00,5:00:01,600,1\nt,24:30:00,25:00:00,3600,0\n",
			[]string{"t~243000 2026-06-01T00:30:00+03:00 01T02:30:00+03:00",
				"t~050000 2026-06-01T05:00:00+03:00 01T07:00:00+03:00"}},
		"overlapping rows make a departure once": {"t,10:00:00,12:00:00,3600,\nt,11:00:00,12:00:00,3600,\n",
			[]string{"t~100000 2026-06-01T10:00:00+03:00 01T12:00:00+03:00",
				"t~110000 2026-06-01T11:00:00+03:00 01T13:00:00+03:00"}},
		"a headway longer than the time": {"t,10:00:00,11:00:00,7200,\n", []string{"t~100000 2026-06-01T10:00:00+03:00 01T12:00:00+03:00"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := clean(t, plain().with("frequencies.txt", header+c.rows).plus("trips.txt", "r,daily,other").
				plus("stop_times.txt", "other,20:00:00,20:00:00,a,1", "other,21:00:00,21:00:00,b,2"))
			sameLines(t, name, x.departures(t, "alfa", "charlie", "2026-06-01", 1), c.want)
			if _, ok := x.TripByID("t"); ok {
				t.Error("the trip at intervals runs at the time of its template as well")
			}
			sameLines(t, "other", x.departures(t, "alfa", "bravo", "2026-06-01", 1)[len(c.want):],
				[]string{"other 2026-06-01T20:00:00+03:00 01T21:00:00+03:00"})
		})
	}
}

// TestFrequencyIDs makes sure that no two trips get the same id.
func TestFrequencyIDs(t *testing.T) {
	x := clean(t, plain().with("frequencies.txt", "trip_id,start_time,end_time,headway_secs\n"+
		"t,10:00:00,10:30:00,1800\n").
		plus("trips.txt", "r,daily,t~100000").plus("stop_times.txt", "t~100000,15:00:00,15:00:00,a,1",
		"t~100000,16:00:00,16:00:00,c,2"))
	seen := map[string]bool{}
	for i := range x.Trips {
		if seen[x.Trips[i].ID] {
			t.Errorf("two trips have the id %q", x.Trips[i].ID)
		}
		seen[x.Trips[i].ID] = true
	}
	if len(x.Trips) != 2 {
		t.Errorf("%d trips, want 2", len(x.Trips))
	}
}

// TestPickup lets nobody board or alight where a feed says 1, and everybody where it says anything else.
func TestPickup(t *testing.T) {
	f := plain().with("stop_times.txt", callHeader+"t,08:00:00,08:00:00,a,1,0,0\n"+
		"t,09:00:00,09:00:00,b,2,PICKUP,DROP\n"+
		"t,10:00:00,10:00:00,c,3,,\n")
	for _, c := range []struct {
		pickup, drop string
		ab, bc       int
	}{{"1", "0", 1, 0}, {"0", "1", 0, 1}, {"1", "1", 0, 0}, {"", "", 1, 1}, {"2", "3", 1, 1},
		{" 1 ", "0", 1, 0}, {"0", "0", 1, 1}} {
		x := clean(t, f.edit(t, "stop_times.txt", "PICKUP,DROP", c.pickup+","+c.drop))
		ab := x.departures(t, "alfa", "bravo", "2026-06-01", 1)
		bc := x.departures(t, "bravo", "charlie", "2026-06-01", 1)
		if len(ab) != c.ab || len(bc) != c.bc {
			t.Errorf("pickup_type %q, drop_off_type %q: %d rides to, %d from, want %d, %d", c.pickup, c.drop,
				len(ab), len(bc), c.ab, c.bc)
		}
		if n := len(x.departures(t, "alfa", "charlie", "2026-06-01", 1)); n != 1 {
			t.Errorf("pickup_type %q, drop_off_type %q: %d rides past the stop, want 1", c.pickup, c.drop, n)
		}
	}
	want := "boardings or alightings to be arranged with somebody, which are sold as any other: 2, " +
		"first at stop_times.txt:3"
	if said := decisions(t, f.edit(t, "stop_times.txt", "PICKUP,DROP", "2,3")); !slices.Contains(said, want) {
		t.Errorf("the import says %q, want %q", said, want)
	}
}

// TestBlankTimes interpolates what is blank evenly between what is given.
func TestBlankTimes(t *testing.T) {
	f := plain().with("stop_times.txt", callHeader+"t,,08:00:00,a,1,,\n"+
		"t,,,b,5,,\n"+
		"t,,,a,6,,\n"+
		"t,,,b,7,,\n"+
		"t,10:00:00,10:30:00,a,10,,\n"+
		"t,,,b,11,,\n"+
		"t,11:30:00,,c,90,,\n")
	var got []string
	x := clean(t, f)
	for i, at := range x.Times[0] {
		got = append(got, fmt.Sprintf("%d %d:%02d", i/2, at/3600, at/60%60))
	}
	sameLines(t, "times", got, []string{"0 8:00", "0 8:00", "1 8:30", "1 8:30", "2 9:00", "2 9:00", "3 9:30",
		"3 9:30", "4 10:00", "4 10:30", "5 11:00", "5 11:00", "6 11:30", "6 11:30"})
}

// TestBusOnly leaves out other vehicles, and says nothing of the rows that name them.
func TestBusOnly(t *testing.T) {
	f := plain()
	kinds := map[string]bool{"0": false, "1": false, "2": false, "3": true, "4": false, "11": false,
		"100": false, "199": false, "200": true, "201": true,
		"299": true, "300": false, "699": false, "700": true, "702": true, "799": true, "800": false,
		"1700": false, "-200": false, "-3": false}
	for kind := range kinds {
		f = f.plus("routes.txt", "k"+kind+",ag,"+kind+",,"+kind).plus("trips.txt", "k"+kind+",daily,t"+kind).
			plus("stop_times.txt", "t"+kind+",08:00:00,08:00:00,a,1", "t"+kind+",09:00:00,09:00:00,b,2")
	}
	f = f.with("fare_attributes.txt", "fare_id,price,currency_type,payment_method,transfers\n"+
		"f,1,EUR,0,0\n").with("fare_rules.txt", "fare_id,route_id\nf,k2\n").
		with("frequencies.txt", "trip_id,start_time,end_time,headway_secs\nt2,08:00:00,09:00:00,600\n").
		with("waybill_refund_rules.txt", "rule_id,route_id,agency_id,hours,amount\nx,k2,,1,50\n").
		with("waybill_discounts.txt", "discount_id,route_id,rule,amount,start_date,end_date\n"+
			"d,k2,Percent,1,20260101,20261231\n")
	if n := len(clean(t, f).Routes); n != 1+len(kinds) {
		t.Errorf("%d routes without -bus-only, want all %d", n, 1+len(kinds))
	}
	x := load(t, f.fs(), gtfs.Options{BusOnly: true})
	sameLines(t, "skipped", x.skipped, nil)
	got := map[string]bool{}
	for _, r := range x.Routes {
		got[r.ID] = true
	}
	for kind, bus := range kinds {
		if got["k"+kind] != bus {
			t.Errorf("route_type %s: kept is %v, want %v", kind, got["k"+kind], bus)
		}
	}
	if len(x.Fares)+len(x.RefundRules)+len(x.Discounts) > 0 {
		t.Errorf("fares, rules or discounts of a route that is left out: %+v %+v %+v", x.Fares, x.RefundRules,
			x.Discounts)
	}
}
