package journey_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	_ "time/tzdata"

	"waybill/schedule"
	"waybill/schedule/journey"
)

var long = flag.Bool("long", false, "try all, and not a third of them")

// sampled returns how many are tried of all that there are: all of them with -long.
func sampled[N int | uint64](all N) N {
	if *long {
		return all
	}
	return all / 3
}

func day(t testing.TB, s string) schedule.Day {
	t.Helper()
	d, err := schedule.ParseDay(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func finder(t testing.TB, tables *schedule.Tables) journey.Finder {
	t.Helper()
	tt, err := schedule.New(tables)
	if err != nil {
		t.Fatal(err)
	}
	return journey.On(tt)
}

// daily runs on each of n days.
func daily(first schedule.Day, n int) schedule.Service {
	s := schedule.Service{ID: "daily", First: first, Bits: make([]uint64, (n+63)/64)}
	for i := range n {
		s.Bits[i/64] |= 1 << (i % 64)
	}
	return s
}

// randomTables makes a small timetable that runs from a week before first, with
// many departures at the same time, changes that are just or not quite
// possible, trips that call twice in a city and trips of several days.
func randomTables(r *rand.Rand, first schedule.Day) *schedule.Tables {
	x := new(schedule.Tables)
	zones := []string{"Europe/Kyiv", "Europe/Warsaw", "Europe/London", "Asia/Kolkata"}
	for i := range 1 + r.IntN(3) {
		x.Companies = append(x.Companies, schedule.Company{
			ID:     fmt.Sprint("co", i),
			Source: []string{schedule.OwnSource, schedule.OwnSource, "Elsewhere"}[r.IntN(3)],
			Zone:   zones[r.IntN(4)],
		})
	}
	cities := 3 + r.IntN(3)
	for i := range cities {
		x.Cities = append(x.Cities, schedule.City{
			ID:   fmt.Sprint("city", i),
			Name: fmt.Sprint("City ", i),
			Slug: fmt.Sprint("city-", i),
			Zone: zones[r.IntN(4)],
			Area: r.IntN(3) == 0,
		})
		x.Stops = append(x.Stops, schedule.Stop{ID: fmt.Sprint("station", i), City: int32(i), Station: true})
		for k := range 1 + r.IntN(2) {
			s := schedule.Stop{
				ID:   fmt.Sprint("stop", i, k),
				City: int32(i),
				Lat:  []float64{0, 0, 0.04, 0.05}[r.IntN(4)],
			}
			if r.IntN(2) == 0 {
				s.Parent = fmt.Sprint("station", i)
			}
			x.Stops = append(x.Stops, s)
		}
	}
	for i := range 2 + r.IntN(4) {
		// Some routes have a name, some of them the same one.
		x.Routes = append(x.Routes, schedule.Route{
			ID:      fmt.Sprint("route", i),
			Company: int32(r.IntN(len(x.Companies))),
			Name:    []string{"", "Line A", "Line B"}[r.IntN(3)],
		})
	}
	for range 3 {
		s := daily(first-7, 40)
		for range r.IntN(20) {
			s.Bits[0] &^= 1 << r.IntN(40)
		}
		x.Services = append(x.Services, s)
	}
	for range 3 + r.IntN(10) {
		randomPattern(r, x)
	}
	randomTransfers(r, x)
	return x
}

func randomPattern(r *rand.Rand, x *schedule.Tables) {
	p := schedule.Pattern{Route: int32(r.IntN(len(x.Routes)))}
	n := 2 + r.IntN(4)
	for i := range n {
		s := int32(r.IntN(len(x.Stops)))
		for i > 0 && s == p.Stops[i-1] {
			s = int32(r.IntN(len(x.Stops)))
		}
		p.Stops = append(p.Stops, s)
		if r.IntN(6) == 0 {
			p.NoPickup = append(p.NoPickup, int16(i))
		}
		if r.IntN(6) == 0 {
			p.NoDropOff = append(p.NoDropOff, int16(i))
		}
	}
	x.Patterns = append(x.Patterns, p)
	step := []int{1, 3, 60}[r.IntN(3)] // in quarters of an hour
	for range 1 + r.IntN(3) {
		at := r.IntN(48) * 1800
		var times schedule.Times
		for range n {
			dep := at + r.IntN(3)/2*900
			times = append(times, int32(at), int32(dep))
			at = dep + r.IntN(1+step)*900 // sometimes no time passes
		}
		x.Times = append(x.Times, times)
		trip := schedule.Trip{
			ID:      fmt.Sprint("trip", r.IntN(1000), "-", len(x.Trips)),
			Pattern: int32(len(x.Patterns) - 1),
			Service: int32(r.IntN(len(x.Services))),
			Times:   int32(len(x.Times) - 1),
			Bus:     -1,
		}
		if r.IntN(4) == 0 {
			trip.Shift = int32(r.IntN(9)-4) * 1800
		}
		x.Trips = append(x.Trips, trip)
	}
}

// randomTransfers lists times for changes between stops, or whole stations, of a city.
func randomTransfers(r *rand.Rand, x *schedule.Tables) {
	for _, a := range x.Stops {
		for _, b := range x.Stops {
			if a.City == b.City && a.Station == b.Station && r.IntN(4) == 0 {
				x.Transfers = append(x.Transfers, schedule.Transfer{
					From:      a.ID,
					To:        b.ID,
					Seconds:   int32(r.IntN(6) * 900),
					Forbidden: r.IntN(4) == 0,
				})
			}
		}
	}
}

// TestEncodeRandom: random tables are read as they were written, a row a line.
func TestEncodeRandom(t *testing.T) {
	for seed := range uint64(20) {
		x := randomTables(rand.New(rand.NewPCG(seed, 7)), day(t, "2026-06-01"))
		var text bytes.Buffer
		hash, err := x.Encode(&text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := schedule.Decode(bytes.NewReader(text.Bytes()), hash)
		if err != nil || !reflect.DeepEqual(again, x) {
			t.Errorf("seed %d: decoded, the tables are others (%v)", seed, err)
		}
		var second bytes.Buffer
		if h, err := again.Encode(&second); err != nil || h != hash ||
			!bytes.Equal(second.Bytes(), text.Bytes()) {
			t.Errorf("seed %d: encoded again, the tables are others (%v)", seed, err)
		}
		for line := range strings.Lines(text.String()) {
			if !strings.HasPrefix(line, "{") || !strings.HasSuffix(line, "}\n") {
				t.Errorf("seed %d: %q is not one row", seed, line)
			}
		}
	}
}
