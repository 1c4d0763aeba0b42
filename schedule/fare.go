package schedule

import (
	"cmp"
	"math"
	"slices"
)

// Fares finds the fares of a ride by trying the combinations of given fields that occur in the feed.
type Fares struct {
	tt       *Timetable
	levels   [5][]key // the combinations as masks, by how many fields are not given
	by       map[key][]Money
	withheld map[key][]string // currencies; "" is every
	zones    map[string]int32 // from 1
}

// key has the fields that must match, each counted from 1, 0 is not given: company, route, zones of
// origin and destination.
type key [4]int32

func (x *Fares) keyOf(company, route int32, from, to string) key {
	return key{company + 1, route + 1, x.zones[from], x.zones[to]}
}

// given has all bits of each field that is given.
func (k key) given() (mask key) {
	for i, x := range k {
		mask[i] = -min(x, 1)
	}
	return mask
}

func (k key) and(mask key) key {
	return key{k[0] & mask[0], k[1] & mask[1], k[2] & mask[2], k[3] & mask[3]}
}

// FaresOf lists the fares of a timetable, and the withheld ones, by the fields that they match. The result
// serves timetables that differ by changes of runs alone, too.
func FaresOf(tt *Timetable) *Fares {
	x := &Fares{
		tt:       tt,
		by:       make(map[key][]Money, len(tt.Fares)),
		withheld: map[key][]string{},
		zones:    map[string]int32{},
	}
	for _, row := range tt.Fares {
		at := x.enter(row.Company, row.Route, row.From, row.To)
		amount := []Money{{Currency: row.Currency, Amount: row.Amount}}
		x.by[at] = mergeMoney(x.by[at], amount, true)
	}
	for _, w := range tt.Withheld {
		at := x.enter(w.Company, w.Route, w.From, w.To)
		x.withheld[at] = append(x.withheld[at], w.Currency)
	}
	return x
}

// enter makes sure that a combination is tried, and returns its key.
func (x *Fares) enter(company, route int32, from, to string) key {
	for _, zone := range [...]string{from, to} {
		if x.zones[zone] == 0 && zone != "" {
			x.zones[zone] = int32(len(x.zones) + 1)
		}
	}
	at := x.keyOf(company, route, from, to)
	mask := at.given()
	level := &x.levels[4+mask[0]+mask[1]+mask[2]+mask[3]]
	if !slices.Contains(*level, mask) {
		*level = append(*level, mask)
	}
	return at
}

// mergeMoney adds amounts to a list in the order of currencies, and with lower takes the less in each; it
// changes neither.
func mergeMoney(list, more []Money, lower bool) []Money {
	switch {
	case len(list) == 0:
		return more
	case len(more) == 0:
		return list
	}
	list = slices.Clone(list)
	for _, m := range more {
		i, ok := slices.BinarySearchFunc(list, m, func(a, b Money) int {
			return cmp.Compare(a.Currency, b.Currency)
		})
		if !ok {
			list = slices.Insert(list, i, m)
		} else if lower {
			list[i].Amount = min(list[i].Amount, m.Amount)
		}
	}
	return list
}

// Base returns what one passenger pays for a ride before any discount, one amount per currency, in the order
// of the currencies' names (decision fares.chosen). The list is shared and must not be changed.
func (x *Fares) Base(l *Leg) (list []Money) {
	tt := x.tt
	route := tt.Patterns[tt.Trips[l.Trip].Pattern].Route
	ride := x.keyOf(tt.Routes[route].Company, route, tt.Boarding(l).FareZone, tt.Alighting(l).FareZone)
	var withheld []string // currencies in which the ride has a price that nobody knows
	for _, level := range x.levels {
		var cheapest []Money
		var unknown []string
		for _, mask := range level {
			if at := ride.and(mask); at.given() == mask {
				cheapest = mergeMoney(cheapest, x.by[at], true)
				unknown = append(unknown, x.withheld[at]...)
			}
		}
		if withheld != nil {
			cheapest = slices.DeleteFunc(slices.Clone(cheapest), func(m Money) bool {
				return slices.Contains(withheld, m.Currency) || slices.Contains(withheld, "")
			})
		}
		list = mergeMoney(list, cheapest, false)
		withheld = append(withheld, unknown...)
	}
	if len(list) == 0 && len(tt.FarePerKm) > 0 && withheld == nil {
		rate := &tt.FarePerKm[0]
		cents := math.Round(distance(tt, l) * float64(rate.Micros) / 1e4)
		if cents > 0 { // stops that are at one point are no free ride (decision fares.distance)
			list = []Money{{Currency: rate.Currency, Amount: int64(cents)}}
		}
	}
	return list
}

// distance returns the kilometres of a ride, stop by stop along great circles.
func distance(tt *Timetable, l *Leg) (km float64) {
	stops := tt.StopsOf(l.Trip)[l.From : l.To+1]
	for i := 1; i < len(stops); i++ {
		a := &tt.Stops[stops[i-1]]
		b := &tt.Stops[stops[i]]
		km += Kilometres(a.Lat, a.Lon, b.Lat, b.Lon)
	}
	return km
}

// Kilometres returns the length of the great circle between two points, given by latitude and longitude in
// degrees.
func Kilometres(latA, lonA, latB, lonB float64) float64 {
	const earth = 6371.0 // radius in km
	lat1 := latA * math.Pi / 180
	lat2 := latB * math.Pi / 180
	dLat := lat2 - lat1
	dLon := (lonB - lonA) * math.Pi / 180
	h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(lat1)*math.Cos(lat2)*math.Pow(math.Sin(dLon/2), 2)
	return 2 * earth * math.Asin(math.Sqrt(min(1, h)))
}

// Discounted returns prices of a ride with the discount in force taken off.
func Discounted(tt *Timetable, l *Leg, list []Money) []Money {
	d := tt.Discount(l)
	if d < 0 {
		return list
	}
	list = slices.Clone(list)
	percent := tt.DiscountsOf(l.Trip)[d].Percent
	for i := range list {
		list[i].Amount -= Percent(list[i].Amount, percent)
	}
	return list
}
