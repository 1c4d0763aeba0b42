package booking

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/booking/seating"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// stops is how many the trip of oneTrip has.
const stops = 5

// oneTrip returns a timetable with one trip on one day, by a bus of 70 seats.
func oneTrip(t *testing.T) *schedule.Timetable {
	x := &schedule.Tables{
		Companies: []schedule.Company{{
			ID:   "c",
			Zone: "UTC",
		}}, Cities: []schedule.City{{ID: "a", Slug: "a", Zone: "UTC"}},
		Routes: []schedule.Route{{ID: "r"}}, Buses: []schedule.Bus{{
			ID:    "b",
			Seats: 70,
		}}, Services: []schedule.Service{{First: 100, Bits: []uint64{1}}},
		Patterns: []schedule.Pattern{{}}, Times: []schedule.Times{nil}, Trips: []schedule.Trip{{ID: "t"}},
	}
	for i := range int32(stops) {
		x.Stops = append(x.Stops, schedule.Stop{ID: fmt.Sprint(i)})
		x.Patterns[0].Stops, x.Times[0] = append(x.Patterns[0].Stops, i), append(x.Times[0], i*600, i*600)
	}
	tt, err := schedule.New(x)
	if err != nil {
		t.Fatal(err)
	}
	return tt
}

// Seats that are left are those that no live hold has on the way, told by looking at each seat and each hold;
// what was told before, holds that have run out and are forgotten, and seats that the bus no longer has
// change nothing.
func TestSeatsLeftAreThoseThatNoLiveHoldHas(t *testing.T) {
	tt := oneTrip(t)
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s := NewRecorder()
		run := NewRun(tt.Form(0), 100, 0, make([]int32, stops))
		s.KnowRun(run)
		var tickets []ids.ID
		all := map[ids.ID]seating.Hold{}
		for now := int64(1); now < 300; now += rnd.Int64N(3) {
			at := time.UnixMilli(now)
			from := int16(rnd.IntN(stops - 1))
			to := from + 1 + int16(rnd.IntN(stops-1-int(from)))
			h := seating.Hold{Until: now + rnd.Int64N(60), From: from, To: to, Seat: int16(1 + rnd.IntN(72))}
			if rnd.IntN(20) == 0 {
				// of no bus: only a forged journal has it
				h.Seat = int16(rnd.IntN(math.MaxUint16) - math.MaxInt16)
			}
			switch rnd.IntN(5) {
			case 0:
				h.Until = math.MaxInt64
				fallthrough
			case 1:
				rand.NewChaCha8([32]byte{byte(now), byte(len(tickets)), byte(seed)}).Read(h.Ticket[:])
				tickets = append(tickets, h.Ticket)
				run.seats.Add(h, now)
				all[h.Ticket] = h
			case 2:
				if len(tickets) > 0 {
					h.Ticket = tickets[rnd.IntN(len(tickets))]
					run.seats.Set(h, now)
					all[h.Ticket] = h
				}
			}
			want := 0
			for seat := range int16(70) {
				taken := false
				for _, h := range all {
					taken = taken || h.Seat == seat+1 && h.Until > now && h.From < to && from < h.To
				}
				if !taken {
					want++
				}
			}
			for at := from; at < to; at++ {
				// nor more than the bus has room for, whatever seats its passengers have
				held := 0
				for _, h := range all {
					if h.Until > now && h.From <= at && at < h.To {
						held++
					}
				}
				want = min(want, max(0, 70-held))
			}
			ride := schedule.Leg{Day: 100, From: from, To: to}
			if got, _ := s.SeatsLeft(tt, &ride, schedule.MaxSeats, at); got != want {
				t.Fatalf("seed %d: %d seats from %d to %d at %d, want %d", seed, got, from, to, now, want)
			}
		}
	}
}

func TestSeatsInARowComeFirst(t *testing.T) {
	for _, c := range []struct {
		free []int16
		n    int
		want []int16
	}{
		{[]int16{1, 2, 3}, 2, []int16{1, 2}},
		{[]int16{1, 3, 4, 6}, 2, []int16{3, 4}},
		{[]int16{1, 3, 5}, 2, []int16{1, 3}},
		{[]int16{2, 64, 65, 66, 1000}, 3, []int16{64, 65, 66}},
		{[]int16{7, 1000}, 3, []int16{7, 1000}},
		{nil, 1, []int16{}},
	} {
		var set seating.Set
		for _, seat := range c.free {
			set[(seat-1)/64] |= 1 << ((seat - 1) % 64)
		}
		if got := set.Together(c.n); !slices.Equal(got, c.want) || set.Count() != len(c.free) {
			t.Errorf("%d of %v: %v, want %v", c.n, c.free, got, c.want)
		}
	}
}
