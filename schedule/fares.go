package schedule

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Money is an amount in minor units of a currency.
type Money struct {
	Currency string
	Amount   int64
}

// Percent gives a share of an amount, in hundredths of a per cent, rounded half up.
func Percent(amount, hundredths int64) int64 {
	return (amount*hundredths + 5000) / 10000
}

type fareKey struct {
	company, route int32
	from, to       string
}

// fareIndex finds the fares of a ride by trying the combinations of given
// fields that occur in the feed, the most specific first.
type fareIndex struct {
	masks []uint8 // which fields are given, the most of them first
	by    map[fareKey][]Money
}

const (
	givenCompany = 1 << iota
	givenRoute
	givenFrom
	givenTo
)

func (f *Fare) mask() (m uint8) {
	if f.Company >= 0 {
		m |= givenCompany
	}
	if f.Route >= 0 {
		m |= givenRoute
	}
	if f.From != "" {
		m |= givenFrom
	}
	if f.To != "" {
		m |= givenTo
	}
	return m
}

func specificity(mask uint8) (n int) {
	for ; mask != 0; mask &= mask - 1 {
		n++
	}
	return n
}

func newFareIndex(t *Timetable) fareIndex {
	x := fareIndex{by: make(map[fareKey][]Money, len(t.Fares))}
	for i := range t.Fares {
		f := &t.Fares[i]
		if m := f.mask(); !slices.Contains(x.masks, m) {
			x.masks = append(x.masks, m)
		}
		k := fareKey{f.Company, f.Route, f.From, f.To}
		x.by[k] = cheapest(x.by[k], Money{f.Currency, f.Amount})
	}
	for _, list := range x.by {
		slices.SortFunc(list, byCurrency)
	}
	slices.SortFunc(x.masks, func(a, b uint8) int { return cmp.Compare(specificity(b), specificity(a)) })
	return x
}

// cheapest keeps one amount per currency.
func cheapest(list []Money, m Money) []Money {
	for i := range list {
		if list[i].Currency == m.Currency {
			list[i].Amount = min(list[i].Amount, m.Amount)
			return list
		}
	}
	return append(list, m)
}

func byCurrency(a, b Money) int { return cmp.Compare(a.Currency, b.Currency) }

// BaseFares gives what one passenger pays for a ride before any discount, one
// amount per currency, in the order of the currencies' names (contract §5). The
// list is shared and must not be changed.
func (t *Timetable) BaseFares(l *Leg) []Money {
	p := t.pattern(l.Trip)
	from, to := t.Boarding(l).FareZone, t.Alighting(l).FareZone
	var found, level []Money
	for i, mask := range t.fares.masks {
		k := fareKey{-1, -1, "", ""}
		if mask&givenCompany != 0 {
			k.company = t.Routes[p.Route].Company
		}
		if mask&givenRoute != 0 {
			k.route = p.Route
		}
		if mask&givenFrom != 0 {
			k.from = from
		}
		if mask&givenTo != 0 {
			k.to = to
		}
		if (mask&givenFrom == 0 || from != "") && (mask&givenTo == 0 || to != "") {
			level = merge(level, t.fares.by[k], true)
		}
		if i+1 == len(t.fares.masks) || specificity(t.fares.masks[i+1]) != specificity(mask) {
			found, level = merge(found, level, false), nil
		}
	}
	if len(found) == 0 && len(t.FarePerKm) > 0 {
		rate := &t.FarePerKm[0]
		cents := math.Round(t.distance(l) * float64(rate.Micros) / 1e4)
		found = []Money{{rate.Currency, int64(cents)}}
	}
	return found
}

// merge adds the amounts of other currencies to a list, and with lower also
// those that are less. It leaves both lists as they are.
func merge(list, more []Money, lower bool) []Money {
	if len(list) == 0 {
		return more
	}
	list = slices.Clone(list)
	for _, m := range more {
		i, ok := slices.BinarySearchFunc(list, m, byCurrency)
		switch {
		case !ok:
			list = slices.Insert(list, i, m)
		case lower:
			list[i].Amount = min(list[i].Amount, m.Amount)
		}
	}
	return list
}

// distance gives the kilometres of a ride, stop by stop along great circles.
func (t *Timetable) distance(l *Leg) (km float64) {
	const earth = 6371.0
	stops := t.pattern(l.Trip).Stops[l.From : l.To+1]
	for i := 1; i < len(stops); i++ {
		a, b := &t.Stops[stops[i-1]], &t.Stops[stops[i]]
		lat1, lat2 := a.Lat*math.Pi/180, b.Lat*math.Pi/180
		dLat, dLon := lat2-lat1, (b.Lon-a.Lon)*math.Pi/180
		h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(lat1)*math.Cos(lat2)*math.Pow(math.Sin(dLon/2), 2)
		km += 2 * earth * math.Asin(math.Sqrt(min(1, h)))
	}
	return km
}

// indexRules finds the refund rules of each route: its own, or else those of its company, which its routes share.
func (t *Timetable) indexRules() {
	own, companies := map[int32][]RefundRule{}, map[int32][]RefundRule{}
	for _, r := range t.RefundRules {
		if r.Route >= 0 {
			own[r.Route] = append(own[r.Route], r)
		} else {
			companies[r.Company] = append(companies[r.Company], r)
		}
	}
	for _, lists := range []map[int32][]RefundRule{own, companies} {
		for _, list := range lists {
			slices.SortStableFunc(list, func(a, b RefundRule) int { return cmp.Compare(b.Hours, a.Hours) })
		}
	}
	t.rules = make([][]RefundRule, len(t.Routes))
	t.discounts = make([][]Discount, len(t.Routes))
	for i := range t.Routes {
		if t.rules[i] = own[int32(i)]; t.rules[i] == nil {
			t.rules[i] = companies[t.Routes[i].Company]
		}
	}
	for _, d := range t.Discounts {
		t.discounts[d.Route] = append(t.discounts[d.Route], d)
	}
}

// Discount gives the position, among the discounts of the trip's form, of the
// largest one in force for a ride: its local departure date decides. -1 is none.
func (t *Timetable) Discount(l *Leg) int {
	list := t.discounts[t.pattern(l.Trip).Route]
	if len(list) == 0 {
		return -1
	}
	day := DayOf(time.Unix(l.Dep, 0).In(t.CityZone(t.Boarding(l).City)))
	best := -1
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
		percent := t.discounts[t.pattern(l.Trip).Route][d].Percent
		for i := range list {
			list[i].Amount -= Percent(list[i].Amount, percent)
		}
	}
	return list
}
