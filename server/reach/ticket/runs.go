package ticket

import (
	"fmt"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
)

// Runs finds the runs that codes are of: among what was sold, and else in a timetable. A code has no more of
// a run than a hash of its name.
type Runs struct {
	tt    *schedule.Timetable
	sold  *booking.State // nil: nothing is known of that
	found map[[6]byte]schedule.Run
}

// NewRuns returns the runs of a timetable, and of the tickets that were sold, unless sold is nil. Neither may
// change while codes are checked.
func NewRuns(tt *schedule.Timetable, sold *booking.State) *Runs {
	return &Runs{
		tt:    tt,
		sold:  sold,
		found: map[[6]byte]schedule.Run{},
	}
}

// find returns the run that a code is of; nil where neither a ticket nor the timetable has it. A ticket keeps
// the run as it was sold, whatever later timetables say, and moves with it.
func (r *Runs) find(c Code) *booking.Run {
	if r.sold != nil {
		if _, t := r.sold.AnyTicket(c.Ticket); t != nil {
			for _, l := range t.Itinerary() {
				name := l.Run.Name()
				if c.IsOf(name) && l.From == c.From && l.To == c.To {
					return l.Run
				}
			}
		}
	}
	run, ok := r.found[c.Run]
	if !ok {
		if run, ok = r.search(c); !ok {
			return nil
		}
		r.found[c.Run] = run
	}
	if !r.calls(run.Trip, c) { // another ride of a run that was found
		return nil
	}
	leg := schedule.Leg{Trip: run.Trip, Day: run.Day, From: c.From, To: c.To}
	start := r.tt.Start(&leg)
	return booking.NewRun(r.tt.Form(run.Trip), run.Day, start, r.tt.Offsets(run.Trip, start))
}

// daysAround is by how many days a service day may differ from what a departure says by itself: its company's
// clock is up to 14 hours from UTC, and a run is moved by up to 12.
const daysAround = 2

// search looks for the run of a code in the timetable: each trip is tried on the service days on which it may
// leave when the code says.
func (r *Runs) search(c Code) (run schedule.Run, ok bool) {
	for i := range r.tt.Trips {
		trip := int32(i)
		if !r.calls(trip, c) {
			continue
		}
		after := time.Duration(r.tt.Form(trip).Stops[c.From].Dep) * time.Second
		day := schedule.DayOf(c.Departure.Add(-after))
		for d := day - daysAround; d <= day+daysAround; d++ {
			if r.tt.Scheduled(trip, d) && c.IsOf(ids.RunName{Trip: r.tt.Trips[trip].ID, Day: d}) {
				return schedule.Run{Trip: trip, Day: d}, true
			}
		}
	}
	return run, false
}

// calls reports whether a trip has the stops of a code.
func (r *Runs) calls(trip int32, c Code) bool {
	return c.From >= 0 && c.From < c.To && int(c.To) < len(r.tt.StopsOf(trip))
}

// Travel is the ride of a code as a timetable has it. Times are those of the run as it is known where the
// code is checked: it may have been moved since the code was made, or the timetable may be another.
type Travel struct {
	Trip    string `json:"tripId"`
	Date    string `json:"date"` // the service day
	Carrier string `json:"carrier"`
	Route   string `json:"route"`
	Boards  Call   `json:"boards"`
	Alights Call   `json:"alights"`
}

// Call is a stop where a passenger boards or alights.
type Call struct {
	City  string    `json:"city"`
	Stop  string    `json:"stop"`
	Zone  string    `json:"zone"`  // of the city's clocks
	Time  time.Time `json:"time"`  // in UTC
	Local string    `json:"local"` // by the city's clocks, see localTime
}

// localTime is the form of a time by the clocks of a city.
const localTime = "Mon 2 Jan 15:04"

// String returns the stop and the time there: Kyiv (Central, platform 1) Fri 20 Nov 08:13.
func (x *Call) String() string {
	return fmt.Sprintf("%s (%s) %s", x.City, x.Stop, x.Local)
}

// newTravel returns the ride of a code on its run.
func newTravel(c Code, run *booking.Run) *Travel {
	return &Travel{
		Trip:    run.Form.Trip,
		Date:    run.Day.String(),
		Carrier: run.Form.Company.Name,
		Route:   run.Form.Route.Name,
		Boards:  newCall(run, c.From, run.Dep(c.From)),
		Alights: newCall(run, c.To, run.Arr(c.To)),
	}
}

// newCall returns a stop of a run, by its position, at an instant.
func newCall(run *booking.Run, position int16, at time.Time) Call {
	stop := &run.Form.Stops[position]
	x := Call{
		City:  stop.City.Name,
		Stop:  stop.Stop.Place,
		Zone:  stop.City.Zone,
		Time:  at.UTC(),
		Local: run.Local(at, position).Format(localTime),
	}
	if stop.Stop.Platform != "" {
		x.Stop += ", platform " + stop.Stop.Platform
	}
	return x
}

// describe returns in words the ride of a code on its run, and adds it to what programs read.
func (r *Runs) describe(c Code, ride *Ride) string {
	run := r.find(c)
	if run == nil {
		return c.String() + "; its run is not in the timetable"
	}
	x := newTravel(c, run)
	ride.Travel = x
	said := fmt.Sprintf("ticket %s, seat %d: %s, %s, trip %s on %s, from %s to %s, local times", c.Ticket,
		c.Seat, x.Carrier, x.Route, x.Trip, x.Date, &x.Boards, &x.Alights)
	if !x.Boards.Time.Truncate(time.Minute).Equal(c.Departure) {
		said += "; the code has another departure: " + run.Local(c.Departure, c.From).Format(localTime)
	}
	return said
}
