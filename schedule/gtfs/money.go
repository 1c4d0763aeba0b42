package gtfs

import (
	"strconv"
	"strings"

	"waybill/schedule"
)

// parseHundredths reads a decimal number with at most two decimals that count.
func parseHundredths(s string) (int64, bool) {
	whole, decimals, _ := strings.Cut(s, ".")
	decimals = strings.TrimRight(decimals, "0")
	if len(decimals) > 2 || len(whole) > 12 || whole == "" && decimals == "" {
		return 0, false
	}
	n, err := strconv.ParseUint("0"+whole+(decimals + "00")[:2], 10, 63)
	return int64(n), err == nil
}

// ParseFarePerKm reads a price per kilometre as in EUR:0.06, of at least a hundredth of a minor unit.
func ParseFarePerKm(s string) (f schedule.FarePerKm, ok bool) {
	currency, amount, _ := strings.Cut(s, ":")
	rate, err := strconv.ParseFloat(amount, 64)
	ok = err == nil && rate >= 1e-4 && rate < 1e6 && isCurrency(currency) && !strings.ContainsAny(amount, "eExX_+")
	return schedule.FarePerKm{Currency: currency, Micros: int64(rate*1e6 + 0.5)}, ok
}

func isCurrency(s string) bool {
	if len(s) != 3 {
		return false
	}
	for _, c := range s {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}

func (im *importer) readFares() error {
	type attributes struct {
		fare schedule.Fare
		line int
		used bool
	}
	fares := map[string]*attributes{}
	var order []*attributes
	err := im.read("fare_attributes.txt", func(t *table) {
		id, currency := t.get("fare_id"), strings.ToUpper(t.get("currency_type"))
		amount, ok := parseHundredths(t.get("price"))
		company := int32(-1)
		if agency := t.get("agency_id"); agency != "" {
			i, known := im.companies[agency]
			if !known {
				t.drop("agency_id %q is not in agency.txt", agency)
				return
			}
			company = i
		}
		switch {
		case id == "" || fares[id] != nil:
			t.drop("fare_id %q is missing or there already", id)
		case !ok:
			t.drop("price %q is not an amount with at most two decimals", t.get("price"))
		case !isCurrency(currency):
			t.drop("currency_type %q is not three letters", t.get("currency_type"))
		default:
			fares[id] = &attributes{fare: schedule.Fare{Company: company, Route: -1, Currency: currency, Amount: amount}, line: t.line}
			order = append(order, fares[id])
		}
	})
	if err != nil {
		return err
	}
	err = im.read("fare_rules.txt", func(t *table) {
		x := fares[t.get("fare_id")]
		if x == nil {
			t.drop("fare_id %q is not a usable fare", t.get("fare_id"))
			return
		}
		x.used = true // also by a rule that cannot be used: the fare is not for everything
		f := x.fare
		if route := t.get("route_id"); route != "" {
			i, ok := im.routes[route]
			if !ok {
				t.drop("route_id %q is not a usable route", route)
			}
			if i == leftOut || !ok {
				return
			}
			f.Route = i
		}
		if t.get("contains_id") != "" {
			t.drop("contains_id is not supported: fares go by the zones of the first and the last stop")
			return
		}
		f.From, f.To = t.get("origin_id"), t.get("destination_id")
		im.out.Fares = append(im.out.Fares, f)
	})
	for _, x := range order {
		if !x.used {
			im.out.Fares = append(im.out.Fares, x.fare)
		}
	}
	return err
}

// routeOf reads a row's route_id, which must be usable where it is given.
func (im *importer) routeOf(t *table) (route int32, ok bool) {
	id := t.get("route_id")
	if id == "" {
		return -1, true
	}
	route, known := im.routes[id]
	if !known {
		t.drop("route_id %q is not a usable route", id)
	}
	return route, known && route != leftOut
}

func (im *importer) readRefundRules() error {
	return im.read("waybill_refund_rules.txt", func(t *table) {
		route, ok := im.routeOf(t)
		if !ok {
			return
		}
		company := int32(-1)
		if route < 0 || t.get("agency_id") != "" {
			if company, ok = im.company(t.get("agency_id")); !ok {
				t.drop("agency_id %q is not in agency.txt", t.get("agency_id"))
				return
			}
		}
		hours, err := strconv.ParseUint(t.get("hours"), 10, 16)
		percent, ok := parseHundredths(t.get("amount"))
		if err != nil || !ok || percent > 100_00 {
			t.drop("hours %q, amount %q are not whole hours and a percentage from 0 to 100", t.get("hours"), t.get("amount"))
			return
		}
		im.out.RefundRules = append(im.out.RefundRules, schedule.RefundRule{
			ID: urlSafe(t.get("rule_id")), Company: company, Route: route, Hours: int32(hours), Percent: percent,
		})
	})
}

func (im *importer) readDiscounts() error {
	return im.read("waybill_discounts.txt", func(t *table) {
		route, ok := im.routeOf(t)
		if !ok {
			return
		}
		first, ok1 := parseDate(t.get("start_date"))
		last, ok2 := parseDate(t.get("end_date"))
		percent, ok := parseHundredths(t.get("amount"))
		switch {
		case route < 0:
			t.drop("has no route_id")
		case !ok1 || !ok2:
			t.drop("start_date %q, end_date %q are not dates as in 20261120", t.get("start_date"), t.get("end_date"))
		case t.get("rule") != "Percent":
			t.drop("rule %q is not Percent", t.get("rule"))
		case !ok || percent > 100_00:
			t.drop("amount %q is not a percentage from 0 to 100", t.get("amount"))
		default:
			im.out.Discounts = append(im.out.Discounts, schedule.Discount{
				ID: urlSafe(t.get("discount_id")), Route: route, Name: t.get("name"), Description: t.get("description"), Percent: percent, First: first, Last: last,
			})
		}
	})
}

func (im *importer) readTransfers() error {
	return im.read("transfers.txt", func(t *table) {
		for _, column := range [...]string{"from_route_id", "to_route_id", "from_trip_id", "to_trip_id"} {
			if t.get(column) != "" {
				t.drop("%s is not supported: transfers go by stop", column)
				return
			}
		}
		from, ok1 := im.stops[t.get("from_stop_id")]
		to, ok2 := im.stops[t.get("to_stop_id")]
		if !ok1 || !ok2 {
			t.drop("from_stop_id %q or to_stop_id %q is not a usable stop", t.get("from_stop_id"), t.get("to_stop_id"))
			return
		}
		x := schedule.Transfer{From: im.out.Stops[from].ID, To: im.out.Stops[to].ID, Forbidden: t.get("transfer_type") == "3"}
		if cell := t.get("min_transfer_time"); cell != "" {
			seconds, err := strconv.ParseUint(cell, 10, 31)
			if err != nil {
				t.drop("min_transfer_time %q is not a number of seconds", cell)
				return
			}
			x.Seconds = int32(seconds)
		} else if !x.Forbidden {
			return // the usual time
		}
		im.out.Transfers = append(im.out.Transfers, x)
	})
}
