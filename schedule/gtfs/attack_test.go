package gtfs_test

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"waybill/schedule"
	"waybill/schedule/gtfs"
)

// cost returns how often and how much an import allocates. Unlike time, that is
// the same on every machine.
func cost(t *testing.T, f files) (mallocs, bytes uint64) {
	t.Helper()
	feed := f.fs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	tables, _, err := gtfs.Import(feed, gtfs.Options{Skip: func(string, int, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schedule.New(tables); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs, after.TotalAlloc - before.TotalAlloc
}

// rows writes n rows.
func rows(n int, row func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(row(i) + "\n")
	}
	return b.String()
}

// TestSameNames imports many things of one name without going through all of them for each.
func TestSameNames(t *testing.T) {
	const n = 3000
	for name, f := range map[string]files{
		"routes": plain().plus("routes.txt", rows(n, func(i int) string { return fmt.Sprintf("r%d,ag,,Same,3", i) })),
		"agencies": plain().plus("agency.txt", rows(n, func(i int) string {
			return fmt.Sprintf("a%d,Same,https://x.example,Europe/Kyiv", i)
		})),
		"areas": plain().with("areas.txt", "area_id,area_name\n"+rows(n, func(i int) string { return fmt.Sprintf("a%d,Same", i) })),
		"given": plain().with("areas.txt", "area_id,area_name,waybill_slug\n"+rows(n, func(i int) string {
			return fmt.Sprintf("a%d,N%d,same", i, i)
		})),
	} {
		if mallocs, _ := cost(t, f); mallocs > 300*n {
			t.Errorf("%d %s of the same name: %d allocations, %d each", n, name, mallocs, mallocs/n)
		}
	}
}

// TestCenturies imports calendars of many years in memory that goes with the text.
func TestCenturies(t *testing.T) {
	const n = 300
	for name, row := range map[string]string{
		"services":            "s%d,1,1,1,1,1,1,1,00010101,99991231",
		"rows of one service": "s,1,1,1,1,1,1,%d,00010101,99991231",
	} {
		f := plain().plus("calendar.txt", rows(n, func(i int) string { return fmt.Sprintf(row, i) }))
		if _, bytes := cost(t, f); bytes > 32<<20 {
			t.Errorf("%d %s, %d bytes of text: %d MiB were needed", n, name, len(f["calendar.txt"]),
				bytes>>20)
		}
	}
}

// TestOneLongRow takes memory that goes with the text for a row of very many cells, whether it is skipped or
// the feed refused.
func TestOneLongRow(t *testing.T) {
	feed := plain().with("transfers.txt", "from_stop_id,to_stop_id\n"+strings.Repeat(",", 1<<20)).fs()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _, err := gtfs.Import(feed, gtfs.Options{Skip: func(string, int, string) {}})
	runtime.ReadMemStats(&after)
	if err != nil {
		refused(t, err, "line 2")
	}
	if bytes := after.TotalAlloc - before.TotalAlloc; bytes > 32<<20 {
		t.Errorf("one row of a million empty cells: %d MiB were needed", bytes>>20)
	}
}

// TestLongTrips makes the timetable of a few trips of the greatest length. The pairs of their stops are what
// takes memory: MaxStops bounds how much of it a row can be the cause of.
func TestLongTrips(t *testing.T) {
	const n = 4
	f := plain().plus("stops.txt", rows(schedule.MaxStops, func(i int) string {
		return fmt.Sprintf("s%d,N%d,50,30", i, i)
	})).
		plus("trips.txt", rows(n, func(i int) string { return fmt.Sprintf("r,daily,t%d", i) })).
		plus("stop_times.txt", rows(n*schedule.MaxStops, func(i int) string {
			trip := i / schedule.MaxStops
			at := i % schedule.MaxStops
			return fmt.Sprintf("t%d,08:00:00,08:00:00,s%d,%d", trip, (at+trip)%schedule.MaxStops, at)
		}))
	text := len(f["stops.txt"]) + len(f["stop_times.txt"])
	if _, bytes := cost(t, f); bytes > uint64(1000*text) {
		t.Errorf("%d trips, %d KiB of text: %d MiB were needed", n, text>>10, bytes>>20)
	}
}

// TestManyRules: rules of an agency are not kept for each of its routes anew.
func TestManyRules(t *testing.T) {
	const n = 1000
	f := plain().plus("routes.txt", rows(n, func(i int) string {
		return fmt.Sprintf("r%d,ag,,N%d,3", i, i)
	})).
		with("waybill_refund_rules.txt", "rule_id,agency_id,hours,amount\n"+rows(n, func(i int) string {
			return fmt.Sprintf("x%d,ag,%d,50", i, i)
		}))
	if _, bytes := cost(t, f); bytes > 32<<20 {
		t.Errorf("%d rules of an agency with %d routes: %d MiB were needed", n, n, bytes>>20)
	}
}

// TestHeadways: a headway is a number of seconds however large it is.
func TestHeadways(t *testing.T) {
	// Each of these is another number when only its last 32 bits are taken. Multiples of 2^32 are left out:
	// with them an importer that does so would never end.
	for _, headway := range []int{math.MaxInt32 + 1 + 1800, math.MaxUint32 + 1 + 3600,
		math.MaxUint32 + 1 + 600, math.MaxInt64 - math.MaxUint32 + 3600} {
		x := load(t, plain().with("frequencies.txt", fmt.Sprintf("trip_id,start_time,end_time,headway_secs\n"+
			"t,10:00:00,10:59:00,%d\n", headway)).fs(), gtfs.Options{})
		if len(x.skipped) > 0 {
			continue // that is as good
		}
		sameLines(t, fmt.Sprint(headway), x.departures(t, "alfa", "charlie", "2026-06-01", 1),
			[]string{"t~100000 2026-06-01T10:00:00+03:00 01T12:00:00+03:00"})
		if len(x.Trips) != 1 {
			t.Errorf("headway %d: %d trips, want 1", headway, len(x.Trips))
		}
	}
	x := load(t, plain().with("frequencies.txt", "trip_id,start_time,end_time,headway_secs\n"+
		"t,0:00:00,0:00:10,1\n").fs(), gtfs.Options{})
	if len(x.Trips) != 10 {
		t.Errorf("headway 1 for ten seconds: %d trips, want 10", len(x.Trips))
	}
	// 500,000 departures of a whole feed are the limit, not of a row.
	skipped := 0
	tables, _, err := gtfs.Import(plain().with("frequencies.txt",
		"trip_id,start_time,end_time,headway_secs\n"+
			"t,0:00:00,70:00:00,1\n"+
			"t,70:00:00,139:00:00,1\n").fs(),
		gtfs.Options{Skip: func(string, int, string) { skipped++ }})
	if err != nil || len(tables.Trips) > 500_000 || skipped == 0 {
		t.Errorf("%d trips, %d rows skipped (%v), want at most 500,000 and some", len(tables.Trips), skipped,
			err)
	}
}

// TestLocalZone: Local is no time zone; it is another one on every machine.
func TestLocalZone(t *testing.T) {
	f := plain().plus("agency.txt", "lo,Local Lines,https://lo.example,Local").plus("routes.txt",
		"q,lo,8,Local Line,3")
	tables, _, err := gtfs.Import(f.fs(), gtfs.Options{Skip: func(string, int, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := schedule.New(tables); err != nil {
		t.Errorf("what Import gave is no timetable: %v", err)
	}
}
