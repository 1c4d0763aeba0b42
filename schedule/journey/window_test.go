package journey_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/journey"
)

// TestWindowIsUnionOfDays: what a window of 14 days finds is what its days find, one after the other.
func TestWindowIsUnionOfDays(t *testing.T) {
	found := 0
	check := func(t *testing.T, tt journey.Finder, q journey.Query) {
		t.Helper()
		q.Days = 14
		whole := tt.Search(&q)
		found += len(whole)
		var union []journey.Journey
		for i := range schedule.Day(14) {
			one := q
			one.First = q.First + i
			one.Days = 1
			union = append(union, tt.Search(&one)...)
		}
		if !slices.EqualFunc(whole, union, slices.Equal[journey.Journey]) {
			t.Errorf("%d to %d from %s: 14 days find %d journeys, the single days %d", q.From, q.To, q.First,
				len(whole), len(union))
		}
	}
	for seed := range uint64(100) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 14))
			first := day(t, "2026-03-22")
			tables := randomTables(r, first)
			tt := finder(t, tables)
			a := newAtlas(t, tables, first-9, first+30, nil)
			for range 4 {
				q := journey.Query{
					From:    int32(r.IntN(len(tables.Cities))),
					To:      int32(r.IntN(len(tables.Cities))),
					First:   first,
					Changes: 1,
				}
				if r.IntN(2) == 0 {
					q.Full = a.someFull(r)
				}
				if r.IntN(4) == 0 {
					q.After = int64(first+5)*86400 + 12345
				}
				check(t, tt, q)
			}
		})
	}
	tt := finder(t, demo(t))
	for from := range tt.Cities {
		for to := range tt.Cities {
			if (from+to)%7 == 0 {
				check(t, tt, journey.Query{
					From:    int32(from),
					To:      int32(to),
					First:   day(t, "2026-10-18"),
					Changes: 1,
				})
			}
		}
	}
	if found < 5000 {
		t.Errorf("only %d journeys were compared", found)
	}
}

// line is a trip for a timetable of a test: its id and times at the stops it calls at, each as "city 08:30".
type line struct {
	id    string
	calls []call
	co    int32 // company
	route string
}

type call struct {
	stop int32
	at   int // minutes of the day
}

// lines makes a timetable of trips that run every day in June 2026, in UTC. A
// city's two stops are 2c and 2c+1; companies 0 and 1 sell as the service, 2 as another source.
func lines(t testing.TB, list ...line) *schedule.Tables {
	x := &schedule.Tables{Services: []schedule.Service{daily(day(t, "2026-06-01"), 30)}}
	for i, source := range []string{schedule.OwnSource, schedule.OwnSource, "Elsewhere"} {
		x.Companies = append(x.Companies, schedule.Company{ID: fmt.Sprint(i), Source: source, Zone: "UTC"})
	}
	for i := range 4 {
		x.Cities = append(x.Cities, schedule.City{
			ID:   fmt.Sprint(i),
			Name: fmt.Sprint("City ", i),
			Slug: fmt.Sprint("city-", i),
			Zone: "UTC",
		})
		for k := range 2 {
			x.Stops = append(x.Stops, schedule.Stop{
				ID:     fmt.Sprint("s", 2*i+k),
				City:   int32(i),
				Parent: fmt.Sprint("p", i),
			})
		}
	}
	for i, l := range list {
		x.Routes = append(x.Routes, schedule.Route{ID: fmt.Sprint("r", i), Company: l.co, Name: l.route})
		p := schedule.Pattern{Route: int32(i)}
		times := schedule.Times{}
		for _, c := range l.calls {
			p.Stops = append(p.Stops, c.stop)
			times = append(times, int32(c.at*60), int32(c.at*60))
		}
		x.Patterns, x.Times = append(x.Patterns, p), append(x.Times, times)
		x.Trips = append(x.Trips, schedule.Trip{ID: l.id, Pattern: int32(i), Times: int32(i), Bus: -1})
	}
	return x
}

// TestChanges shows the rules for a journey with a change, each at its limit.
func TestChanges(t *testing.T) {
	ride := func(id string, from int32, dep int, to int32, arr int) line {
		return line{id: id, calls: []call{{from, dep}, {to, arr}}, route: "R"}
	}
	of := func(co int32, l line) line { l.co = co; return l }
	first := ride("a", 0, 480, 2, 600) // City 0 at 08:00, City 1 at 10:00
	then := ride("b", 2, 630, 4, 700)
	run := func(calls ...call) line { return line{id: "a", calls: calls, route: "R"} }
	same := func(route string) line { return line{id: "A", calls: first.calls, route: route} }
	waits := func(from, to string, seconds int32) schedule.Transfer {
		return schedule.Transfer{From: from, To: to, Seconds: seconds}
	}
	never := schedule.Transfer{From: "s2", To: "p1", Forbidden: true}
	type transfers = []schedule.Transfer
	for name, c := range map[string]struct {
		lines     []line
		transfers transfers
		want      []string
	}{
		"30 minutes":               {[]line{first, then}, nil, []string{"a b"}},
		"29 minutes":               {[]line{first, ride("b", 2, 629, 4, 700)}, nil, nil},
		"8 hours":                  {[]line{first, ride("b", 2, 1080, 4, 1100)}, nil, []string{"a b"}},
		"over 8 hours":             {[]line{first, ride("b", 2, 1081, 4, 1100)}, nil, nil},
		"another stop of the city": {[]line{first, ride("b", 3, 630, 4, 700)}, nil, []string{"a b"}},

		// transfers.txt says how long a change takes.
		"a shorter time is enough": {[]line{first, ride("b", 2, 605, 4, 700)},
			transfers{waits("s2", "s2", 300)}, []string{"a b"}},
		"a longer time is needed": {[]line{first, ride("b", 3, 644, 4, 700)},
			transfers{waits("s2", "s3", 2700)}, nil},
		"the other way round": {[]line{first, ride("b", 3, 630, 4, 700)},
			transfers{waits("s3", "s2", 2700)}, []string{"a b"}},
		"a time for the station": {[]line{first, ride("b", 3, 610, 4, 700)},
			transfers{waits("p1", "p1", 600)}, []string{"a b"}},
		"a time for the stops is first": {[]line{first, ride("b", 3, 610, 4, 700)},
			transfers{waits("p1", "p1", 600), waits("s2", "s3", 900)}, nil},
		"forbidden": {[]line{first, ride("b", 3, 700, 4, 710)},
			transfers{never}, nil},
		"no time at all": {[]line{first, ride("b", 2, 600, 4, 700)},
			transfers{waits("s2", "s2", 0)}, []string{"a b"}},
		"over 8 hours by transfers.txt": {[]line{first, ride("b", 2, 1081, 4, 1100)},
			transfers{waits("s2", "s2", 9*3600)}, nil},

		"two companies of one source": {[]line{first, of(1, then)}, nil, []string{"a b"}},
		"two sources":                 {[]line{first, of(2, then)}, nil, nil},
		"another source twice":        {[]line{of(2, first), of(2, then)}, nil, []string{"a b"}},
		"another city":                {[]line{first, ride("b", 6, 630, 4, 700)}, nil, nil},
		"the same run":                {[]line{run(call{0, 480}, call{2, 540}, call{3, 600}, call{4, 700})}, nil, []string{"a"}},
		"the same trip on the next day": {[]line{run(call{2, 60}, call{4, 120}, call{0, 480}, call{3, 1380})},
			nil, []string{"a a"}},

		// A journey that leaves later and arrives no later makes another superfluous.
		"a direct ride as good":        {[]line{first, then, ride("d", 0, 480, 4, 700)}, nil, []string{"d"}},
		"a direct ride leaves later":   {[]line{first, then, ride("d", 0, 500, 4, 700)}, nil, []string{"d"}},
		"a direct ride leaves earlier": {[]line{first, then, ride("d", 0, 479, 4, 700)}, nil, []string{"d", "a b"}},
		"a direct ride arrives later":  {[]line{first, then, ride("d", 0, 500, 4, 701)}, nil, []string{"a b", "d"}},
		"a slower direct ride stays":   {[]line{first, then, ride("d", 0, 400, 4, 1400)}, nil, []string{"d", "a b"}},
		"equal: the first route name":  {[]line{first, then, same("Q")}, nil, []string{"A b"}},
		"equal: the first trip id":     {[]line{first, then, same("R")}, nil, []string{"A b"}},
		"a later first leg":            {[]line{first, then, ride("a2", 0, 490, 2, 600)}, nil, []string{"a2 b"}},
		"an earlier second leg":        {[]line{first, then, ride("b2", 2, 640, 4, 690)}, nil, []string{"a b2"}},
		"two legs, each its own time": {[]line{first, then, ride("a2", 0, 500, 2, 620), ride("b2", 2, 650, 4, 710)},
			nil, []string{"a b", "a2 b2"}},
		// What arrives within no time at all, after all else has arrived.
		"the next day": {[]line{first, ride("b", 2, 960, 4, 1500), ride("d", 0, 1500-1440, 4, 1500-1440)},
			nil, []string{"d"}},
	} {
		t.Run(name, func(t *testing.T) {
			tables := lines(t, c.lines...)
			tables.Transfers = c.transfers
			tt := finder(t, tables)
			for _, q := range []journey.Query{{
				From:    0,
				To:      2,
				First:   day(t, "2026-06-10"),
				Days:    1,
				Changes: 1,
			}, {From: 0, To: 2, First: day(t, "2026-06-10"), Days: 1}} {
				var got, want []string
				for _, j := range tt.Search(&q) {
					id := tt.Trips[j[0].Trip].ID
					if len(j) == 2 {
						id += " " + tt.Trips[j[1].Trip].ID
					}
					got = append(got, id)
				}
				for _, w := range c.want {
					if q.Changes > 0 || !slices.Contains([]rune(w), ' ') {
						want = append(want, w)
					}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%d changes: %q, want %q", q.Changes, got, want)
				}
			}
		})
	}
}

// TestMidnight: a departure belongs to the calendar day of its city, also where
// clocks go forward or back at midnight.
func TestMidnight(t *testing.T) {
	for _, c := range []struct{ zone, day string }{
		{"Europe/Kyiv", "2026-03-29"},
		{"Europe/Kyiv", "2026-10-25"},
		{"Africa/Cairo", "2026-04-24"},
		{"Africa/Cairo", "2026-10-30"},
		{"Asia/Beirut", "2026-03-29"},
		{"Asia/Beirut", "2026-10-25"},
		{"Atlantic/Azores", "2026-03-29"},
		{"Atlantic/Azores", "2026-10-25"},
		{"America/Havana", "2026-03-08"},
		{"America/Havana", "2026-11-01"},
		{"America/Santiago", "2026-09-06"},
	} {
		t.Run(c.zone+" "+c.day, func(t *testing.T) {
			d := day(t, c.day)
			tables := lines(t)
			tables.Services = []schedule.Service{daily(d-9, 20)}
			tables.Cities[0].Zone = c.zone
			tables.Routes = []schedule.Route{{ID: "r", Name: "R"}}
			tables.Patterns = []schedule.Pattern{{Stops: []int32{0, 2}}}
			for i := range int32(48) { // every half hour
				tables.Times = append(tables.Times,
					schedule.Times{i * 1800, i * 1800, i*1800 + 60, i*1800 + 60})
				tables.Trips = append(tables.Trips, schedule.Trip{ID: fmt.Sprint(i), Times: i, Bus: -1})
			}
			tt := finder(t, tables)
			total := 0
			for i := range schedule.Day(5) {
				d := d - 2 + i
				for _, j := range tt.Search(&journey.Query{From: 0, To: 1, First: d, Days: 1}) {
					total++
					local := time.Unix(j.Dep(), 0).In(tt.CityZone(0))
					if local.Format(time.DateOnly) != d.String() {
						t.Errorf("on %s: a departure at %s", d, local)
					}
				}
				start := d.In(tt.CityZone(0))
				if start.Format(time.DateOnly) != d.String() ||
					start.Add(-time.Second).Format(time.DateOnly) == d.String() {
					t.Errorf("%s starts at %s", d, start)
				}
			}
			if total < 238 || total > 242 {
				t.Errorf("%d departures in five days", total)
			}
		})
	}
}
