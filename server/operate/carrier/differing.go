package carrier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// Differing is a run of the timetable in force that does not do what tickets for it say, as these are of an
// earlier timetable.
type Differing struct {
	Run   ids.RunName
	Times int // tickets that say another departure
	// Zone has the clock that shows the same time as a ticket says, at another instant: a law has changed it.
	Zone  string
	Stops int // tickets that begin or end where it no longer calls
}

// String says it in words, and what can be done.
func (d Differing) String() string {
	said := d.Run.String()
	if d.Times > 0 {
		said += fmt.Sprintf(" leaves at another time than tickets say: %d", d.Times)
		if d.Zone != "" {
			said += ", as the clock of " + d.Zone + " has changed since"
		}
		said += "; run move, even by 0 minutes, updates them and tells their passengers"
	}
	if d.Stops > 0 {
		if d.Times > 0 {
			said += "; it"
		}
		said += fmt.Sprintf(" no longer calls where tickets begin or end: %d; tell their passengers", d.Stops)
	}
	return said
}

// FindDiffering returns the runs that are not over at an instant and differ from what tickets say that live,
// by day and trip. It needs no lock.
func FindDiffering(sold booking.Frozen, tt *schedule.Timetable, now time.Time) (list []Differing) {
	present := map[ids.RunName]*booking.Run{} // nil is none
	found := map[ids.RunName]*Differing{}
	for b := range sold.All() {
		for i := range b.Tickets {
			t := &b.Tickets[i]
			switch t.PhaseAt(now) {
			case booking.Canceled, booking.Refunded, booking.Uncompleted:
				continue
			}
			for _, l := range t.Itinerary() {
				name := l.Run.Name()
				run, known := present[name]
				if !known {
					run = presentRun(tt, name)
					present[name] = run
				}
				if run == nil || !run.Arr(int16(len(run.Form.Stops)-1)).After(now) {
					continue
				}
				times, stops, zone := differs(&l, run)
				if !times && !stops {
					continue
				}
				if found[name] == nil {
					found[name] = &Differing{Run: name}
				}
				found[name].Zone = cmp.Or(found[name].Zone, zone)
				if stops {
					found[name].Stops++
				} else {
					found[name].Times++
				}
			}
		}
	}
	for _, d := range found {
		list = append(list, *d)
	}
	slices.SortFunc(list, func(a, b Differing) int {
		return cmp.Or(cmp.Compare(a.Run.Day, b.Run.Day), strings.Compare(a.Run.Trip, b.Run.Trip))
	})
	return list
}

// presentRun returns a run as the timetable in force has it; nil where it has none, or it is cancelled.
func presentRun(tt *schedule.Timetable, name ids.RunName) *booking.Run {
	trip, known := tt.TripByID(name.Trip)
	if !known || !tt.RunsOn(trip, name.Day) {
		return nil
	}
	start := tt.Start(&schedule.Leg{Trip: trip, Day: name.Day})
	return booking.NewRun(tt.Form(trip), name.Day, start, tt.Offsets(trip, start))
}

// differs reports whether a run leaves a ride's first stop at another time than the ride says, and whether it
// no longer calls at one of its stops; and the zone whose clock shows the same time then.
func differs(l *booking.Leg, run *booking.Run) (times, stops bool, zone string) {
	from := positionOf(run.Form, l.Run.Form.Stops[l.From].Stop.ID)
	to := positionOf(run.Form, l.Run.Form.Stops[l.To].Stop.ID)
	if from < 0 || to < 0 {
		return false, true, ""
	}
	leaves, sold := run.Dep(int16(from)), l.Run.Dep(l.From)
	if leaves.Equal(sold) {
		return false, false, ""
	}
	shown := run.Local(leaves, int16(from)).Format(time.DateTime)
	if shown == l.Run.Local(sold, l.From).Format(time.DateTime) {
		zone = run.Form.Stops[from].City.Zone
	}
	return true, false, zone
}

// positionOf returns where a run calls at a stop; -1 is nowhere.
func positionOf(form *schedule.Form, stop string) int {
	return slices.IndexFunc(form.Stops, func(s schedule.FormStop) bool {
		return s.Stop.ID == stop
	})
}
