package schedule

import (
	"fmt"
	"slices"
)

// Change is a carrier's change of one run. It holds whatever timetables say (decision runs.timetable). The
// zero Change is none.
type Change struct {
	Canceled bool  `json:"canceled"`
	Shift    int32 `json:"shift"` // seconds later than the timetable says; below zero it is earlier
}

// News says in a word or two what was changed, as lists of runs do; "" is nothing.
func (c Change) News() string {
	switch {
	case c.Canceled:
		return "cancelled"
	case c.Shift != 0:
		return fmt.Sprintf("moved by %+d min", c.Shift/60)
	}
	return ""
}

// With returns the timetable with changed runs. A search no longer finds cancelled runs, and finds moved
// ones at their new times. The changes replace those that the timetable had before. Changes of runs that it
// lacks are passed over. The tables stay as they were.
func (t *Timetable) With(changes map[RunKey]Change) *Timetable {
	changed := *t
	changed.changes = make(map[Run]Change, len(changes))
	changed.moved = map[int32][]Day{}
	for key, c := range changes {
		trip, known := t.tripByKey[key.Trip]
		if !known || c == (Change{}) || !t.Scheduled(trip, key.Day) {
			continue
		}
		changed.changes[Run{trip, key.Day}] = c
		if !c.Canceled {
			changed.moved[trip] = append(changed.moved[trip], key.Day)
		}
	}
	for _, days := range changed.moved {
		slices.Sort(days)
	}
	return &changed
}

// Change returns the change of a run, and whether there is one.
func (t *Timetable) Change(r Run) (Change, bool) {
	c, ok := t.changes[r]
	return c, ok
}

// MovedDays returns the days of a trip's runs that were moved, in order. The list is shared.
func (t *Timetable) MovedDays(trip int32) []Day {
	return t.moved[trip]
}

// RunKey names one bus on one service day across timetables.
type RunKey struct {
	Trip uint64 // see Timetable.TripKey
	Day  Day
}
