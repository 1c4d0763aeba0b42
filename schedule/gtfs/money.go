package gtfs

import (
	"math"
	"strconv"
	"strings"

	"waybill/schedule"
)

// ParseFarePerKm reads a price per kilometre as in EUR:0.06, of at least a hundredth of a minor unit.
func ParseFarePerKm(s string) (f schedule.FarePerKm, ok bool) {
	currency, amount, _ := strings.Cut(s, ":")
	rate, err := strconv.ParseFloat(amount, 64)
	ok = err == nil && rate >= 1e-4 && rate < 1e6 && isCurrency(currency) && !strings.ContainsAny(amount, "eExX_+")
	return schedule.FarePerKm{Currency: currency, Micros: int64(rate*1e6 + 0.5)}, ok
}

func isCurrency(s string) bool { return len(s) == 3 && strings.Trim(s, upper) == "" }

func (f *Feed) readFares() {
	type fare struct {
		schedule.Fare
		ruled bool
	}
	var fares []fare
	byID := index{}
	for r := range f.rows("fare_attributes.txt") {
		id, company := r.id("fare_id", byID), int32(-1)
		if r.get("agency_id") != "" { // blank is every agency, even where there is but one
			company = r.ref("agency_id", f.companies, "agency.txt")
		}
		amount := r.hundredths("price", math.MaxInt64, "is not an amount with at most two decimals")
		currency := strings.ToUpper(r.get("currency_type"))
		r.check(isCurrency(currency), "currency_type", "is not three letters")
		if !r.unused {
			byID[id] = add(&fares, fare{Fare: schedule.Fare{Company: company, Route: -1, Currency: currency, Amount: amount}})
		}
	}
	for r := range f.rows("fare_rules.txt") {
		i := r.ref("fare_id", byID, "fare_attributes.txt")
		if r.unused {
			continue
		}
		fares[i].ruled = true // also by a rule that cannot be used: the fare is not for everything
		fare := fares[i].Fare
		fare.Route = r.maybe("route_id", f.routes, "routes.txt")
		fare.From, fare.To = r.get("origin_id"), r.get("destination_id")
		r.check(r.get("contains_id") == "", "contains_id", "is not supported: fares go by the zones of the first and the last stop")
		if !r.unused {
			f.out.Fares = append(f.out.Fares, fare)
		}
	}
	for _, x := range fares {
		if !x.ruled {
			f.out.Fares = append(f.out.Fares, x.Fare)
		}
	}
}

const notPercent = "is not a percentage from 0 to 100"

func (f *Feed) readRefundRules() {
	for r := range f.rows("waybill_refund_rules.txt") {
		route, company := r.maybe("route_id", f.routes, "routes.txt"), int32(-1)
		if route < 0 || r.get("agency_id") != "" {
			company = r.ref("agency_id", f.companies, "agency.txt")
		}
		hours, percent := r.number("hours", 0, math.MaxUint16), r.hundredths("amount", 100_00, notPercent)
		if !r.unused {
			f.out.RefundRules = append(f.out.RefundRules, schedule.RefundRule{
				ID: urlSafe(r.get("rule_id")), Company: company, Route: route, Hours: int32(hours), Percent: percent,
			})
		}
	}
}

func (f *Feed) readDiscounts() {
	for r := range f.rows("waybill_discounts.txt") {
		route := r.ref("route_id", f.routes, "routes.txt")
		first, last := r.date("start_date"), r.date("end_date")
		r.check(r.get("rule") == "Percent", "rule", "is not Percent")
		percent := r.hundredths("amount", 100_00, notPercent)
		if !r.unused {
			f.out.Discounts = append(f.out.Discounts, schedule.Discount{
				ID: urlSafe(r.get("discount_id")), Route: route, Name: r.get("name"), Description: r.get("description"),
				Percent: percent, First: first, Last: last,
			})
		}
	}
}

func (f *Feed) readTransfers() {
	for r := range f.rows("transfers.txt") {
		for _, column := range []string{"from_route_id", "to_route_id", "from_trip_id", "to_trip_id"} {
			r.check(r.get(column) == "", column, "is not supported: transfers go by stop")
		}
		from, to := r.ref("from_stop_id", f.stops, "stops.txt"), r.ref("to_stop_id", f.stops, "stops.txt")
		forbidden, usual, seconds := r.get("transfer_type") == "3", r.get("min_transfer_time") == "", 0
		if !usual {
			seconds = r.number("min_transfer_time", 0, math.MaxInt32)
		}
		if r.unused || usual && !forbidden {
			continue
		}
		f.out.Transfers = append(f.out.Transfers, schedule.Transfer{
			From: f.out.Stops[from].ID, To: f.out.Stops[to].ID, Seconds: int32(seconds), Forbidden: forbidden,
		})
	}
}
