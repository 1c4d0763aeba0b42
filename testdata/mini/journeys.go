package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	ownSource        = "Service" // Ticket: source
	seatsUnlessGiven = 49
	shortestChange   = 30 * time.Minute // unless the feed has another time
	longestChange    = 8 * time.Hour
	longestJourney   = 4 // days
	farthestChange   = 5 // km
)

// A Run is a trip on one service day.
type Run struct{ Trip, Date string }

// A Leg is a ride on one run, from one of its calls to a later one.
type Leg struct {
	Run
	From, To int
}

// A Journey has one leg, or two with a change.
type Journey []Leg

func (t *Trip) seats() int             { return cmp.Or(int(t.bus.number("seats")), seatsUnlessGiven) }
func (r Run) trip() *Trip              { return feed.trips[r.Trip] }
func (l Leg) boarding() Call           { return l.trip().calls[l.From] }
func (l Leg) alighting() Call          { return l.trip().calls[l.To] }
func (l Leg) departure() time.Time     { return l.start().Add(l.boarding().depart) }
func (l Leg) arrival() time.Time       { return l.start().Add(l.alighting().arrive) }
func (l Leg) source() string           { return cmp.Or(l.trip().company["waybill_source"], ownSource) }
func (l Leg) id() string               { return fmt.Sprint(l.Trip, ".", l.Date, ".", l.From, ".", l.To) }
func (c Call) city() row               { return feed.cities[c.stop["city"]] }
func (c Call) zone() *time.Location    { return zone(c.city()["waybill_timezone"]) }
func (j Journey) last() Leg            { return j[len(j)-1] }
func (j Journey) departure() time.Time { return j[0].departure() }
func (j Journey) arrival() time.Time   { return j.last().arrival() }

// start is the instant that the times of a run count from: noon minus 12 hours, which is not midnight on
// the day on which the clocks change.
func (r Run) start() time.Time {
	day, _ := time.ParseInLocation(dateForm, r.Date, zone(r.trip().company["agency_timezone"]))
	return time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, day.Location()).Add(-12 * time.Hour)
}

// runs tells whether a trip runs on a service day.
func (t *Trip) runs(day time.Time) bool {
	date, service := day.Format(dateForm), feed.services[t.row["service_id"]]
	if exception := feed.exceptions[t.row["service_id"]+" "+date]; exception != nil {
		return exception["exception_type"] == "1"
	}
	weekday := strings.ToLower(day.Weekday().String())
	return service[weekday] == "1" && service["start_date"] <= date && date <= service["end_date"]
}

// routeName is the long or else the short name of a trip's route, or else the trip's ends (Route: name).
func (t *Trip) routeName(language string) string {
	first, last := t.calls[0].city(), t.calls[len(t.calls)-1].city()
	return cmp.Or(t.route.in(language, "route_long_name"), t.route["route_short_name"],
		first.in(language, "area_name")+" – "+last.in(language, "area_name"))
}

// refundRules are those of the route, or else those of its company, the one with the most hours first.
func (l Leg) refundRules() []row {
	if own := feed.refundRules[l.trip().row["route_id"]]; own != nil {
		return own
	}
	return feed.refundRules[l.trip().company["agency_id"]]
}

func (j Journey) refundRules() (rules []row) {
	for _, leg := range j {
		rules = append(rules, leg.refundRules()...)
	}
	return rules
}

// discount is the largest that is in force on the local day of the departure, or nil.
func (l Leg) discount() row {
	date := l.departure().In(l.boarding().zone()).Format(dateForm)
	for _, d := range feed.discounts {
		if d["route_id"] == l.trip().row["route_id"] && d["start_date"] <= date && date <= d["end_date"] {
			return d
		}
	}
	return nil
}

// Money is whole hundredths, as are per cents. Only here are they read, shown (Price) and rounded, half up.

func (r row) hundredths(column string) int { return int(math.Round(r.number(column) * 100)) }
func money(amount int) float64             { return float64(amount) / 100 }
func share(amount, percent int) int        { return (amount*percent + 50_00) / 100_00 }

// price is what a ride costs, its discount taken off, or 0 where it is not sold in a currency.
func (l Leg) price(currency string) int {
	price := l.fare(currency)
	return price - share(price, l.discount().hundredths("amount"))
}

// fare is that of the fares for a ride which names most, and of these the cheapest ("What GTFS says" in
// /docs/feed). Each bit of blanks is something that it leaves blank.
func (l Leg) fare(currency string) (price int) {
	most, names := -1, []string{l.trip().company["agency_id"], l.trip().row["route_id"],
		l.boarding().stop["zone_id"], l.alighting().stop["zone_id"]}
	for blanks := range 1 << len(names) {
		key, named := currency, 0
		for i, name := range names {
			key += " "
			if name != "" && blanks>>i&1 == 0 {
				key, named = key+name, named+1
			}
		}
		fare, isThere := feed.fares[key]
		if isThere && (named > most || named == most && fare < price) {
			price, most = fare, named
		}
	}
	return price
}

// price is that of all legs together, or 0 where one of them is not sold in a currency.
func (j Journey) price(currency string) (total int) {
	for _, leg := range j {
		if leg.price(currency) == 0 {
			return 0
		}
		total += leg.price(currency)
	}
	return total
}

// legs are the rides from a city to another that leave at start or later, and before end. Their service days
// may have begun days before.
func legs(from, to string, start, end time.Time) (legs []Leg) {
	for _, ride := range feed.rides[from+" "+to] {
		day := start.AddDate(0, 0, -longestJourney)
		for ; day.Before(end.AddDate(0, 0, 1)); day = day.AddDate(0, 0, 1) {
			ride.Date = day.Format(dateForm)
			if ride.trip().runs(day) && !ride.departure().Before(start) && ride.departure().Before(end) {
				legs = append(legs, ride)
			}
		}
	}
	return legs
}

// allJourneys are the legs from a city to another that leave in that time, and pairs of legs with a change.
func allJourneys(from, to string, start, end time.Time) (journeys []Journey) {
	for _, leg := range legs(from, to, start, end) {
		journeys = append(journeys, Journey{leg})
	}
	for via := range feed.cities {
		if via == from || via == to {
			continue
		}
		for _, first := range legs(from, via, start, end) {
			arrival := first.arrival()
			for _, second := range legs(via, to, arrival, arrival.Add(longestChange+1)) {
				if canChange(first, second) {
					journeys = append(journeys, Journey{first, second})
				}
			}
		}
	}
	return journeys
}

// canChange tells whether a leg can be taken after another one: of the same source, from a stop that is near,
// and after the time that a change takes.
func canChange(first, second Leg) bool {
	from, to, shortest := first.alighting().stop, second.boarding().stop, shortestChange
	if transfer := feed.transfers[from["stop_id"]+" "+to["stop_id"]]; transfer != nil {
		shortest = time.Duration(transfer.number("min_transfer_time")) * time.Second
	}
	return first.source() == second.source() && first.Run != second.Run &&
		distance(from, to) <= farthestChange && second.departure().Sub(first.arrival()) >= shortest
}

// distance is how far two stops of a city are from each other, in km.
func distance(a, b row) float64 {
	const degree, radian = 111.2, math.Pi / 180
	north, east := a.number("stop_lat")-b.number("stop_lat"), a.number("stop_lon")-b.number("stop_lon")
	return degree * math.Hypot(north, east*math.Cos(a.number("stop_lat")*radian))
}

// isPointless tells whether a journey with a change is left out: for another one that leaves no earlier and
// arrives no later, and is better in one of these or has no change.
func (j Journey) isPointless(others []Journey) bool {
	return len(j) > 1 && slices.ContainsFunc(others, func(other Journey) bool {
		isEarly, isLate := other.departure().Before(j.departure()), other.arrival().After(j.arrival())
		return !isEarly && !isLate && (other.times() != j.times() || len(other) == 1)
	})
}

func (j Journey) times() string { return utc(j.departure()) + utc(j.arrival()) }

// order is what journeys are sorted by: departure, arrival, name of the first route, trips and stops.
func (j Journey) order() string {
	return j.times() + j[0].trip().routeName("") + "\n" + j[0].id() + "\n" + j.last().id()
}
