package booking

import (
	"iter"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// Withdrawn returns the runs that have passengers and are no longer in the timetable in force, by day and
// trip. It leaves out those that are over at an instant, and needs no lock.
func (f Frozen) Withdrawn(tt *schedule.Timetable, now time.Time) (list []Withdrawn) {
	tickets := map[schedule.RunKey]*Withdrawn{}
	for l := range f.legsAhead(now) {
		trip, known := tt.TripByID(l.Run.Form.Trip)
		if known && tt.Scheduled(trip, l.Run.Day) { // also where it was cancelled
			continue
		}
		key := l.Run.key()
		if tickets[key] == nil {
			tickets[key] = &Withdrawn{Run: l.Run.Name()}
		}
		tickets[key].Tickets++
	}
	for _, x := range tickets {
		list = append(list, *x)
	}
	slices.SortFunc(list, func(a, b Withdrawn) int {
		return a.Run.Compare(b.Run)
	})
	return list
}

// legsAhead goes through the legs of tickets that hold a seat, on runs that are not over at an instant, and
// their tickets.
func (f Frozen) legsAhead(now time.Time) iter.Seq2[Leg, ids.ID] {
	return func(yield func(Leg, ids.ID) bool) {
		for b := range f.All() {
			for i := range b.Tickets {
				t := &b.Tickets[i]
				if !t.live(now) {
					continue
				}
				for _, l := range t.Itinerary() {
					end := int16(len(l.Run.Form.Stops) - 1)
					if l.Run.Arr(end).After(now) && !yield(l, t.ID) {
						return
					}
				}
			}
		}
	}
}

// takesPlace reports whether the timetable in force has the run, and the run was not cancelled.
func (r *Run) takesPlace(tt *schedule.Timetable) bool {
	trip, known := tt.TripByID(r.Form.Trip)
	return known && tt.RunsOn(trip, r.Day)
}

// takesPlace reports whether all rides of the ticket do.
func (t *Ticket) takesPlace(tt *schedule.Timetable) bool {
	return !slices.ContainsFunc(t.Itinerary(), func(l Leg) bool {
		return !l.Run.takesPlace(tt)
	})
}

// A rider is a ticket's leg on a run.
type rider struct {
	leg    Leg
	ticket ids.ID
}

// Surplus returns the surplus that imports have brought about: the runs that now have more passengers than
// seats, and the seats that two tickets have on the same part of a run, each by day and trip. It leaves out
// runs that are over at an instant, and needs no lock.
func (f Frozen) Surplus(tt *schedule.Timetable, now time.Time) (list Surplus) {
	last := map[schedule.RunKey]*Run{}
	for _, r := range f.Runs {
		last[r.key()] = r
	}
	riders := map[schedule.RunKey][]rider{}
	for l, ticket := range f.legsAhead(now) {
		key := l.Run.key()
		riders[key] = append(riders[key], rider{l, ticket})
	}
	for key, all := range riders {
		form := presentForm(tt, last[key])
		run := last[key].Name()
		seats := int(form.Bus.Seats)
		if taken := mostTaken(form, all); taken > seats {
			list.Oversold = append(list.Oversold, Oversold{Run: run, Taken: taken, Seats: seats})
		}
		for _, x := range shared(form, all) {
			x.Run = run
			list.Shared = append(list.Shared, x)
		}
	}
	list.Sort()
	return list
}

// mostTaken returns how many passengers there are on the fullest part of a run that has a form.
func mostTaken(form *schedule.Form, riders []rider) int {
	held := make([]int, len(form.Stops)-1)
	for i := range riders {
		from, to := riders[i].leg.ride().In(form)
		for at := from; at < to; at++ {
			held[at]++
		}
	}
	return slices.Max(held)
}

// shared returns the seats that two of a run's passengers have on the same part of the run, which has a form.
func shared(form *schedule.Form, riders []rider) (list []Shared) {
	bySeat := map[int16][]*rider{}
	for i := range riders {
		r := &riders[i]
		seat := r.leg.Seat
		for _, other := range bySeat[seat] {
			if r.leg.ride().Meets(other.leg.ride(), form) {
				list = append(list, Shared{Seat: seat, Tickets: [2]ids.ID{other.ticket, r.ticket}})
			}
		}
		bySeat[seat] = append(bySeat[seat], r)
	}
	return list
}
