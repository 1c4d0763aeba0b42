package booking

import (
	"iter"
	"slices"
	"time"

	"waybill/booking/books"
	"waybill/booking/seating"
	"waybill/schedule"
)

// Oversold is a run on a part of which more passengers have seats than its bus has.
type Oversold = books.Oversold

// Withdrawn returns the runs that are not over at an instant, have passengers, and are no longer in the
// timetable in force, by day and trip; Taken is how many tickets there are. It needs no lock.
func (f Frozen) Withdrawn(tt *schedule.Timetable, now time.Time) (list []Oversold) {
	tickets := map[schedule.RunKey]*Oversold{}
	for l := range f.legsAhead(now) {
		trip, known := tt.TripByID(l.Run.Form.Trip)
		if known && tt.Scheduled(trip, l.Run.Day) { // what is cancelled is there, and known to be
			continue
		}
		key := l.Run.key()
		if tickets[key] == nil {
			tickets[key] = &Oversold{
				Trip: l.Run.Form.Trip,
				Day:  key.Day,
			}
		}
		tickets[key].Taken++
	}
	for _, x := range tickets {
		list = append(list, *x)
	}
	books.Sort(list)
	return list
}

// legsAhead goes through the legs of tickets that hold a seat, on runs that are not over at an instant.
func (f Frozen) legsAhead(now time.Time) iter.Seq[Leg] {
	return func(yield func(Leg) bool) {
		for b := range f.All() {
			for i := range b.Tickets {
				t := &b.Tickets[i]
				if !t.live(now) {
					continue
				}
				for _, l := range t.Itinerary() {
					end := int16(len(l.Run.Form.Stops) - 1)
					if l.Run.Arr(end).After(now) && !yield(l) {
						return
					}
				}
			}
		}
	}
}

// withdrawn reports whether the timetable in force no longer has the run.
func (r *Run) withdrawn(tt *schedule.Timetable) bool {
	trip, known := tt.TripByID(r.Form.Trip)
	return !known || !tt.RunsOn(trip, r.Day)
}

// Oversold returns the runs that are not over at an instant and have more passengers than seats, in the
// timetable in force, by day and trip. It needs no lock.
func (f Frozen) Oversold(tt *schedule.Timetable, now time.Time) (list []Oversold) {
	type ride struct {
		run      *Run
		from, to int16
	}
	rides := map[schedule.RunKey][]ride{}
	last := map[schedule.RunKey]*Run{}
	for _, r := range f.Runs {
		last[r.key()] = r
	}
	for l := range f.legsAhead(now) {
		key := l.Run.key()
		rides[key] = append(rides[key], ride{l.Run, l.From, l.To})
	}
	for key, of := range rides {
		form := presentForm(tt, last[key])
		x := Oversold{
			Trip:  form.Trip,
			Day:   key.Day,
			Seats: int(form.Bus.Seats),
		}
		if len(of) <= x.Seats {
			continue
		}
		held := make([]int, len(form.Stops)-1)
		for _, r := range of {
			from, to := seating.Within(r.run.Form, form, r.from, r.to)
			for at := from; at < to; at++ {
				held[at]++
			}
		}
		x.Taken = slices.Max(held)
		if x.Taken > x.Seats {
			list = append(list, x)
		}
	}
	books.Sort(list)
	return list
}
