package journey_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/schedule/journey"
)

// priced is a timetable of two companies with two routes each; every route has
// one trip a day over stops in the fare zones A, B and none, in cities of three time zones.
func priced(t testing.TB) *schedule.Tables {
	x := &schedule.Tables{Services: []schedule.Service{daily(day(t, "2026-01-01"), 365)}}
	for i, zone := range []string{"Europe/Kyiv", "Europe/London", "Asia/Kolkata"} {
		x.Cities = append(x.Cities, schedule.City{
			ID:   fmt.Sprint(i),
			Name: []string{"Kyiv", "London", "Kolkata"}[i],
			Slug: fmt.Sprint(i),
			Zone: zone,
		})
		x.Stops = append(x.Stops, schedule.Stop{
			ID:       fmt.Sprint(i),
			City:     int32(i),
			FareZone: []string{"A", "B", ""}[i],
		})
	}
	x.Times = []schedule.Times{{3600, 3600, 7200, 7200, 10800, 10800}}
	for i := range int32(2) {
		x.Companies = append(x.Companies, schedule.Company{
			ID:     fmt.Sprint("co", i),
			Source: schedule.OwnSource,
			Zone:   "UTC",
		})
	}
	for i := range int32(4) {
		x.Routes = append(x.Routes, schedule.Route{
			ID:      fmt.Sprint("r", i),
			Company: i / 2,
			Name:    fmt.Sprint("Line ", i),
		})
		x.Patterns = append(x.Patterns, schedule.Pattern{Route: i, Stops: []int32{0, 1, 2}})
		x.Trips = append(x.Trips, schedule.Trip{ID: fmt.Sprint("t", i), Pattern: i, Bus: -1})
	}
	return x
}

// rideOn returns the ride of a trip between two positions on a day.
func rideOn(t testing.TB, tt journey.Finder, trip int32, on schedule.Day, from, to int16) *schedule.Leg {
	t.Helper()
	stops := tt.StopsOf(trip)
	for _, j := range tt.Search(&journey.Query{
		From:  tt.Stops[stops[from]].City,
		To:    tt.Stops[stops[to]].City,
		First: on - 2,
		Days:  5,
	}) {
		if l := &j[0]; l.Trip == trip && l.Day == on && l.From == from && l.To == to {
			return l
		}
	}
	t.Fatalf("trip %d has no ride from %d to %d on %s", trip, from, to, on)
	return nil
}

// money returns amounts as "EUR 500, UAH 20000".
func money(list []schedule.Money) (s string) {
	for i, m := range list {
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(m.Currency, " ", m.Amount)
	}
	return s
}

// TestFares: of the fares that match, per currency, the most specific; of those the cheapest.
func TestFares(t *testing.T) {
	fare := func(company, route int32, from, to, currency string, amount int64) schedule.Fare {
		return schedule.Fare{
			Company:  company,
			Route:    route,
			From:     from,
			To:       to,
			Currency: currency,
			Amount:   amount,
		}
	}
	for name, c := range map[string]struct {
		fares []schedule.Fare
		want  string // for trip t0 of company 0, from zone A to zone B
	}{
		"none":          {nil, ""},
		"of everything": {[]schedule.Fare{fare(-1, -1, "", "", "EUR", 500)}, "EUR 500"},
		"cheapest": {[]schedule.Fare{fare(-1, -1, "", "", "EUR", 500),
			fare(-1, -1, "", "", "EUR", 400), fare(-1, -1, "", "", "EUR", 450)}, "EUR 400"},
		"most specific, dearer": {[]schedule.Fare{fare(-1, -1, "", "", "EUR", 400), fare(0, -1, "", "", "EUR", 500)}, "EUR 500"},
		"two fields, any two": {[]schedule.Fare{fare(0, 0, "", "", "EUR", 500),
			fare(-1, -1, "A", "B", "EUR", 450), fare(-1, 0, "A", "", "EUR", 470),
			fare(0, -1, "", "", "EUR", 1)}, "EUR 450"},
		"all four": {[]schedule.Fare{fare(0, 0, "A", "B", "EUR", 900),
			fare(-1, 0, "A", "B", "EUR", 1), fare(0, -1, "A", "B", "EUR", 1), fare(0, 0, "", "B", "EUR", 1)},
			"EUR 900"},
		"another company": {[]schedule.Fare{fare(1, -1, "", "", "EUR", 100), fare(0, -1, "", "", "EUR", 500)}, "EUR 500"},
		"another route":   {[]schedule.Fare{fare(-1, 1, "", "", "EUR", 100)}, ""},
		"the other way":   {[]schedule.Fare{fare(-1, -1, "B", "A", "EUR", 100)}, ""},
		"another zone":    {[]schedule.Fare{fare(-1, -1, "A", "C", "EUR", 100), fare(-1, -1, "C", "", "EUR", 100)}, ""},
		"per currency": {[]schedule.Fare{fare(-1, -1, "", "", "UAH", 20000),
			fare(0, 0, "A", "B", "EUR", 500), fare(-1, -1, "", "", "EUR", 1), fare(0, -1, "", "", "PLN", 99)},
			"EUR 500, PLN 99, UAH 20000"},
		"the same one in two": {[]schedule.Fare{fare(0, 0, "", "", "EUR", 500),
			fare(0, 0, "", "", "UAH", 100), fare(0, 0, "", "", "EUR", 300)}, "EUR 300, UAH 100"},
		"free":                        {[]schedule.Fare{fare(0, -1, "", "", "EUR", 0), fare(-1, -1, "", "", "EUR", 100)}, "EUR 0"},
		"a company with a route of 1": {[]schedule.Fare{fare(1, 0, "", "", "EUR", 100), fare(-1, -1, "", "", "EUR", 500)}, "EUR 500"},
	} {
		tables := priced(t)
		tables.Fares = c.fares
		tt := finder(t, tables)
		l := rideOn(t, tt, 0, day(t, "2026-06-01"), 0, 1)
		if got := money(tt.BaseFares(l)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if got := money(tt.Price(l)); got != c.want {
			t.Errorf("%s: the price is %s, want %s", name, got, c.want)
		}
	}
}

// TestFaresRandom compares random fares with a plain reading of the rule.
func TestFaresRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		tables := priced(t)
		zones := []string{"", "A", "B", "C"}
		for range r.IntN(30) {
			tables.Fares = append(tables.Fares,
				schedule.Fare{Company: int32(r.IntN(3) - 1), Route: int32(r.IntN(5) - 1),
					From: zones[r.IntN(4)], To: zones[r.IntN(4)],
					Currency: []string{"EUR", "UAH", "PLN"}[r.IntN(3)], Amount: int64(r.IntN(1000))})
		}
		tt := finder(t, tables)
		for trip := range int32(4) {
			for _, ends := range [][2]int16{{0, 1}, {0, 2}, {1, 2}} {
				l := rideOn(t, tt, trip, day(t, "2026-06-01"), ends[0], ends[1])
				var want []schedule.Money
				for _, currency := range []string{"EUR", "PLN", "UAH"} {
					best := int64(-1)
					given := -1
					for _, f := range tables.Fares {
						company := f.Company >= 0
						route := f.Route >= 0
						from := f.From != ""
						to := f.To != ""
						if f.Currency != currency || company && f.Company != trip/2 || route &&
							f.Route != trip ||
							from && f.From != tables.Stops[ends[0]].FareZone || to &&
							f.To != tables.Stops[ends[1]].FareZone {
							continue
						}
						n := 0
						for _, b := range []bool{company, route, from, to} {
							if b {
								n++
							}
						}
						if n > given || n == given && f.Amount < best {
							best = f.Amount
							given = n
						}
					}
					if given >= 0 {
						want = append(want, schedule.Money{Currency: currency, Amount: best})
					}
				}
				if got := tt.BaseFares(l); money(got) != money(want) {
					t.Fatalf("trip %d from %d to %d with %+v: %s, want %s", trip, ends[0], ends[1],
						tables.Fares, money(got), money(want))
				}
			}
		}
	}
}

// TestDiscounts: in force by the local date of departure, both ends included; the largest of several;
// rounding half up.
func TestDiscounts(t *testing.T) {
	discount := func(route int32, percent int64, first, last string) schedule.Discount {
		return schedule.Discount{
			ID:      fmt.Sprint(percent),
			Route:   route,
			Percent: percent,
			First:   day(t, first),
			Last:    day(t, last),
		}
	}
	// The trip leaves London at 02:00 UTC, Kyiv at 01:00 UTC; Shift moves it around midnight of the city.
	for _, c := range []struct {
		shift     int32
		from      int16
		day       string
		discounts []schedule.Discount
		want      string
	}{
		{0, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-01")}, "1000"},
		{0, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-02", "2026-06-30")}, ""},
		{0, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-05-01", "2026-05-31")}, ""},
		{0, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-30")}, "1000"},
		{0, 0, "2026-06-30", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-30")}, "1000"},
		{0, 0, "2026-06-01", []schedule.Discount{discount(1, 1000, "2026-06-01", "2026-06-30")}, ""},
		{0, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-02", "2026-06-01")}, ""},
		{0, 0, "2026-06-01", []schedule.Discount{discount(0, 500, "2026-06-01", "2026-06-30"),
			discount(0, 1500, "2026-06-01", "2026-06-30"), discount(0, 9900, "2026-07-01", "2026-07-30")},
			"1500"},
		// 20:59 and 21:00 UTC are 23:59 of the day and 00:00 of the next one in Kyiv.
		{20*3600 - 60, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-01")}, "1000"},
		{20 * 3600, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-01")}, ""},
		{20 * 3600, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-02", "2026-06-02")}, "1000"},
		// The bus boards in London at 22:00 UTC, which is 23:00 there, though it is the next day where it
		// came from.
		{20 * 3600, 1, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-01")}, "1000"},
		// A service day is not the date of departure.
		{-3 * 3600, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-01")}, "1000"},
		{-5 * 3600, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-01", "2026-06-01")}, ""},
		{50 * 3600, 0, "2026-06-01", []schedule.Discount{discount(0, 1000, "2026-06-03", "2026-06-03")}, "1000"},
	} {
		tables := priced(t)
		tables.Discounts = c.discounts
		tables.Fares = []schedule.Fare{{Company: -1, Route: -1, Currency: "EUR", Amount: 10000}}
		tables.Trips[0].Shift = c.shift
		tt := finder(t, tables)
		l := rideOn(t, tt, 0, day(t, c.day), c.from, 2)
		got := ""
		price := int64(10000)
		if d := tt.Discount(l); d >= 0 {
			form := tt.Form(0).Discounts[d]
			got = form.ID
			price -= form.Percent
		}
		if got != c.want {
			t.Errorf("leaving at %s: discount %q, want %q of %+v", time.Unix(l.Dep, 0).UTC(), got, c.want,
				c.discounts)
		}
		if p := tt.Price(l); money(p) != fmt.Sprint("EUR ", price) || money(tt.BaseFares(l)) != "EUR 10000" {
			t.Errorf("leaving at %s: %s, want %d", time.Unix(l.Dep, 0).UTC(), money(p), price)
		}
	}
}
