package journey_test

import (
	"fmt"
	"testing"

	"waybill/schedule"
	"waybill/schedule/journey"
)

// grid is a timetable of 40 cities, each with a ride to every other one twice an
// hour by way of a hub, and one direct ride a day.
func grid(b *testing.B) journey.Finder {
	const cities, hubs = 40, 4
	x := &schedule.Tables{
		Companies: []schedule.Company{{ID: "co", Source: schedule.OwnSource, Zone: "Europe/Kyiv"}},
		Services:  []schedule.Service{daily(day(b, "2026-01-01"), 730)},
	}
	for i := range cities {
		x.Cities = append(x.Cities, schedule.City{
			ID:   fmt.Sprint(i),
			Name: fmt.Sprint("City ", i),
			Slug: fmt.Sprint(i),
			Zone: "Europe/Kyiv",
		})
		x.Stops = append(x.Stops, schedule.Stop{ID: fmt.Sprint(i), City: int32(i)})
	}
	add := func(every, minutes int32, stops ...int32) {
		p := int32(len(x.Patterns))
		x.Routes = append(x.Routes, schedule.Route{ID: fmt.Sprint(p), Name: fmt.Sprint("Line ", p%7)})
		x.Patterns = append(x.Patterns, schedule.Pattern{Route: p, Stops: stops})
		var times schedule.Times
		for i := range stops {
			times = append(times, int32(i)*minutes*60, int32(i)*minutes*60)
		}
		x.Times = append(x.Times, times)
		for at := p % every; at < 1440; at += every {
			x.Trips = append(x.Trips, schedule.Trip{
				ID:      fmt.Sprint(p, "-", at),
				Pattern: p,
				Times:   int32(len(x.Times) - 1),
				Shift:   at * 60,
				Bus:     -1,
			})
		}
	}
	for i := int32(hubs); i < cities; i++ {
		for hub := range int32(hubs) {
			add(60, 90+i, i, hub, (hub+1)%hubs)
			add(60, 90+i, (hub+1)%hubs, hub, i)
		}
		add(1440, 400, i, (i+7)%cities)
	}
	return finder(b, x)
}

func BenchmarkSearch(b *testing.B) {
	tt := grid(b)
	for _, c := range []struct {
		name     string
		from, to int32
		days     int
		changes  int
	}{{"direct", 10, 1, 1, 0}, {"direct-14-days", 10, 1, 14, 0}, {"change", 10, 25, 1, 1},
		{"change-14-days", 10, 25, 14, 1}, {"none", 10, 10, 14, 1}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			q := &journey.Query{
				From:    c.from,
				To:      c.to,
				First:   day(b, "2026-06-01"),
				Days:    c.days,
				Changes: c.changes,
			}
			found := 0
			for b.Loop() {
				found = len(tt.Search(q))
			}
			b.ReportMetric(float64(found), "journeys")
		})
	}
}

// BenchmarkSearchDemo goes through all pairs of cities of the demo network.
func BenchmarkSearchDemo(b *testing.B) {
	tables := demo(b)
	tt := finder(b, tables)
	n := int32(len(tables.Cities))
	for _, changes := range []int{0, 1} {
		b.Run(fmt.Sprint(changes, "-changes"), func(b *testing.B) {
			b.ReportAllocs()
			i := int32(0)
			for b.Loop() {
				i++
				tt.Search(&journey.Query{
					From:    i % n,
					To:      i / n % n,
					First:   day(b, "2026-06-01"),
					Days:    1,
					Changes: changes,
				})
			}
		})
	}
}
