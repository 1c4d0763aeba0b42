package schedule

import (
	"cmp"
	"math"
	"math/bits"
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

// fareIndex finds the fares of a ride by trying the combinations of given
// fields that occur in the feed.
type fareIndex struct {
	combinations []uint8
	by           map[Fare][]*Fare // by the fare without its price
}

// given has a bit for each field that must match: company, route, from, to.
func (f *Fare) given() (fields uint8) {
	for i, given := range [...]bool{f.Company >= 0, f.Route >= 0, f.From != "", f.To != ""} {
		if given {
			fields |= 1 << i
		}
	}
	return fields
}

// only gives a fare without a price that has nothing but some of the fields.
func (f *Fare) only(fields uint8) Fare {
	part := Fare{Company: -1, Route: -1}
	if fields&1 != 0 {
		part.Company = f.Company
	}
	if fields&2 != 0 {
		part.Route = f.Route
	}
	if fields&4 != 0 {
		part.From = f.From
	}
	if fields&8 != 0 {
		part.To = f.To
	}
	return part
}

// add keeps the best fare of each currency, by the currencies' names: the most
// specific, and of those the cheapest.
func add(list []*Fare, f *Fare) []*Fare {
	i, ok := slices.BinarySearchFunc(list, f.Currency, func(x *Fare, c string) int { return cmp.Compare(x.Currency, c) })
	if !ok {
		return slices.Insert(list, i, f)
	}
	was, is := bits.OnesCount8(list[i].given()), bits.OnesCount8(f.given())
	if is > was || is == was && f.Amount < list[i].Amount {
		list[i] = f
	}
	return list
}

func newFareIndex(fares []Fare) fareIndex {
	x := fareIndex{by: make(map[Fare][]*Fare, len(fares))}
	for i := range fares {
		f := &fares[i]
		fields := f.given()
		if !slices.Contains(x.combinations, fields) {
			x.combinations = append(x.combinations, fields)
		}
		key := f.only(fields)
		x.by[key] = add(x.by[key], f)
	}
	return x
}

// BaseFares gives what one passenger pays for a ride before any discount, one
// amount per currency, in the order of the currencies' names (contract §5).
func (t *Timetable) BaseFares(l *Leg) []Money {
	route := t.pattern(l.Trip).Route
	ride := Fare{Company: t.Routes[route].Company, Route: route, From: t.Boarding(l).FareZone, To: t.Alighting(l).FareZone}
	best := make([]*Fare, 0, 8) // most rides are sold in fewer currencies, and this needs no heap
	for _, fields := range t.fares.combinations {
		for _, f := range t.fares.by[ride.only(fields)] {
			best = add(best, f)
		}
	}
	list := make([]Money, len(best))
	for i, f := range best {
		list[i] = Money{f.Currency, f.Amount}
	}
	if len(list) == 0 && len(t.FarePerKm) > 0 {
		rate := &t.FarePerKm[0]
		cents := math.Round(t.distance(l) * float64(rate.Micros) / 1e4)
		list = []Money{{rate.Currency, int64(cents)}}
	}
	return list
}

// distance gives the kilometres of a ride, stop by stop along great circles.
func (t *Timetable) distance(l *Leg) (km float64) {
	const earth = 6371.0
	stops := t.StopsOf(l.Trip)[l.From : l.To+1]
	for i := 1; i < len(stops); i++ {
		a, b := &t.Stops[stops[i-1]], &t.Stops[stops[i]]
		lat1, lat2 := a.Lat*math.Pi/180, b.Lat*math.Pi/180
		dLat, dLon := lat2-lat1, (b.Lon-a.Lon)*math.Pi/180
		h := math.Pow(math.Sin(dLat/2), 2) + math.Cos(lat1)*math.Cos(lat2)*math.Pow(math.Sin(dLon/2), 2)
		km += 2 * earth * math.Asin(math.Sqrt(min(1, h)))
	}
	return km
}

// indexRules finds the refund rules of each route: its own, or else those of
// its company, which its routes share. Where a row stands in its table does not show.
func (t *Timetable) indexRules() {
	t.rules = make([][]RefundRule, len(t.Routes))
	t.discounts = make([][]Discount, len(t.Routes))
	companies := map[int32][]RefundRule{}
	sorted := slices.Clone(t.RefundRules)
	slices.SortStableFunc(sorted, func(a, b RefundRule) int { return cmp.Compare(b.Hours, a.Hours) })
	for _, r := range sorted {
		bare := RefundRule{ID: r.ID, Hours: r.Hours, Percent: r.Percent}
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

func (t *Timetable) discountsOf(trip int32) []Discount { return t.discounts[t.pattern(trip).Route] }

// Discount gives the position, among the discounts of the trip's form, of the
// largest one in force for a ride: its local departure date decides. -1 is none.
func (t *Timetable) Discount(l *Leg) int {
	list := t.discountsOf(l.Trip)
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
		percent := t.discountsOf(l.Trip)[d].Percent
		for i := range list {
			list[i].Amount -= Percent(list[i].Amount, percent)
		}
	}
	return list
}
