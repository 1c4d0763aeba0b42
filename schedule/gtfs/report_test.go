package gtfs_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waybill/schedule/gtfs"
)

// TestReport: the report names every decision that an import took, how often, and where first.
func TestReport(t *testing.T) {
	f := portlands().
		plus("stops.txt", "isle,Isle,0,0,").
		edit(t, "stop_times.txt", "west,11:00:00,11:00:00", "west,11:00,11:00").
		edit(t, "stop_times.txt", "east,10:00:00,10:00:00,pwm,2\n",
			"east,,,pwm,2\neast,11:00:00,11:00:00,bos,3\n").
		with("areas.txt", "area_id,area_name\nx,Xray\ny,Yankee\n").
		with("stop_areas.txt", "area_id,stop_id\nx,bos\nx,sea\ny,sea\n").
		with("fare_attributes.txt", "fare_id,price,currency_type,payment_method,transfers\nf,1,USD,0,0\n").
		with("fare_rules.txt", "fare_id,route_id\nf,gone\n").
		with("translations.txt", "table_name,field_name,language,translation,record_id\n"+
			"stops,stop_name,de,Portland,pdx\n").
		plus("agency.txt", "nameless,,https://n.example,Europe/Kyiv").
		plus("calendar.txt", "holes,0,,yes,0,0,0,0,20260101,20260107",
			"back,1,1,1,1,1,1,1,20260107,20260101").
		plus("trips.txt", "r,holes,t2", "r,back,t3").
		plus("stop_times.txt", "t2,8:00:00,8:00:00,bos,1", "t2,9:00:00,9:00:00,pwm,2",
			"t3,8:00:00,8:00:00,bos,1", "t3,9:00:00,9:00:00,pwm,2").
		with("transfers.txt", "from_stop_id,to_stop_id,to_stop_id,,\nbos,pwm,bos,,\n").
		with("fare_products.txt", "").with("booking_rules.txt", "").with("shapes.txt", "").with("notes.txt",
		"").with("a\nb.txt", "")
	skip := func(string, int, string) {}
	read, _, err := gtfs.Read(f.fs(), gtfs.Options{Skip: skip})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range read.Decisions() {
		got = append(got, d.String())
	}
	got = append(got, read.Remarks()...)
	for _, want := range []string{
		"translations into other languages than Ukrainian, Polish, Czech, English and Russian, " +
			"which are not used: 1, first at translations.txt:2",
		"stops at latitude 0, longitude 0, which counts as no coordinates: 1, first at stops.txt:6",
		"stops in several areas, whose city is the first area: 1, first at stop_areas.txt:4",
		"stops in another time zone than their area, whose zone counts: 1, first at stops.txt:5",
		"times without seconds, which are full minutes: 2, first at stop_times.txt:5",
		"blank stop times, which are interpolated: 1, first at trips.txt:2",
		"trips without a bus, which have 49 seats: 4, first at trips.txt:2",
		"trips whose service has no day, which never run: 2, first at trips.txt:4",
		"weekdays that are neither 0 nor 1, on which a service does not run: 2, first at calendar.txt:3",
		"companies without an agency_name, which are named by their agency_id: 1, first at agency.txt:3",
		"headers with the column to_stop_id twice, of which the last counts: 1, first at transfers.txt:1",
		"fares whose rules were all skipped, which match nothing: 1, first at fare_attributes.txt:2",
		"service from 2026-01-01 to 2026-12-31",
		"stop names that stand for several cities, because the stops are over 30 km apart or in several " +
			"time zones, or were before: Portland (2 cities, up to 4079 km apart)",
		"areas with several stops; a run is listed once for each pair of boarding and alighting stops, " +
			"or only once where there are more than 16 pairs: Xray (2 stops)",
		"routes without any fare, which are not sold; -fare-per-km prices them by distance: 1 of 1",
		"ignored: fare_products.txt (GTFS Fares v2; fares are read from fare_attributes.txt and " +
			"fare_rules.txt)",
		"ignored: booking_rules.txt (GTFS Flex; only stops at fixed times are read)",
		"ignored: \"a\\nb.txt\", notes.txt, shapes.txt (not used by Waybill)",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("it says:\n%s", strings.Join(got, "\n"))
	}
}

// A run that calls at several stops of two cities is listed once for each pair of them, whether the cities
// are areas or not; with more than 16 pairs once only, from the last stop where one may board to the first
// after it where one may alight.
func TestARunIsListedForEachPairOfStops(t *testing.T) {
	feed := func(boarding, alighting int) files {
		f := plain()
		f["stops.txt"] = "stop_id,stop_name,stop_lat,stop_lon\n"
		f["stop_times.txt"] = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n"
		f["stop_areas.txt"] = "area_id,stop_id\n"
		add := func(area, stop string, longitude int) {
			n := strings.Count(f["stop_times.txt"], "\n")
			f["stops.txt"] += fmt.Sprintf("%s,%s,50,%d.%02d\n", stop, stop, longitude, n)
			f["stop_times.txt"] += fmt.Sprintf("t,8:%02[1]d:00,8:%02[1]d:00,%[2]s,%[1]d\n", n, stop)
			f["stop_areas.txt"] += fmt.Sprintf("%s,%s\n", area, stop)
		}
		for i := range boarding {
			add("x", fmt.Sprint("a", i+1), 30)
		}
		for i := range alighting {
			add("y", fmt.Sprint("b", i+1), 31)
		}
		return f.with("areas.txt", "area_id,area_name\nx,Xray\ny,Yankee\n")
	}
	for _, c := range []struct {
		boarding, alighting, want int
		last                      [2]string
	}{
		{1, 1, 1, [2]string{"a1", "b1"}},
		{2, 2, 4, [2]string{"a2", "b2"}},
		{4, 4, 16, [2]string{"a4", "b4"}},
		{16, 1, 16, [2]string{"a16", "b1"}},
		{17, 1, 1, [2]string{"a17", "b1"}},
		{1, 17, 1, [2]string{"a1", "b1"}},
		{5, 4, 1, [2]string{"a5", "b1"}},
	} {
		list := clean(t, feed(c.boarding, c.alighting)).rides(t, "xray", "yankee")
		if len(list) != c.want || list[len(list)-1] != c.last {
			t.Errorf("%d stops and %d: %d rows, want %d; the last is %q, want %q", c.boarding, c.alighting,
				len(list), c.want, list[len(list)-1], c.last)
		}
	}
	names := plain()
	names["stops.txt"] = "stop_id,stop_name,stop_lat,stop_lon\n" +
		"a1,Alfa,50,30\na2,Alfa,50,30.01\nb1,Bravo,50,31\nb2,Bravo,50,31.01\n"
	names["stop_times.txt"] = "trip_id,arrival_time,departure_time,stop_id,stop_sequence\n" +
		"t,8:00:00,8:00:00,a1,1\nt,9:00:00,9:00:00,a2,2\nt,10:00:00,10:00:00,b1,3\nt,11:00:00,11:00:00,b2,4\n"
	if list := clean(t, names).rides(t, "alfa", "bravo"); len(list) != 4 {
		t.Errorf("%d rows between stops of two names, want 4: %q", len(list), list)
	}
}
