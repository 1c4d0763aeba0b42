package journey

import (
	"cmp"
	"math"
	"slices"

	"waybill/schedule"
)

// fareIndex finds the fares of a ride by trying the combinations of given fields that occur in the feed.
type fareIndex struct {
	levels   [5][]fareKey // the combinations as masks, by how many fields are not given
	by       map[fareKey][]schedule.Money
	withheld map[fareKey][]string // currencies; "" is every
	zones    map[string]int32     // from 1
}

// fareKey has the fields that must match, each counted from 1, 0 is not given: company, route, zones of
// origin and destination.
type fareKey [4]int32

func (x *fareIndex) key(company, route int32, from, to string) fareKey {
	return fareKey{company + 1, route + 1, x.zones[from], x.zones[to]}
}

// given has all bits of each field that is given.
func (k fareKey) given() (mask fareKey) {
	for i, x := range k {
		mask[i] = -min(x, 1)
	}
	return mask
}

func (k fareKey) and(mask fareKey) fareKey {
	return fareKey{k[0] & mask[0], k[1] & mask[1], k[2] & mask[2], k[3] & mask[3]}
}

// indexFares lists the fares, and the withheld ones, by the fields that they match.
func (f Finder) indexFares() {
	f.fares = fareIndex{
		by:       make(map[fareKey][]schedule.Money, len(f.Fares)),
		withheld: map[fareKey][]string{},
		zones:    map[string]int32{},
	}
	for _, x := range f.Fares {
		key := f.fares.enter(x.Company, x.Route, x.From, x.To)
		amount := []schedule.Money{{Currency: x.Currency, Amount: x.Amount}}
		f.fares.by[key] = mergeMoney(f.fares.by[key], amount, true)
	}
	for _, w := range f.Withheld {
		key := f.fares.enter(w.Company, w.Route, w.From, w.To)
		f.fares.withheld[key] = append(f.fares.withheld[key], w.Currency)
	}
}

// enter makes sure that a combination is tried, and returns its key.
func (x *fareIndex) enter(company, route int32, from, to string) fareKey {
	for _, zone := range [...]string{from, to} {
		if x.zones[zone] == 0 && zone != "" {
			x.zones[zone] = int32(len(x.zones) + 1)
		}
	}
	key := x.key(company, route, from, to)
	mask := key.given()
	level := &x.levels[4+mask[0]+mask[1]+mask[2]+mask[3]]
	if !slices.Contains(*level, mask) {
		*level = append(*level, mask)
	}
	return key
}

// mergeMoney adds amounts to a list in the order of currencies, and with lower takes the less in each; it
// changes neither.
func mergeMoney(list, more []schedule.Money, lower bool) []schedule.Money {
	switch {
	case len(list) == 0:
		return more
	case len(more) == 0:
		return list
	}
	list = slices.Clone(list)
	for _, m := range more {
		i, ok := slices.BinarySearchFunc(list, m, func(a, b schedule.Money) int {
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

// BaseFares returns what one passenger pays for a ride before any discount, one amount per currency, in the
// order of the currencies' names (decision fares.chosen). The list is shared and must not be changed.
func (f Finder) BaseFares(l *schedule.Leg) []schedule.Money {
	at := f.origin(f.Boarding(l).City, f.Alighting(l).City)
	ride := hop{f.Trips[l.Trip].Pattern, l.From, l.To}
	for i := at.from; i < at.to; i++ {
		if f.hops[i] != ride {
			continue
		}
		list := f.hopFares[i].Load()
		if list == nil {
			fares := f.findFares(l)
			list = &fares
			f.hopFares[i].Store(list)
		}
		return *list
	}
	return f.findFares(l) // a ride that no search finds
}

func (f Finder) findFares(l *schedule.Leg) (list []schedule.Money) {
	route := f.Patterns[f.Trips[l.Trip].Pattern].Route
	ride := f.fares.key(f.Routes[route].Company, route, f.Boarding(l).FareZone, f.Alighting(l).FareZone)
	var withheld []string // currencies in which the ride has a price that nobody knows
	for _, level := range f.fares.levels {
		var cheapest []schedule.Money
		var unknown []string
		for _, mask := range level {
			if key := ride.and(mask); key.given() == mask {
				cheapest = mergeMoney(cheapest, f.fares.by[key], true)
				unknown = append(unknown, f.fares.withheld[key]...)
			}
		}
		if withheld != nil {
			cheapest = slices.DeleteFunc(slices.Clone(cheapest), func(m schedule.Money) bool {
				return slices.Contains(withheld, m.Currency) || slices.Contains(withheld, "")
			})
		}
		list = mergeMoney(list, cheapest, false)
		withheld = append(withheld, unknown...)
	}
	if len(list) == 0 && len(f.FarePerKm) > 0 && withheld == nil {
		rate := &f.FarePerKm[0]
		cents := math.Round(f.distance(l) * float64(rate.Micros) / 1e4)
		if cents > 0 { // stops that are at one point are no free ride (decision fares.distance)
			list = []schedule.Money{{Currency: rate.Currency, Amount: int64(cents)}}
		}
	}
	return list
}

// distance returns the kilometres of a ride, stop by stop along great circles.
func (f Finder) distance(l *schedule.Leg) (km float64) {
	stops := f.StopsOf(l.Trip)[l.From : l.To+1]
	for i := 1; i < len(stops); i++ {
		a := &f.Stops[stops[i-1]]
		b := &f.Stops[stops[i]]
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

// Price is BaseFares with the discount in force taken off.
func (f Finder) Price(l *schedule.Leg) []schedule.Money {
	list := f.BaseFares(l)
	if d := f.Discount(l); d >= 0 {
		list = slices.Clone(list)
		percent := f.DiscountsOf(l.Trip)[d].Percent
		for i := range list {
			list[i].Amount -= schedule.Percent(list[i].Amount, percent)
		}
	}
	return list
}
