package schedule_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	_ "time/tzdata"

	"waybill/schedule"
	"waybill/schedule/gtfs"
)

func day(t testing.TB, s string) schedule.Day {
	t.Helper()
	d, err := schedule.ParseDay(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func timetable(t testing.TB, tables *schedule.Tables) *schedule.Timetable {
	t.Helper()
	tt, err := schedule.New(tables)
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

// daily runs on each of n days.
func daily(first schedule.Day, n int) schedule.Service {
	s := schedule.Service{ID: "daily", First: first, Bits: make([]uint64, (n+63)/64)}
	for i := range n {
		s.Bits[i/64] |= 1 << (i % 64)
	}
	return s
}

// demo imports the demo network.
func demo(t testing.TB) *schedule.Tables {
	t.Helper()
	feed, _, err := gtfs.Read(os.DirFS("../testdata/demo"),
		gtfs.Options{Skip: func(file string, line int, reason string) {
			t.Errorf("%s:%d: %s", file, line, reason)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return feed.Tables(new(schedule.Tables))
}

// rideOn returns the ride of a trip between two positions on a day.
func rideOn(tt *schedule.Timetable, trip int32, on schedule.Day, from, to int16) *schedule.Leg {
	l := &schedule.Leg{Trip: trip, Day: on, From: from, To: to}
	times := tt.Times[tt.Trips[trip].Times]
	start := tt.Start(l) + int64(tt.Trips[trip].Shift)
	l.Dep = start + int64(times[2*from+1])
	l.Arr = start + int64(times[2*to])
	return l
}

// network is a timetable of two companies with two routes each; every route has one trip a day over the stops
// of three cities.
func network(t testing.TB) *schedule.Tables {
	x := &schedule.Tables{Services: []schedule.Service{daily(day(t, "2026-01-01"), 365)}}
	for i, name := range []string{"Kyiv", "London", "Kolkata"} {
		x.Cities = append(x.Cities, schedule.City{
			ID:   fmt.Sprint(i),
			Name: name,
			Slug: fmt.Sprint(i),
			Zone: "UTC",
		})
		x.Stops = append(x.Stops, schedule.Stop{ID: fmt.Sprint(i), City: int32(i)})
	}
	x.Times = []schedule.Times{{3600, 3600, 7200, 7200, 10800, 10800}}
	for i := range int32(2) {
		x.Companies = append(x.Companies, schedule.Company{
			ID:     fmt.Sprint("co", i),
			Source: schedule.OwnSource,
			Zone:   "UTC",
		})
	}
	for i := range int32(4) {
		x.Routes = append(x.Routes, schedule.Route{
			ID:      fmt.Sprint("r", i),
			Company: i / 2,
			Name:    fmt.Sprint("Line ", i),
		})
		x.Patterns = append(x.Patterns, schedule.Pattern{Route: i, Stops: []int32{0, 1, 2}})
		x.Trips = append(x.Trips, schedule.Trip{ID: fmt.Sprint("t", i), Pattern: i, Bus: -1})
	}
	return x
}

// TestDerived: what is made of the tables is made once, whoever asks first, and whatever is changed of runs.
func TestDerived(t *testing.T) {
	tt := timetable(t, network(t))
	changes := map[schedule.RunKey]schedule.Change{
		{Trip: schedule.KeyOf("t0"), Day: day(t, "2026-06-01")}: {Canceled: true},
	}
	var made atomic.Int32
	build := func() any {
		return made.Add(1)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, x := range []*schedule.Timetable{tt, tt.With(changes), tt.With(changes).With(nil)} {
				if got := x.Derived(build); got != int32(1) {
					t.Errorf("it is %v, want the first", got)
				}
			}
		})
	}
	all.Wait()
	if timetable(t, network(t)).Derived(build) != int32(2) {
		t.Error("other tables share what is made of these")
	}
}

// TestPercent rounds half up, whatever the amount.
func TestPercent(t *testing.T) {
	for _, c := range []struct{ amount, hundredths, want int64 }{
		{0, 5000, 0}, {100, 0, 0}, {100, 10000, 100}, {1, 5000, 1}, {1, 4999, 0}, {3, 5000, 2}, {10050, 1000,
			1005}, {10055, 1000, 1006}, {10054, 1000, 1005}, {999, 3333, 333},
		// what binary fractions make too little of: exactly half is rounded up
		{1005, 5000, 503}, {500, 2550, 128}, {13500, 2550, 3443}, {99_999_999_999_999, 10000, 99_999_999_999_999},
	} {
		if got := schedule.Percent(c.amount, c.hundredths); got != c.want {
			t.Errorf("%d hundredths of a per cent of %d: %d, want %d", c.hundredths, c.amount, got, c.want)
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 1000 {
		amount := r.Int64N(100_000_000_000_000)
		percent := r.Int64N(10001)
		exact := new(big.Rat).SetFrac(new(big.Int).Mul(big.NewInt(amount), big.NewInt(percent)),
			big.NewInt(10000))
		exact.Add(exact, big.NewRat(1, 2))
		want := new(big.Int).Div(exact.Num(), exact.Denom()).Int64()
		if schedule.Percent(amount, percent) != want {
			t.Errorf("%d hundredths of a per cent of %d: %d, want %d", percent, amount,
				schedule.Percent(amount, percent), want)
		}
	}
}

// TestRefundRules: a route's own rules replace those of its company; the longest time first.
func TestRefundRules(t *testing.T) {
	rule := func(id string, company, route, hours int32) schedule.RefundRule {
		return schedule.RefundRule{
			ID:      id,
			Company: company,
			Route:   route,
			Hours:   hours,
			Percent: int64(hours),
		}
	}
	tables := network(t)
	tables.RefundRules = []schedule.RefundRule{rule("a2", 0, -1, 2), rule("a24", 0, -1, 24),
		rule("r1", 0, 1, 5), rule("r1+", -1, 1, 50), rule("b2", 1, -1, 2), rule("b2+", 1, -1, 2),
		rule("r3", -1, 3, 0)}
	tt := timetable(t, tables)
	for trip, want := range [][]string{{"a24", "a2"}, {"r1+", "r1"}, {"b2", "b2+"}, {"r3"}} {
		var got []string
		for _, r := range tt.Form(int32(trip)).Rules {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("trip %d: %q, want %q", trip, got, want)
		}
	}
	if rules := timetable(t, network(t)).Form(0).Rules; len(rules) != 0 {
		t.Errorf("rules where there are none: %+v", rules)
	}
}

// TestRouteNames derives a name where there is none, from the cities of the trip.
func TestRouteNames(t *testing.T) {
	tables := network(t)
	tables.Cities[0].Names = schedule.Names{schedule.UK: "Київ", schedule.PL: "Kijów"}
	tables.Cities[2].Names = schedule.Names{schedule.UK: "Калькутта"}
	tables.Routes[0].Name = ""
	tables.Routes[1].Names = schedule.Names{schedule.RU: "Линия 1"}
	tables.Patterns[0].NoDropOff = []int16{2}
	tables.Patterns = append(tables.Patterns, schedule.Pattern{Route: 0, Stops: []int32{2, 1}})
	tables.Times = append(tables.Times, schedule.Times{0, 0, 60, 60})
	tables.Trips = append(tables.Trips, schedule.Trip{ID: "back", Pattern: 4, Times: 1, Bus: -1})
	tt := timetable(t, tables)
	for _, c := range []struct {
		trip int32
		lang schedule.Language
		want string
	}{
		{0, schedule.Untranslated, "Kyiv – Kolkata"},
		{0, schedule.UK, "Київ – Калькутта"},
		{0, schedule.PL, "Kijów – Kolkata"},
		{0, schedule.EN, "Kyiv – Kolkata"},
		{4, schedule.UK, "Калькутта – London"},
		{1, schedule.RU, "Линия 1"},
		{1, schedule.UK, "Line 1"},
		{2, schedule.RU, "Line 2"},
	} {
		if got := tt.RouteName(c.trip, c.lang); got != c.want {
			t.Errorf("trip %d in language %d: %q, want %q", c.trip, c.lang, got, c.want)
		}
	}
	if f := tt.Form(0); f.Route.Name != "Kyiv – Kolkata" || !reflect.ValueOf(f.Route.Names).IsZero() {
		t.Errorf("the route of a form is %q, %q", f.Route.Name, f.Route.Names)
	}
}
