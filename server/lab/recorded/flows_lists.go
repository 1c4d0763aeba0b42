package recorded

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"waybill/server/lab/transcript"
)

// lists are the calls that answer with rows: in which member, which text each row has for itself, by which
// instant they are sorted, and how many there are where take is not given (0: the interface does not say).
var lists = []struct {
	call, rows, name, by string
	newestFirst          bool
	take                 int
}{
	{getSchedule, "departures", "", "departureDateTime", false, 50},
	{"GET /v2/bookings", "bookings", "id", "createdAt", true, 50},
	{"GET /v2/reports/company/orders", "reports", "id", "createdAt", true, 0},
	{"GET /v2/cities", "cities", "slug", "", false, 0},
}

// list holds the rows of a list against its total, its page, its order and its filters.
func (f *flows) list(x *exchange) {
	for _, l := range lists {
		if !x.is(l.call) {
			continue
		}
		rows := x.values("data", l.rows)
		total, hasTotal := numberOf(x.answer.value, "data", "total")
		most := x.numberAsked("take", l.take)
		end := float64(len(rows))
		if l.take > 0 {
			end += float64(x.numberAsked("skip", 0))
		}
		switch {
		case hasTotal && len(rows) > 0 && end > total:
			f.lies.add(x, "there are more rows than data.total")
		case l.take > 0 && len(rows) > most:
			f.lies.add(x, "there are more rows than take")
		case l.take > 0 && hasTotal && len(rows) < most && end < total:
			f.lies.add(x, "there are fewer rows than take, though data.total says that there are more")
		}
		if names := texts(of(rows, l.name)); len(slices.Compact(names)) < len(names) {
			f.lies.add(x, "two rows of data."+l.rows+" have one "+l.name)
		}
		if l.by != "" && !isSorted(rows, l.by, l.newestFirst) {
			f.lies.add(x, "data."+l.rows+" is not sorted by "+l.by)
		}
	}
	if x.is(getSchedule) {
		f.departures(x)
	}
	if day := x.query.Get("departureDate"); x.is("GET /v2/bookings") && day != "" {
		for _, b := range x.values("data", "bookings") {
			at := timeOf(b, "departureDate")
			if !at.IsZero() && at.UTC().Format(time.DateOnly) != day {
				f.lies.add(x, "a booking departs on another day than departureDate")
			}
		}
	}
}

// numberAsked returns a parameter of the query, or what stands for it where it is not given.
func (x *exchange) numberAsked(name string, otherwise int) int {
	n, err := strconv.Atoi(x.query.Get(name))
	if err != nil {
		return otherwise
	}
	return n
}

// isSorted reports whether rows are in order. Texts with offsets may be in order as instants, or as texts.
func isSorted(rows []any, by string, newestFirst bool) bool {
	return slices.IsSortedFunc(rows, func(a, b any) int {
		one, two := timeOf(a, by), timeOf(b, by)
		n := one.Compare(two)
		if one.IsZero() || two.IsZero() || n > 0 && textOf(a, by) <= textOf(b, by) {
			return 0
		}
		if newestFirst {
			return -n
		}
		return n
	})
}

// departures holds the rows of a schedule against its window and the number of passengers.
func (f *flows) departures(x *exchange) {
	first := x.query.Get("date")
	day, err := time.Parse(time.DateOnly, first)
	if err != nil {
		return
	}
	end := day.AddDate(0, 0, x.numberAsked("days", 1)).Format(time.DateOnly)
	for _, d := range x.values("data", "departures") {
		at := timeOf(d, "departureDateTime")
		if on := at.Format(time.DateOnly); !at.IsZero() && (on < first || on >= end) {
			f.lies.add(x, "a departure is on none of the days")
		}
		left, isGiven := numberOf(d, "seatsLeft")
		if isGiven && left < float64(x.numberAsked("passengers", 1)) {
			f.lies.add(x, "seatsLeft is less than passengers")
		}
	}
}

// cent is how far two amounts may be apart that are the same.
const cent = 0.0101

// money holds what came back for a ticket against its price, the grace and the rules.
func (f *flows) money(s sighting) {
	back, isGiven := numberOf(s.ticket, "refundAmount")
	price, isPriced := numberOf(s.ticket, "price", "amount")
	switch {
	case s.state == canceled && isGiven && back > 0:
		f.lies.add(s.x, "a ticket that is Canceled has a refundAmount")
	case s.state == refunded && !isGiven && s.x.is(postCancel):
		f.lies.add(s.x, "a ticket that is Refund has no refundAmount")
	case isGiven && back < 0, isGiven && isPriced && back > price+cent:
		f.lies.add(s.x, "refundAmount is not between 0 and the price")
	}
	if s.state != refunded || !isGiven {
		return
	}
	for _, had := range f.tickets[textOf(s.ticket, "id")] {
		before, known := numberOf(had.ticket, "refundAmount")
		if known && had.state == refunded && had.x.precedes(s.x) && math.Abs(before-back) > cent {
			f.lies.add(s.x, "refundAmount is another one than before")
			return
		}
	}
	sold := f.begins[textOf(s.ticket, "id")]
	isReduced := slices.ContainsFunc(of(s.ticket, "discount"), func(v any) bool { return v != nil })
	if isReduced || !isPriced || sold == nil || sold.at.IsZero() || s.x.at().IsZero() {
		return
	}
	switch age := s.x.at().Sub(sold.at); {
	case age+headStart < window:
		if math.Abs(back-price) > cent {
			f.lies.add(s.x, "refundAmount is not the full amount within 20 minutes of the creation")
		}
	case age-slowness > window && s.x.is(postCancel) && !s.x.mayBeOld():
		f.byRules(s, price, back)
	}
}

// byRules holds what came back after the grace against the rules that were shown for the ticket. The
// interface does not say whether a rule is a share which is given or kept, or an amount; of two legs each has
// rules of its own.
func (f *flows) byRules(s sighting, price, back float64) {
	rules := f.rules[textOf(s.ticket, "id")]
	leaves := timeOf(s.ticket, "slices", "departureDate")
	if len(rules) == 0 || len(of(s.ticket, "slices")) > 1 || leaves.IsZero() {
		return
	}
	given := []float64{0, price}
	var tiers transcript.Tiers
	for _, rule := range rules {
		hours, _ := numberOf(rule, "hours")
		amount, _ := numberOf(rule, "amount")
		tiers = append(tiers, transcript.Tier{Hours: hours, Amount: amount})
		share := price * amount / 100
		given = append(given, share, price-share, amount, price-amount)
	}
	isNear := func(amount float64) bool {
		off := math.Abs(amount - back)
		return off < cent || off < 1 && back == math.Trunc(back) // rounded to whole units
	}
	if !slices.ContainsFunc(given, isNear) {
		f.lies.add(s.x, "refundAmount is what no refund rule gives")
	}
	left := leaves.Sub(s.x.at())
	byOurs := []float64{tiers.Back(price, left+slowness), tiers.Back(price, left-headStart)}
	f.show("refunds.rule", s.x, sameIf(slices.ContainsFunc(byOurs, isNear),
		"the refund is not by the rule with the most hours that applies"))
}

// seats looks for two tickets that surely lived at one time with one seat of the service's own: in a bus that
// both begin or end to use at the same instant.
func (f *flows) seats() {
	held := map[string]map[string][]sighting{} // by place, and by ticket
	for _, id := range slices.Sorted(maps.Keys(f.tickets)) {
		for _, s := range f.tickets[id] {
			for _, place := range s.places() {
				if held[place] == nil {
					held[place] = map[string][]sighting{}
				}
				held[place][id] = append(held[place][id], s)
			}
		}
	}
	for _, place := range slices.Sorted(maps.Keys(held)) {
		for _, id := range slices.Sorted(maps.Keys(held[place])) {
			for _, s := range held[place][id] {
				for other, seen := range held[place] {
					if other != id && lived(seen, s) {
						f.lies.add(s.x, "two living tickets have one seat")
						break
					}
				}
			}
		}
	}
}

// lived reports whether a ticket, by all that was seen of it in a place, surely had that when another one was
// seen there: it was seen then or earlier, and again then or later, and could not lapse meanwhile.
func lived(seen []sighting, other sighting) bool {
	return slices.ContainsFunc(seen, func(s sighting) bool {
		wasThere := s.x == other.x || s.x.precedes(other.x)
		return wasThere && slices.ContainsFunc(seen, func(again sighting) bool {
			isBehind := again.x == other.x || other.x.precedes(again.x)
			return isBehind && (s.state != unpaid || again.state == unpaid)
		})
	})
}

// seatLabel finds what names a seat; "-" is none.
var seatLabel = regexp.MustCompile(`[\pL\pN]`)

// places are the seats that a living ticket of the service's own has, each by when it begins to use it, and
// by when it ends.
func (s sighting) places() (list []string) {
	isLiving := s.state == unpaid || s.state == booked || s.state == paid
	if !isLiving || textOf(s.ticket, "source") != ownSource || s.x.mayBeOld() {
		return nil
	}
	for _, part := range of(s.ticket, "slices") {
		seat := textOf(part, "seat", "label")
		bus := fmt.Sprint(of(part, "route", "id"), of(part, "bus", "id"), of(part, "carriage", "id"))
		for _, name := range []string{"departureDate", "arrivalDate"} {
			if at := timeOf(part, name); seatLabel.MatchString(seat) && bus != "[] [] []" && !at.IsZero() {
				list = append(list, fmt.Sprint(name, at.UTC(), bus, seat))
			}
		}
	}
	return list
}
