package journey_test

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"waybill/schedule"
	"waybill/schedule/journey"
)

// bus has how many seats are free on a run from one stop to the next.
type bus [8]int

// buses are those of all runs that have been asked about.
type buses struct {
	r    *rand.Rand
	free map[schedule.Run]*bus
}

// of returns the bus of a run. Some have seats enough, some have few.
func (b *buses) of(run schedule.Run) *bus {
	if b.free[run] == nil {
		x := new(bus)
		few := b.r.IntN(2) == 0
		for i := range x {
			x[i] = 4
			if few {
				x[i] = b.r.IntN(5)
			}
		}
		b.free[run] = x
	}
	return b.free[run]
}

// left returns how many seats are free on a ride.
func (b *buses) left(l *schedule.Leg) int {
	return slices.Min(b.of(l.Run())[l.From:l.To])
}

// full returns all rides there are without seats for so many.
func (b *buses) full(a *atlas, passengers int) map[schedule.Leg]bool {
	full := map[schedule.Leg]bool{}
	for from := range a.tables.Cities {
		for to := range a.tables.Cities {
			for _, x := range a.rides[[2]int32{int32(from), int32(to)}] {
				if b.left(&x.Leg) < passengers {
					full[x.Leg] = true
				}
			}
		}
	}
	return full
}

// atLeast returns as few seats as journey.Seats may.
func (b *buses) atLeast(l *schedule.Leg, enough int) int {
	return min(b.left(l), enough)
}

// look searches like a server, and returns the keys of what it found. It asks for the second journey once
// more, as a page.
func (b *buses) look(t *testing.T, kept *journey.Kept, q *journey.Query, passengers int) []string {
	t.Helper()
	keys := b.page(t, kept, q, passengers, 0, math.MaxInt)
	if len(keys) > 1 {
		second := b.page(t, kept, q, passengers, 1, 1)
		if len(second) != 1 || second[0] != keys[1] {
			t.Errorf("of %q the second is %q", keys, second)
		}
	}
	return keys
}

// page returns the keys of a page of a search.
func (b *buses) page(t *testing.T, kept *journey.Kept, q *journey.Query, passengers, skip, take int) (
	keys []string) {
	t.Helper()
	x := kept.Look(q, passengers)
	for x.Ask(b.atLeast, skip, take) {
		x.Again()
	}
	for _, found := range x.Page {
		var k trek
		seats := schedule.MaxSeats
		for i := range found.Legs {
			l := &found.Legs[i]
			seats = min(seats, b.left(l))
			k = append(k, ride{
				Leg:   *l,
				route: kept.RouteName(l.Trip, schedule.Untranslated),
				trip:  kept.Trips[l.Trip].ID,
			})
		}
		if found.Seats != seats {
			t.Errorf("%s has %d seats, want %d", k.key(), found.Seats, seats)
		}
		keys = append(keys, k.key())
	}
	if n := kept.Miscounted(); n != 0 {
		t.Errorf("%d rows too many are counted", n)
	}
	if take == math.MaxInt && x.Total != len(keys) {
		t.Errorf("%d in all, want %d", x.Total, len(keys))
	}
	return keys
}

// A ride without seats enough is not there: it hides nothing, also where it leaves after the asked days
// (decision changes.pointless). Random timetables, sales and searches: each search is compared with all
// journeys that the rides with seats enough make. The searches keep journeys, and the sales between them fill
// rides of these.
func TestWhatIsFullHidesNothing(t *testing.T) {
	shownAgain := 0 // journeys that are only there because another is full
	for seed := range sampled(uint64(300)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 50))
			first, tables, tt, changes := randomNetwork(t, r, seed)
			a := newAtlas(t, tables, first-9, first+20, changes)
			b := &buses{r, map[schedule.Run]*bus{}}
			kept := journey.Keep(tt, 1<<16)
			for n := range 8 {
				q := &journey.Query{
					From:    int32(r.IntN(2)), // so that pairs come again
					To:      int32(r.IntN(len(tables.Cities))),
					First:   first + schedule.Day(r.IntN(3)),
					Days:    1 + r.IntN(3),
					Changes: min(1, r.IntN(6)),
				}
				if r.IntN(3) == 0 {
					q.After = int64(first)*86400 + int64(r.IntN(3*86400))
				}
				if r.IntN(6) == 0 {
					q.Companies = make([]bool, len(tables.Companies))
					q.Companies[0] = true
				}
				passengers := 2 + r.IntN(2)
				asked := *q
				asked.Full = b.full(a, passengers)
				want, _ := a.answer(&asked, tt.CityZone(q.From))
				got := b.look(t, kept, q, passengers)
				if !slices.Equal(got, want) {
					t.Errorf("%d to %d from %s, %d days, after %d, %d passengers, %d changes, companies %v:\n"+
						" got %q\nwant %q", q.From, q.To, q.First, q.Days, q.After, passengers, q.Changes,
						q.Companies, got, want)
				}
				asked.Full = nil
				open, _ := a.answer(&asked, tt.CityZone(q.From))
				for _, key := range got {
					if !slices.Contains(open, key) {
						shownAgain++
					}
				}
				if n%3 == 2 {
					b.sell()
				}
			}
		})
	}
	if shownAgain < sampled(50) {
		t.Errorf("only %d journeys were shown because others are full", shownAgain)
	}
}

// sell changes which runs have seats.
func (b *buses) sell() {
	for _, run := range b.runs() {
		if b.r.IntN(8) == 0 {
			delete(b.free, run)
		}
	}
}

// runs returns the runs that have been asked about, in order, so that a seed makes the same sales each time.
func (b *buses) runs() []schedule.Run {
	return slices.SortedFunc(maps.Keys(b.free), func(x, y schedule.Run) int {
		return cmp.Or(cmp.Compare(x.Trip, y.Trip), cmp.Compare(x.Day, y.Day))
	})
}

// Searches of days on which all is full leave each other alone.
func TestDaysOnWhichAllIsFull(t *testing.T) {
	at := func(id string, from int32, dep int, to int32, arr int) line {
		return line{id: id, calls: []call{{from, dep}, {to, arr}}, route: "R"}
	}
	tt := finder(t, lines(t, at("d", 0, 480, 4, 700), at("e", 0, 490, 4, 700), at("a", 0, 480, 2, 600),
		at("b", 2, 640, 4, 720)))
	kept := journey.Keep(tt, 1<<16)
	full := func(*schedule.Leg, int) int { return 0 }
	for range 2 {
		for to := int32(1); to <= 2; to++ {
			look := kept.Look(&journey.Query{
				From:    0,
				To:      to,
				First:   day(t, "2026-06-10"),
				Days:    1,
				Changes: 1,
			}, 1)
			for look.Ask(full, 0, 10) {
				look.Again()
			}
			if look.Total != 0 {
				t.Errorf("to %d: %d journeys", to, look.Total)
			}
		}
	}
}
