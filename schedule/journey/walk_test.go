package journey_test

import (
	"fmt"
	"testing"

	"waybill/schedule"
	"waybill/schedule/journey"
)

// BenchmarkWalk is of a search of 14 days for each pair of cities of the demo network, one after the other:
// by a Kept that has found nothing yet, and by one that has them all.
func BenchmarkWalk(b *testing.B) {
	tt := finder(b, demo(b))
	first := day(b, "2026-11-21")
	seats := func(*schedule.Leg, int) int { return 40 }
	walk := func(kept *journey.Kept, changes int) (rows int) {
		for from := range int32(len(tt.Cities)) {
			for to := range int32(len(tt.Cities)) {
				q := &journey.Query{
					From:    from,
					To:      to,
					First:   first,
					Days:    14,
					Changes: changes,
				}
				look := kept.Look(q, 2)
				for look.Ask(seats, 0, 50) {
					look.Again()
				}
				rows += look.Total
			}
		}
		return rows
	}
	for changes := range 2 {
		b.Run(fmt.Sprint(changes, "-changes-cold"), func(b *testing.B) {
			b.ReportAllocs()
			rows := 0
			for b.Loop() {
				rows = walk(journey.Keep(tt, 1<<16), changes)
			}
			b.ReportMetric(float64(rows), "rows")
		})
		b.Run(fmt.Sprint(changes, "-changes-kept"), func(b *testing.B) {
			b.ReportAllocs()
			kept := journey.Keep(tt, 1<<16)
			for b.Loop() {
				walk(kept, changes)
			}
		})
	}
}
