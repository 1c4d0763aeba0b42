package journey_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/gtfs"
	"waybill/schedule/journey"
)

// ride is what one can book for one leg, worked out from the tables alone.
type ride struct {
	schedule.Leg
	from, to schedule.Stop
	company  int32
	route    string // its name
	trip     string // its id
	unlisted bool   // only a change makes it of use
}

// trek is a journey of one or two rides.
type trek []ride

func (k trek) dep() int64 { return k[0].Dep }
func (k trek) arr() int64 { return k[len(k)-1].Arr }

// shown is the order of decision search.order: departure, arrival, route name, trip id.
func shown(a, b trek) int {
	return cmp.Or(cmp.Compare(a.dep(), b.dep()), cmp.Compare(a.arr(), b.arr()),
		cmp.Compare(a[0].route, b[0].route), cmp.Compare(a[0].trip, b[0].trip))
}

// key names what the order of decision search.order can tell apart, and how many legs there are.
func (k trek) key() string {
	return fmt.Sprint(k.dep(), " ", k.arr(), " ", k[0].route, " ", k[0].trip, " ", len(k))
}

// changed is what carriers have changed of runs.
type changed map[schedule.RunKey]schedule.Change

// someChanged cancels some runs of a range of days, and moves others, by up to twelve hours.
func someChanged(r *rand.Rand, x *schedule.Tables, first, last schedule.Day) changed {
	list := changed{}
	for d := first; d <= last; d++ {
		for _, trip := range x.Trips {
			key := schedule.RunKey{Trip: schedule.KeyOf(trip.ID), Day: d}
			switch r.IntN(6) {
			case 0:
				list[key] = schedule.Change{Canceled: true}
			case 1:
				list[key] = schedule.Change{Shift: int32(r.IntN(1441)-720) * 60}
			}
		}
	}
	return list
}

// atlas is every ride there is on service days of a range.
type atlas struct {
	tables *schedule.Tables
	rides  map[[2]int32][]ride // by city pair
	onward map[int32][]int32   // by city: where one can go from it
	waits  map[[2]string]schedule.Transfer
}

func newAtlas(t testing.TB, x *schedule.Tables, first, last schedule.Day, changes changed) *atlas {
	a := &atlas{
		tables: x,
		rides:  map[[2]int32][]ride{},
		onward: map[int32][]int32{},
		waits:  map[[2]string]schedule.Transfer{},
	}
	for _, w := range x.Transfers {
		a.waits[[2]string{w.From, w.To}] = w
	}
	for i, trip := range x.Trips {
		p := x.Patterns[trip.Pattern]
		route := x.Routes[p.Route]
		name := route.Name
		if name == "" {
			name = x.Cities[x.Stops[p.Stops[0]].City].Name + " – " +
				x.Cities[x.Stops[p.Stops[len(p.Stops)-1]].City].Name
		}
		zone, err := time.LoadLocation(x.Companies[route.Company].Zone)
		if err != nil {
			t.Fatal(err)
		}
		for d := first; d <= last; d++ {
			s := x.Services[trip.Service]
			if d < s.First || int(d-s.First) >= 64*len(s.Bits) ||
				s.Bits[(d-s.First)/64]>>((d-s.First)%64)&1 == 0 {
				continue
			}
			change := changes[schedule.RunKey{Trip: schedule.KeyOf(trip.ID), Day: d}]
			if change.Canceled {
				continue
			}
			noon := time.Unix(int64(d)*86400, 0).UTC()
			start := time.Date(noon.Year(), noon.Month(), noon.Day(), 12, 0, 0, 0,
				zone).Unix() - 12*3600 + int64(trip.Shift) + int64(change.Shift)
			for from := range p.Stops {
				for to := from + 1; to < len(p.Stops); to++ {
					unlisted := !listed(x, &p, from, to)
					b := x.Stops[p.Stops[from]]
					e := x.Stops[p.Stops[to]]
					if b.City == e.City || slices.Contains(p.NoPickup, int16(from)) ||
						slices.Contains(p.NoDropOff, int16(to)) {
						continue
					}
					times := x.Times[trip.Times]
					l := schedule.Leg{
						Trip: int32(i),
						Day:  d,
						From: int16(from),
						To:   int16(to),
						Dep:  start + int64(times[2*from+1]),
						Arr:  start + int64(times[2*to]),
					}
					pair := [2]int32{b.City, e.City}
					if a.rides[pair] == nil {
						a.onward[b.City] = append(a.onward[b.City], e.City)
					}
					a.rides[pair] = append(a.rides[pair],
						ride{l, b, e, route.Company, name, trip.ID, unlisted})
				}
			}
		}
	}
	return a
}

// listed reports whether a search lists the ride of a pattern: of more than 16 between two cities only the
// one from the last stop where one may board, to the first after it where one may alight.
func listed(x *schedule.Tables, p *schedule.Pattern, from, to int) bool {
	city := func(at int) int32 { return x.Stops[p.Stops[at]].City }
	var rides [][2]int
	for f := range p.Stops {
		for k := f + 1; k < len(p.Stops); k++ {
			if city(f) == city(from) && city(k) == city(to) &&
				!slices.Contains(p.NoPickup, int16(f)) && !slices.Contains(p.NoDropOff, int16(k)) {
				rides = append(rides, [2]int{f, k})
			}
		}
	}
	if len(rides) <= 16 {
		return true
	}
	return !slices.ContainsFunc(rides, func(other [2]int) bool {
		return other[0] > from || other[0] == from && other[1] < to
	})
}

// wait returns how long a change takes, -1 if it cannot be made.
func (a *atlas) wait(from, to schedule.Stop) int64 {
	const kilometresOfLatitude = 6371 * math.Pi / 180 // stops of a city differ in nothing else
	if math.Abs(from.Lat-to.Lat)*kilometresOfLatitude > 5 {
		return -1
	}
	for _, pair := range [][2]string{{from.ID, to.ID}, {from.ID, to.Parent}, {from.Parent, to.ID},
		{from.Parent, to.Parent}} {
		if w, ok := a.waits[pair]; ok && w.Forbidden {
			return -1
		} else if ok {
			return int64(w.Seconds)
		}
	}
	return 30 * 60
}

// treks returns all journeys of a query that leave at or after its start,
// however late and whether or not another makes them pointless.
func (a *atlas) treks(q *journey.Query, start int64) (list []trek) {
	open := func(pair [2]int32, use func(r ride)) {
		for _, r := range a.rides[pair] {
			if r.Dep >= start && !q.Full[r.Leg] && (q.Companies == nil || q.Companies[r.company]) {
				use(r)
			}
		}
	}
	open([2]int32{q.From, q.To}, func(r ride) {
		if !r.unlisted {
			list = append(list, trek{r})
		}
	})
	for _, change := range a.onward[q.From] {
		var second []ride
		if q.Changes > 0 {
			open([2]int32{change, q.To}, func(r ride) { second = append(second, r) })
		}
		if len(second) == 0 {
			continue
		}
		slices.SortFunc(second, func(a, b ride) int { return cmp.Compare(a.Dep, b.Dep) })
		open([2]int32{q.From, change}, func(r ride) {
			i, _ := slices.BinarySearchFunc(second, r.Arr, func(s ride, at int64) int {
				return cmp.Compare(s.Dep, at)
			})
			for _, s := range second[i:] {
				wait := a.wait(r.to, s.from)
				if s.Dep > r.Arr+8*3600 {
					break
				}
				if wait < 0 || s.Dep < r.Arr+wait || r.Run() == s.Run() ||
					a.tables.Companies[r.company].Source != a.tables.Companies[s.company].Source {
					continue
				}
				list = append(list, trek{r, s})
			}
		})
	}
	return list
}

// worthwhile keeps what decision changes.pointless keeps: a journey of two legs is left out if
// another journey with no more legs leaves no earlier and arrives no later, one
// of the two strictly or with fewer legs. Equal ones are all kept.
func worthwhile(list []trek) []trek {
	beats := func(b, a trek) bool {
		return len(b) <= len(a) && b.dep() >= a.dep() && b.arr() <= a.arr() &&
			(b.dep() > a.dep() || b.arr() < a.arr() || len(b) < len(a))
	}
	var kept []trek
	for _, a := range list {
		if len(a) < 2 || !slices.ContainsFunc(list, func(b trek) bool { return beats(b, a) }) {
			kept = append(kept, a)
		}
	}
	return kept
}

// answer returns the keys of the journeys that a query must find, in order, and all that may stand for each.
func (a *atlas) answer(q *journey.Query, zone *time.Location) (keys []string, all []trek) {
	date := time.Unix(int64(q.First)*86400, 0).UTC()
	from := date.Format(time.DateOnly)
	until := date.AddDate(0, 0, q.Days-1).Format(time.DateOnly)
	earliest := max(q.After+1, date.Unix()-15*3600)
	if q.From == q.To {
		return nil, nil
	}
	for _, k := range worthwhile(a.treks(q, earliest)) {
		if local := time.Unix(k.dep(), 0).In(zone).Format(time.DateOnly); from <= local && local <= until {
			all = append(all, k)
		}
	}
	slices.SortStableFunc(all, shown)
	last := map[[2]int64]bool{}
	for _, k := range all {
		// Of equal ones the first by the order stays.
		if at := [2]int64{k.dep(), k.arr()}; len(k) == 1 || !last[at] {
			last[at] = last[at] || len(k) == 2
			keys = append(keys, k.key())
		}
	}
	return keys, all
}

// sameSearch compares one search with the brute force.
func sameSearch(t testing.TB, tt journey.Finder, a *atlas, q *journey.Query) (direct, changing int) {
	t.Helper()
	want, all := a.answer(q, tt.CityZone(q.From))
	var got []string
	for _, j := range tt.Search(q) {
		var k trek
		for _, l := range j {
			k = append(k, ride{
				Leg:   l,
				route: tt.RouteName(l.Trip, schedule.Untranslated),
				trip:  tt.Trips[l.Trip].ID,
			})
		}
		got = append(got, k.key())
		same := func(b trek) bool {
			return slices.EqualFunc(k, b, func(x, y ride) bool { return x.Leg == y.Leg })
		}
		if !slices.ContainsFunc(all, same) {
			t.Errorf("%s is no journey that is worthwhile", k.key())
		}
		direct = direct + 2 - len(k)
		changing = changing + len(k) - 1
	}
	// What the order leaves open may come either way.
	if !slices.Equal(got, want) {
		t.Errorf("search of %d to %d from %s, %d days, after %d, %d full, companies %v:\n got %q\nwant %q",
			q.From, q.To, q.First, q.Days, q.After, len(q.Full), q.Companies, got, want)
	}
	return direct, changing
}

// randomNetwork returns a random timetable around a day: days on which clocks change are among them, and in
// every second one some runs are changed.
func randomNetwork(t *testing.T, r *rand.Rand, seed uint64) (first schedule.Day, tables *schedule.Tables,
	tt journey.Finder, changes changed) {
	first = day(t, []string{"2026-03-27", "2026-10-23", "2026-06-01"}[seed%3])
	tables = randomTables(r, first)
	tt = finder(t, tables)
	if seed%2 == 1 {
		changes = someChanged(r, tables, first-5, first+20)
		tt = journey.On(tt.With(changes))
	}
	return first, tables, tt, changes
}

// TestSearchRandom compares random timetables with the brute force.
func TestSearchRandom(t *testing.T) {
	direct := 0
	changing := 0
	for seed := range sampled(uint64(400)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 6))
			first, tables, tt, changes := randomNetwork(t, r, seed)
			a := newAtlas(t, tables, first-9, first+35, changes)
			for range 4 {
				q := &journey.Query{
					From:    int32(r.IntN(len(tables.Cities))),
					To:      int32(r.IntN(len(tables.Cities))),
					First:   first + schedule.Day(r.IntN(3)),
					Days:    1 + r.IntN(5),
					Changes: r.IntN(5) / 4 * -1,
				}
				q.Changes++
				if r.IntN(3) == 0 {
					q.After = int64(first)*86400 + int64(r.IntN(3*86400))
				}
				if r.IntN(3) == 0 {
					q.Full = a.someFull(r)
				}
				if r.IntN(3) == 0 {
					q.Companies = make([]bool, len(tables.Companies))
					for i := range q.Companies {
						q.Companies[i] = r.IntN(3) > 0
					}
				}
				d, c := sameSearch(t, tt, a, q)
				direct = direct + d
				changing = changing + c
			}
		})
	}
	if direct < sampled(1000) || changing < sampled(500) {
		t.Errorf("only %d journeys of one leg and %d of two were compared", direct, changing)
	}
}

// someFull picks rides that have no seats.
func (a *atlas) someFull(r *rand.Rand) map[schedule.Leg]bool {
	full := map[schedule.Leg]bool{}
	for from := range a.tables.Cities {
		for to := range a.tables.Cities {
			for _, x := range a.rides[[2]int32{int32(from), int32(to)}] {
				if r.IntN(4) == 0 {
					full[x.Leg] = true
				}
			}
		}
	}
	return full
}

// demo imports the demo network.
func demo(t testing.TB) *schedule.Tables {
	t.Helper()
	feed, _, err := gtfs.Read(os.DirFS("../../testdata/demo"),
		gtfs.Options{Skip: func(file string, line int, reason string) {
			t.Errorf("%s:%d: %s", file, line, reason)
		}})
	if err != nil {
		t.Fatal(err)
	}
	return feed.Tables(new(schedule.Tables))
}

// TestSearchDemo compares all pairs of cities of the demo network with the brute force.
func TestSearchDemo(t *testing.T) {
	tables := demo(t)
	first := day(t, "2026-10-24")
	tt := finder(t, tables)
	a := newAtlas(t, tables, first-4, first+9, nil)
	r := rand.New(rand.NewPCG(1, 2))
	full := a.someFull(r)
	direct := 0
	changing := 0
	for from := range tables.Cities {
		for to := range tables.Cities {
			q := &journey.Query{From: int32(from), To: int32(to), First: first, Days: 2, Changes: 1}
			d, c := sameSearch(t, tt, a, q)
			direct = direct + d
			changing = changing + c
			if r.IntN(4) == 0 {
				q.Full = full
				sameSearch(t, tt, a, q)
			}
		}
	}
	if direct < 200 || changing < 200 {
		t.Errorf("only %d journeys of one leg and %d of two were compared", direct, changing)
	}
}

// TestChangesAreShortWalks: a change is offered between stops at most 5 km apart, in whatever direction.
func TestChangesAreShortWalks(t *testing.T) {
	// At 60° north a degree of longitude is 55.6 km long, one of latitude 111.2.
	for _, c := range []struct {
		lat, lon float64
		offered  bool
	}{{60, 30, true}, {60.0449, 30, true}, {60.0451, 30, false}, {60, 30.0898, true}, {60, 30.0901, false},
		{60.035, 30.07, false}} {
		first := day(t, "2026-06-01")
		tables := &schedule.Tables{
			Companies: []schedule.Company{{ID: "c", Source: schedule.OwnSource, Zone: "Europe/Kyiv"}},
			Cities: []schedule.City{
				{ID: "a", Slug: "a", Zone: "Europe/Kyiv"},
				{ID: "b", Slug: "b", Zone: "Europe/Kyiv"},
				{ID: "c", Slug: "c", Zone: "Europe/Kyiv"},
			},
			Stops: []schedule.Stop{
				{ID: "a", City: 0, Lat: 59, Lon: 30}, {ID: "b1", City: 1, Lat: 60, Lon: 30},
				{ID: "b2", City: 1, Lat: c.lat, Lon: c.lon}, {ID: "c", City: 2, Lat: 61, Lon: 30},
			},
			Routes:   []schedule.Route{{ID: "r", Name: "R"}},
			Services: []schedule.Service{daily(first, 7)},
			Patterns: []schedule.Pattern{{Stops: []int32{0, 1}}, {Stops: []int32{2, 3}}},
			Times:    []schedule.Times{{0, 28800, 32400, 32400}, {0, 36000, 39600, 39600}},
			Trips:    []schedule.Trip{{ID: "t", Bus: -1}, {ID: "u", Pattern: 1, Times: 1, Bus: -1}},
		}
		list := finder(t, tables).Search(&journey.Query{
			From:    0,
			To:      2,
			First:   first,
			Days:    1,
			Changes: 1,
		})
		if (len(list) == 1) != c.offered {
			t.Errorf("a change from 60, 30 to %v, %v: %d journeys", c.lat, c.lon, len(list))
		}
	}
}
