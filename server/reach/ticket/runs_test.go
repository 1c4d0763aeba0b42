package ticket

import (
	"os"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/ids"
)

// demoIn returns the demo's timetable with the clocks of its companies in a zone, and each trip some seconds
// later.
func demoIn(t *testing.T, zone string, later int32) *schedule.Timetable {
	t.Helper()
	skip := gtfs.Options{Skip: func(string, int, string) {}}
	feed, _, err := gtfs.Read(os.DirFS("../../../testdata/demo"), skip)
	if err != nil {
		t.Fatal(err)
	}
	tables := feed.Tables(new(schedule.Tables))
	for i := range tables.Companies {
		tables.Companies[i].Zone = zone
	}
	for i := range tables.Trips {
		tables.Trips[i].Shift += later
	}
	tt, err := schedule.New(tables)
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

// Decision ticket.check: a run is found by its hash, wherever its company's clock is, also some days after
// its service day began, moved by up to twelve hours, and where clocks change.
func TestARunIsFoundByItsHash(t *testing.T) {
	for zone, later := range map[string]int32{
		"Europe/Kyiv":        0,
		"Pacific/Kiritimati": 0,
		"Pacific/Pago_Pago":  3 * 86400,
	} {
		tt := demoIn(t, zone, later)
		first, end := tt.ServiceDays()
		days := []schedule.Day{first, 20541, 20751, 20778, end - 1} // 2026-03-29 and 2026-10-25 among them
		found := 0
		for i := range tt.Trips {
			trip := int32(i)
			for _, day := range days {
				if !tt.Scheduled(trip, day) {
					continue
				}
				last := int16(len(tt.StopsOf(trip)) - 1)
				for _, moved := range []time.Duration{0, -12 * time.Hour, 12 * time.Hour} {
					leg := schedule.Leg{Trip: trip, Day: day, From: last - 1, To: last}
					leaves := tt.Start(&leg) + int64(tt.Form(trip).Stops[leg.From].Dep)
					c := Code{
						From:      leg.From,
						To:        leg.To,
						Departure: time.Unix(leaves, 0).Add(moved),
						Run:       RunOf(ids.RunName{Trip: tt.Trips[trip].ID, Day: day}),
					}
					run := NewRuns(tt, nil).find(c)
					if run == nil || run.Form.Trip != tt.Trips[trip].ID || run.Day != day ||
						run.Dep(c.From).Unix() != leaves {
						t.Fatalf("%s on %s, moved by %s: %+v", tt.Trips[trip].ID, day, moved, run)
					}
					found++
				}
			}
		}
		if found < 50 {
			t.Errorf("only %d runs were looked for", found)
		}
	}
}

// A code of stops that its run does not have here, or of a day on which the trip does not run, is of no run,
// also after the run was found.
func TestACodeOfOtherStopsIsOfNoRun(t *testing.T) {
	tt := demoIn(t, "Europe/Kyiv", 0)
	trip, _ := tt.TripByID("kl-0530")
	day, err := schedule.ParseDay("2026-11-25")
	if err != nil {
		t.Fatal(err)
	}
	good := Code{
		To:        3,
		Departure: time.Date(2026, 11, 25, 3, 30, 0, 0, time.UTC),
		Run:       RunOf(ids.RunName{Trip: tt.Trips[trip].ID, Day: day}),
	}
	runs := NewRuns(tt, nil)
	for range 2 {
		for _, c := range []struct{ from, to int16 }{{0, 4}, {3, 3}, {2, 1}, {-1, 2}, {-3, -2}, {4, 32767}} {
			bad := good
			bad.From = c.from
			bad.To = c.to
			if run := runs.find(bad); run != nil {
				t.Errorf("%d to %d is of %+v", c.from, c.to, run)
			}
		}
		if runs.find(good) == nil {
			t.Error("the run is not found")
		}
	}
	sunday := good
	sunday.Departure = time.Date(2026, 11, 29, 3, 30, 0, 0, time.UTC)
	sunday.Run = RunOf(ids.RunName{Trip: "kl-0530", Day: day + 4})
	if run := runs.find(sunday); run != nil {
		t.Errorf("a bus of weekdays runs on a Sunday: %+v", run)
	}
}
