package schedule

import (
	"cmp"
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

// indexRules finds the refund rules of each route: its own, or else its company's. The order of the rows in
// the table makes no difference.
func (t *Timetable) indexRules() {
	t.rules = make([][]RefundRule, len(t.Routes))
	t.discounts = make([][]Discount, len(t.Routes))
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

// DiscountsOf returns the discounts of a trip, as its form has them. The list is shared.
func (t *Timetable) DiscountsOf(trip int32) []Discount {
	return t.discounts[t.pattern(trip).Route]
}

// Discount returns the largest discount in force on the local date of departure, as its place in the form, or
// -1.
func (t *Timetable) Discount(l *Leg) int {
	list := t.DiscountsOf(l.Trip)
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
