package schedule

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// Money is an amount in minor units of a currency.
type Money struct {
	Currency string
	Amount   int64
}

// IsCurrency reports whether s has the form of a currency's code: three capital letters.
func IsCurrency(s string) bool {
	return len(s) == 3 && !strings.ContainsFunc(s, func(r rune) bool {
		return r < 'A' || r > 'Z'
	})
}

// Percent returns a share of an amount, in hundredths of a per cent, rounded half up.
func Percent(amount, hundredths int64) int64 {
	return (amount*hundredths + 5000) / 10000
}

// fareIndex finds the fares of a ride by trying the combinations of given fields that occur in the feed.
type fareIndex struct {
	levels   [5][]fareKey // the combinations as masks, by how many fields are not given
	by       map[fareKey][]Money
	withheld map[fareKey][]string // currencies; "" is every
	zones    map[string]int32     // from 1
}

// fareKey is what must match, each counted from 1, 0 is not given: company, route, zones of origin and
// destination.
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

func (t *Timetable) indexFares() {
	t.fares = fareIndex{
		by:       make(map[fareKey][]Money, len(t.Fares)),
		withheld: map[fareKey][]string{},
		zones:    map[string]int32{},
	}
	for _, f := range t.Fares {
		key := t.fares.enter(f.Company, f.Route, f.From, f.To)
		t.fares.by[key] = merge(t.fares.by[key], []Money{{f.Currency, f.Amount}}, true)
	}
	for _, w := range t.Withheld {
		key := t.fares.enter(w.Company, w.Route, w.From, w.To)
		t.fares.withheld[key] = append(t.fares.withheld[key], w.Currency)
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

// merge adds amounts to a list in the order of currencies, and with lower takes the less in each; it changes
// neither.
func merge(list, more []Money, lower bool) []Money {
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

// BaseFares returns what one passenger pays for a ride before any discount, one amount per currency, in the
// order of the currencies' names (decision fares.chosen). The list is shared and must not be changed.
func (t *Timetable) BaseFares(l *Leg) []Money {
	at := t.origin(t.Boarding(l).City, t.Alighting(l).City)
	ride := hop{t.Trips[l.Trip].Pattern, l.From, l.To}
	for i := at.from; i < at.to; i++ {
		if t.hops[i] != ride {
			continue
		}
		list := t.hopFares[i].Load()
		if list == nil {
			fares := t.findFares(l)
			list = &fares
			t.hopFares[i].Store(list)
		}
		return *list
	}
	return t.findFares(l) // a ride that no search finds
}

func (t *Timetable) findFares(l *Leg) (list []Money) {
	route := t.pattern(l.Trip).Route
	ride := t.fares.key(t.Routes[route].Company, route, t.Boarding(l).FareZone, t.Alighting(l).FareZone)
	var withheld []string // currencies in which the ride has a price that nobody knows
	for _, level := range t.fares.levels {
		var cheapest []Money
		var unknown []string
		for _, mask := range level {
			if key := ride.and(mask); key.given() == mask {
				cheapest = merge(cheapest, t.fares.by[key], true)
				unknown = append(unknown, t.fares.withheld[key]...)
			}
		}
		if withheld != nil {
			cheapest = slices.DeleteFunc(slices.Clone(cheapest), func(m Money) bool {
				return slices.Contains(withheld, m.Currency) || slices.Contains(withheld, "")
			})
		}
		list = merge(list, cheapest, false)
		withheld = append(withheld, unknown...)
	}
	if len(list) == 0 && len(t.FarePerKm) > 0 && withheld == nil {
		rate := &t.FarePerKm[0]
		cents := math.Round(t.distance(l) * float64(rate.Micros) / 1e4)
		if cents > 0 { // stops that are at one point are no free ride (decision fares.distance)
			list = []Money{{rate.Currency, int64(cents)}}
		}
	}
	return list
}

// distance returns the kilometres of a ride, stop by stop along great circles.
func (t *Timetable) distance(l *Leg) (km float64) {
	stops := t.StopsOf(l.Trip)[l.From : l.To+1]
	for i := 1; i < len(stops); i++ {
		a := &t.Stops[stops[i-1]]
		b := &t.Stops[stops[i]]
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

// indexRules gives each route its refund rules, or else its company's. Where a row stands in its table does
// not show.
func (t *Timetable) indexRules() {
	t.rules, t.discounts = make([][]RefundRule, len(t.Routes)), make([][]Discount, len(t.Routes))
	companies := map[int32][]RefundRule{}
	longestFirst := func(a, b RefundRule) int {
		return cmp.Compare(b.Hours, a.Hours)
	}
	for _, r := range slices.SortedStableFunc(slices.Values(t.RefundRules), longestFirst) {
		bare := RefundRule{
			ID:      r.ID,
			Hours:   r.Hours,
			Percent: r.Percent,
		}
		if r.Route >= 0 {
			t.rules[r.Route] = append(t.rules[r.Route], bare)
		} else {
			companies[r.Company] = append(companies[r.Company], bare)
		}
	}
	for i, r := range t.Routes {
		if t.rules[i] == nil {
			t.rules[i] = companies[r.Company]
		}
	}
	for _, d := range t.Discounts {
		list := &t.discounts[d.Route]
		d.Route = 0
		*list = append(*list, d)
	}
}

func (t *Timetable) discountsOf(trip int32) []Discount {
	return t.discounts[t.pattern(trip).Route]
}

// Discount returns the largest discount in force on the local date of departure, as its place in the form, or
// -1.
func (t *Timetable) Discount(l *Leg) int {
	list := t.discountsOf(l.Trip)
	best := -1
	if len(list) == 0 {
		return best
	}
	day := DayOf(time.Unix(l.Dep, 0).In(t.CityZone(t.Boarding(l).City)))
	for i, d := range list {
		if d.First <= day && day <= d.Last && (best < 0 || d.Percent > list[best].Percent) {
			best = i
		}
	}
	return best
}

// Price is BaseFares with the discount in force taken off.
func (t *Timetable) Price(l *Leg) []Money {
	list := t.BaseFares(l)
	if d := t.Discount(l); d >= 0 {
		list = slices.Clone(list)
		percent := t.discountsOf(l.Trip)[d].Percent
		for i := range list {
			list[i].Amount -= Percent(list[i].Amount, percent)
		}
	}
	return list
}
