package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

const (
	ownSource        = "Service" // Resources, Ticket: source
	seatsUnlessGiven = "49"
	shortestChange   = 30 * time.Minute // unless the feed has another time
	longestChange    = 8 * time.Hour
	farthestChange   = 5.0 // km
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

func (t *Trip) route() row             { return feed.routes[t.row["route_id"]] }
func (t *Trip) company() row           { return feed.companies[t.route()["agency_id"]] }
func (r Run) trip() *Trip              { return feed.trips[r.Trip] }
func (l Leg) boarding() Call           { return l.trip().calls[l.From] }
func (l Leg) alighting() Call          { return l.trip().calls[l.To] }
func (l Leg) departure() time.Time     { return l.start().Add(l.boarding().depart) }
func (l Leg) arrival() time.Time       { return l.start().Add(l.alighting().arrive) }
func (l Leg) source() string           { return cmp.Or(l.trip().company()["waybill_source"], ownSource) }
func (l Leg) id() string               { return fmt.Sprint(l.Trip, ".", l.Date, ".", l.From, ".", l.To) }
func (c Call) city() row               { return feed.cities[c.stop["city"]] }
func (c Call) zone() *time.Location    { return zone(c.city()["waybill_timezone"]) }
func (j Journey) departure() time.Time { return j[0].departure() }
func (j Journey) arrival() time.Time   { return j[len(j)-1].arrival() }

// start is the instant that the times of a run count from: noon minus 12 hours, which is not midnight on
// the day on which the clocks change.
func (r Run) start() time.Time {
	day, _ := time.ParseInLocation(dateForm, r.Date, zone(r.trip().company()["agency_timezone"]))
	return time.Date(day.Year(), day.Month(), day.Day(), 12, 0, 0, 0, day.Location()).Add(-12 * time.Hour)
}

// runs tells whether a trip runs on the service day that begins about then.
func (t *Trip) runs(day time.Time) bool {
	date, service := day.Format(dateForm), feed.services[t.row["service_id"]]
	if exception := feed.exceptions[t.row["service_id"]+" "+date]; exception != nil {
		return exception["exception_type"] == "1"
	}
	return service[strings.ToLower(day.Weekday().String())] == "1" &&
		service["start_date"] <= date && date <= service["end_date"]
}

// routeName is the long or else the short name of a trip's route, or else the trip's ends.
func (t *Trip) routeName(language string) string {
	first, last := t.calls[0].city(), t.calls[len(t.calls)-1].city()
	return cmp.Or(t.route().in(language, "route_long_name"), t.route().in(language, "route_short_name"),
		first.in(language, "area_name")+" – "+last.in(language, "area_name"))
}

// refundRules are those of the route, else those of its company, the one with the most hours first.
func (l Leg) refundRules() []row {
	of := func(route, company string) []row {
		return slices.DeleteFunc(slices.Clone(feed.refundRules), func(rule row) bool {
			return rule["route_id"] != route || company != "" && rule["agency_id"] != company
		})
	}
	if rules := of(l.trip().row["route_id"], ""); len(rules) > 0 {
		return rules
	}
	return of("", l.trip().company()["agency_id"])
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

// share is so many hundredths of a per cent of an amount, rounded half up to the hundredth.
func share(amount, percent int) int { return (amount*percent + 5000) / 10000 }

// prices are what a ride costs in hundredths, by currency, its discount taken off. The first fare that fits
// counts: it names most, and is the cheapest of these.
func (l Leg) prices() map[string]int {
	own := []string{l.trip().company()["agency_id"], l.trip().row["route_id"],
		l.boarding().stop["zone_id"], l.alighting().stop["zone_id"]}
	prices, percent := map[string]int{}, l.discount().hundredths("amount")
	for _, fare := range feed.fares {
		fits := true
		for i, name := range fareNames {
			fits = fits && (fare[name] == "" || fare[name] == own[i])
		}
		if _, known := prices[fare["currency_type"]]; fits && !known {
			price := fare.hundredths("price")
			prices[fare["currency_type"]] = price - share(price, percent)
		}
	}
	return prices
}

// prices are those of all legs together, in the currencies that each of them is sold in.
func (j Journey) prices() map[string]int {
	sum := j[0].prices()
	for _, leg := range j[1:] {
		prices := leg.prices()
		maps.DeleteFunc(sum, func(currency string, _ int) bool { return prices[currency] == 0 })
		for currency := range sum {
			sum[currency] += prices[currency]
		}
	}
	return sum
}

// legs are the rides from a city to another that leave at start or later, and before end: of each run one
// for each pair of a stop where one boards and a later one where one alights.
func legs(from, to string, start, end time.Time) (legs []Leg) {
	const margin = 48 * time.Hour // for service days that begin at other times than days do here
	for id, trip := range feed.trips {
		for i, boarding := range trip.calls {
			if boarding.stop["city"] != from || boarding.row["pickup_type"] == "1" {
				continue
			}
			first, last := start.Add(-boarding.depart-margin), end.Add(margin-boarding.depart)
			for k, alighting := range trip.calls[i+1:] {
				isThere := alighting.stop["city"] == to && alighting.row["drop_off_type"] != "1"
				for day := first; isThere && day.Before(last); day = day.AddDate(0, 0, 1) {
					leg := Leg{Run{id, day.Format(dateForm)}, i, i + 1 + k}
					if trip.runs(day) && !leg.departure().Before(start) && leg.departure().Before(end) {
						legs = append(legs, leg)
					}
				}
			}
		}
	}
	return legs
}

// journeys are all legs from a city to another that leave in that time, and all pairs of legs with a change.
// Of the same two runs the earliest change counts.
func journeys(from, to string, start, end time.Time) (journeys []Journey) {
	for _, leg := range legs(from, to, start, end) {
		journeys = append(journeys, Journey{leg})
	}
	changing := map[[2]Leg]Journey{}
	for via := range feed.cities {
		if via == from || via == to {
			continue
		}
		for _, first := range legs(from, via, start, end) {
			for _, second := range onward(first, to) {
				ends := [2]Leg{{first.Run, first.From, 0}, {second.Run, 0, second.To}}
				other, isThere := changing[ends]
				if !isThere || cmp.Or(first.To-other[0].To, second.From-other[1].From) < 0 {
					changing[ends] = Journey{first, second}
				}
			}
		}
	}
	return slices.AppendSeq(journeys, maps.Values(changing))
}

// onward are the legs to a city that can be changed to after a first one: of the same source, from a stop
// that is near, and after the time that a change takes.
func onward(first Leg, to string) []Leg {
	stop, arrival := first.alighting().stop, first.arrival()
	legs := legs(stop["city"], to, arrival, arrival.Add(longestChange+1))
	return slices.DeleteFunc(legs, func(second Leg) bool {
		next, shortest := second.boarding().stop, shortestChange
		transfer := feed.transfers[stop["stop_id"]+" "+next["stop_id"]]
		if transfer["min_transfer_time"] != "" {
			shortest = time.Duration(transfer.number("min_transfer_time")) * time.Second
		}
		return transfer["transfer_type"] == "3" || second.Run == first.Run || second.source() != first.source() ||
			distance(stop, next) > farthestChange || second.departure().Before(arrival.Add(shortest))
	})
}

// distance is how far two stops are from each other, in km along a great circle.
func distance(a, b row) float64 {
	const degree, radius = math.Pi / 180, 6371
	north, south := a.number("stop_lat")*degree, b.number("stop_lat")*degree
	east := (a.number("stop_lon") - b.number("stop_lon")) * degree
	h := math.Pow(math.Sin((north-south)/2), 2) + math.Cos(north)*math.Cos(south)*math.Pow(math.Sin(east/2), 2)
	return 2 * radius * math.Asin(math.Sqrt(min(1, h)))
}

// isPointless tells whether a journey with a change is left out: for another one that leaves no earlier and
// arrives no later, and is better in one of these or has no change.
func (j Journey) isPointless(others []Journey) bool {
	return len(j) > 1 && slices.ContainsFunc(others, func(other Journey) bool {
		later := other.departure().Compare(j.departure())
		earlier := j.arrival().Compare(other.arrival())
		return later >= 0 && earlier >= 0 && (later > 0 || earlier > 0 || len(other) < len(j))
	})
}
