package seating

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"waybill/schedule"
)

// withSeats returns a form of a bus with so many seats.
func withSeats(t testing.TB, stops string, seats int32) *schedule.Form {
	t.Helper()
	x := schedule.Form{Trip: "t", Bus: schedule.Bus{Seats: seats}}
	for i, stop := range stops {
		at := int32(i) * 600
		x.Stops = append(x.Stops, schedule.FormStop{Stop: schedule.Stop{ID: string(stop)}, Arr: at, Dep: at})
	}
	f, err := schedule.DecodeForm(x.Encode())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The number of seats that are left is that of the seats that are free, also after a bus has become smaller
// or its stops others, and where it was sold in them after it was asked for.
func TestTheSeatsLeftAreCountedAsTheyAreFound(t *testing.T) {
	now := time.UnixMilli(1000)
	sizes := []int32{1, 3, 49, 63, 64, 65, 130}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		form := func() *schedule.Form {
			stops := []string{"ABCDE", "ABCDE", "ABCDE", "ACDE", "XABCDE"}[r.IntN(5)]
			return withSeats(t, stops, sizes[r.IntN(len(sizes))])
		}
		plan := Plan{Forms: []*schedule.Form{form()}}
		until := []int64{900, 1001}[r.IntN(2)] // what has run out is forgotten, and with it what is known
		for n := range r.IntN(80) {
			if r.IntN(40) == 0 {
				for _, sold := range plan.Forms {
					plan.Left(sold, Ride{sold, 0, 1}, now)
				}
				plan.Sell(form())
			}
			of := r.IntN(len(plan.Forms))
			last := len(plan.Forms[of].Stops) - 1
			from := r.IntN(last)
			plan.Add(Hold{
				Ticket: [16]byte{byte(n)},
				Until:  until + r.Int64N(1000),
				From:   int16(from),
				To:     int16(from + 1 + r.IntN(last-from)),
				Seat:   int16(1 + r.IntN(int(plan.Forms[of].Bus.Seats))),
				Form:   uint16(of),
			}, 0)
		}
		for _, present := range append(plan.Forms, form()) {
			for from := range int16(len(present.Stops) - 1) {
				for to := from + 1; int(to) < len(present.Stops); to++ {
					ride := Ride{present, from, to}
					anew := Plan{Forms: plan.Forms, Holds: slices.Clone(plan.Holds)}
					want := anew.Free(present, ride, now).Left
					if got := plan.Left(present, ride, now); got != want {
						t.Fatalf("seed %d: %d left from %d to %d, want %d", seed, got, from, to, want)
					}
				}
			}
		}
	}
}

// BenchmarkLeft is of counting what is free on a ride over three of eight segments, beside finding it out: on
// one run, and on runs of which no cache of the processor has more than a part.
func BenchmarkLeft(b *testing.B) {
	now := time.UnixMilli(1)
	present := withSeats(b, "ABCDEFGHI", 49)
	plans := make([]*Plan, 1<<15)
	for i := range plans {
		plans[i] = &Plan{Forms: []*schedule.Form{present}}
		for seat := range int16(40) {
			plans[i].Add(Hold{Until: 2, From: seat % 7, To: seat%7 + 2, Seat: seat + 1}, 0)
		}
	}
	ride := Ride{present, 2, 5}
	for name, count := range map[string]func(*Plan) int{
		"counted": func(p *Plan) int { return p.Left(present, ride, now) },
		"found":   func(p *Plan) int { return p.Free(present, ride, now).Left },
	} {
		for _, runs := range []int{1, len(plans)} {
			b.Run(fmt.Sprintf("%s of %d", name, runs), func(b *testing.B) {
				for i := 0; b.Loop(); i += 7919 {
					count(plans[i%runs])
				}
			})
		}
	}
}
