package schedule_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"waybill/schedule"
)

// The next departures are those that a look at every run of the demo finds, whatever was moved or cancelled
// and at whatever hour one asks.
func TestTheNextDeparturesAreTheSoonestOfAllRuns(t *testing.T) {
	plain := timetable(t, demo(t))
	on := day(t, "2026-11-20")
	moved := plain.With(map[schedule.RunKey]schedule.Change{
		{Trip: plain.TripKey(0), Day: on}:     {Shift: -12 * 3600},
		{Trip: plain.TripKey(1), Day: on - 1}: {Shift: 12 * 3600},
		{Trip: plain.TripKey(2), Day: on}:     {Canceled: true},
	})
	for _, tt := range []*schedule.Timetable{plain, moved} {
		var all []schedule.Leg
		for i := range tt.Trips {
			for d := on - 5; d < on+6; d++ {
				if tt.Scheduled(int32(i), d) {
					last := int16(len(tt.StopsOf(int32(i))) - 1)
					all = append(all, *rideOn(tt, int32(i), d, 0, last))
				}
			}
		}
		slices.SortFunc(all, func(a, b schedule.Leg) int {
			return cmp.Or(cmp.Compare(a.Dep, b.Dep), cmp.Compare(a.Trip, b.Trip))
		})
		for hour := range 48 {
			since := on.Date().Add(time.Duration(hour) * time.Hour).Unix()
			want := slices.Clone(all)
			want = slices.DeleteFunc(want, func(l schedule.Leg) bool { return l.Dep <= since })[:12]
			if got := tt.Departures(since, 12); !slices.Equal(got, want) {
				t.Fatalf("after %d hours %v, want %v", hour, got, want)
			}
		}
	}
	_, end := plain.ServiceDays()
	if got := plain.Departures(end.Date().Unix(), 1); len(got) > 0 {
		t.Errorf("after the last service day %v leaves", got)
	}
}
