package schedule

import (
	"cmp"
	"slices"
	"time"
)

// No zone is further from UTC than 14 hours, and no run is moved by more than 12, in seconds.
const offClock = (14 + 12) * 3600

// Departures returns the runs that leave their first stop next, after an instant in Unix seconds, the soonest
// first: at most as many as are asked for, each once and from its first stop to its last. Runs that
// were cancelled are among them.
func (t *Timetable) Departures(since int64, most int) (list []Leg) {
	late := int64(0) // how long after its service day begins the last run leaves
	for i := range t.Trips {
		late = max(late, t.dep(int32(i), 0))
	}
	first, end := t.ServiceDays()
	first = max(first, DayOf(time.Unix(since-late-offClock, 0).UTC()))
	for day := first; day < end; day++ {
		for i := range t.Trips {
			if run, runs := t.whole(int32(i), day); runs && run.Dep > since {
				list = append(list, run)
			}
		}
		slices.SortFunc(list, func(a, b Leg) int {
			return cmp.Or(cmp.Compare(a.Dep, b.Dep), cmp.Compare(a.Trip, b.Trip))
		})
		list = list[:min(len(list), most)]
		// No run of a later day leaves before the last of these.
		if len(list) == most && list[most-1].Dep <= (day+1).Date().Unix()-offClock {
			break
		}
	}
	return list
}

// UnderWay returns the runs of a trip that are under way at some instant from first until before end, in Unix
// seconds: by their days, each from its first stop to its last. Runs that were cancelled are among them.
func (t *Timetable) UnderWay(trip int32, first, end int64) (list []Leg) {
	long := t.arr(trip, int16(len(t.StopsOf(trip))-1))
	last := DayOf(time.Unix(end+offClock, 0).UTC())
	for day := DayOf(time.Unix(first-long-offClock, 0).UTC()); day <= last; day++ {
		if run, runs := t.whole(trip, day); runs && run.Dep < end && run.Arr >= first {
			list = append(list, run)
		}
	}
	return list
}

// whole returns a run from its first stop to its last, and whether the timetable has it.
func (t *Timetable) whole(trip int32, day Day) (run Leg, runs bool) {
	if !t.Scheduled(trip, day) {
		return run, false
	}
	run = Leg{Trip: trip, Day: day, To: int16(len(t.StopsOf(trip)) - 1)}
	start := t.Start(&run)
	run.Dep = start + t.dep(trip, 0)
	run.Arr = start + t.arr(trip, run.To)
	return run, true
}
