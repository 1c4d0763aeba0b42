package search

import (
	"slices"
	"strings"
	"time"

	"waybill/schedule"
	"waybill/schedule/journey"
	"waybill/server/ledger"
)

// Departure is a row of a departure board (decision home.board), with times by the one clock of the board.
type Departure struct {
	Leaves, Arrives time.Time
	From, To, Via   string // cities; Via is up to three of those between
	Company, Trip   string
	Seats           int    // that are free all the way
	News            string // what the carrier has changed, in short; "" is nothing
}

// Network is one timetable, for a page that asks it several things.
type Network struct {
	*journey.Kept
	rooms *Finder
}

// Network returns the timetable in force.
func (s *Finder) Network() *Network {
	return &Network{s.network(), s}
}

// Board returns the next departures of all runs after an instant, each once and from its first stop to its
// last, the soonest first. Cancelled runs are among them, and have no seats. As in a search, the lock is only
// taken to ask for the seats of what was found.
func (n *Network) Board(since time.Time, most int) (list []Departure, err error) {
	tt := n.Timetable
	runs := tt.Departures(since.Unix(), most)
	seats := make([]int, len(runs))
	err = n.rooms.Store.View(func(st ledger.State, now time.Time) {
		for i := range runs {
			seats[i], _ = st.Bookings.SeatsLeft(tt, &runs[i], schedule.MaxSeats, now)
		}
	})
	clock := clockOf(tt, runs)
	for i, run := range runs {
		x := newDeparture(tt, []schedule.Leg{run}, clock)
		if change, _ := tt.Change(run.Run()); !change.Canceled {
			x.Seats = seats[i]
		}
		list = append(list, x)
	}
	return list, err
}

// clockOf returns the one clock of a board: that of the cities from which most of its runs leave, at first.
func clockOf(tt *schedule.Timetable, runs []schedule.Leg) *time.Location {
	clock := time.UTC
	counts := map[string]int{}
	for i := range runs {
		zone := tt.CityZone(tt.Boarding(&runs[i]).City)
		counts[zone.String()]++
		if counts[zone.String()] > counts[clock.String()] {
			clock = zone
		}
	}
	return clock
}

// Between returns the journeys of a day between two cities, as GET /v2/offers/schedule finds them for one
// passenger, and how many there are besides.
func (n *Network) Between(from, to int32, on schedule.Day, most int) (list []Departure, more int, err error) {
	query := &journey.Query{From: from, To: to, First: on, Days: 1}
	found, total, err := n.rooms.search(n.Kept, query, 1, 0, most)
	for i := range found {
		x := newDeparture(n.Timetable, found[i].Legs, n.CityZone(from))
		x.Seats = found[i].Seats
		list = append(list, x)
	}
	return list, total - len(list), err
}

// newDeparture returns a journey as a board has it, by a clock.
func newDeparture(tt *schedule.Timetable, legs []schedule.Leg, clock *time.Location) Departure {
	first := &legs[0]
	last := &legs[len(legs)-1]
	from := tt.Boarding(first).City
	to := tt.Alighting(last).City
	x := Departure{
		Leaves:  time.Unix(first.Dep, 0).In(clock),
		Arrives: time.Unix(last.Arr, 0).In(clock),
		From:    cityName(tt, from),
		To:      cityName(tt, to),
		Company: tt.Company(first.Trip).Name,
		Trip:    tt.Trips[first.Trip].ID,
	}
	for _, leg := range legs {
		if change, is := tt.Change(leg.Run()); is {
			x.News = change.News()
		}
	}
	if len(legs) > 1 {
		x.Via = "change in " + cityName(tt, tt.Alighting(first).City)
		return x
	}
	var between []string
	for _, stop := range tt.StopsOf(first.Trip)[first.From+1 : first.To] {
		name := cityName(tt, tt.Stops[stop].City)
		if name != x.From && name != x.To && !slices.Contains(between, name) {
			between = append(between, name)
		}
	}
	x.Via = strings.Join(between[:min(len(between), 3)], ", ")
	return x
}

// cityName returns the name of a city as pages in English have it.
func cityName(tt *schedule.Timetable, city int32) string {
	x := &tt.Cities[city]
	return x.Names.Or(x.Name, schedule.EN)
}

// CityName returns the name of a city as pages have it.
func (n *Network) CityName(city int32) string {
	return cityName(n.Timetable, city)
}

// CityNames returns the names of all cities as a form offers them, in their order.
func (n *Network) CityNames() (list []string) {
	for i := range n.Cities {
		list = append(list, schedule.NameOrder(cityName(n.Timetable, int32(i))))
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for i, x := range list {
		_, list[i], _ = strings.Cut(x, "\n")
	}
	return list
}

// CityCalled finds the city that somebody has typed the name of: its slug or any of its names, folded;
// else the one city with the text in a name.
func (n *Network) CityCalled(typed string) (city int32, known bool) {
	if city, known = n.CityBySlug(typed); known || strings.TrimSpace(typed) == "" {
		return city, known
	}
	typed = strings.TrimSpace(typed)
	found := n.FindCities(typed, "")
	for _, i := range found {
		x := &n.Cities[i]
		for _, name := range append([]string{x.Name}, x.Names[:]...) {
			if schedule.FoldName(name) == schedule.FoldName(typed) {
				return i, true
			}
		}
	}
	if len(found) != 1 {
		return 0, false
	}
	return found[0], true
}
