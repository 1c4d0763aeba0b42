package gtfs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"waybill/schedule"
)

// readFares reads the prices of rides. A skipped fare rule widens nothing. A fare whose rules were all
// skipped matches nothing, and a less specific fare does not price rides that a skipped rule matches.
func (f *Feed) readFares() {
	fares, lines, lost := f.readFareAttributes()
	usable := make([]int, len(fares)) // rules, by fare
	skipped := make([]int, len(fares))
	unknown := 0               // rules of which not even the fare can be read
	ruled := map[string]bool{} // fares that were skipped and have rules
	seen := map[schedule.Fare]map[int32]bool{}
	withheld := map[schedule.Withheld]bool{}
	for r := range f.files.Rows("fare_rules.txt") {
		id := r.Get("fare_id")
		// A fare may be known and its rule be skipped all the same, for the route or the zones it names.
		i, known := r.Find("fare_id", "fare_attributes.txt")
		rule := schedule.Fare{Company: -1}
		if known {
			rule = fares[i]
		}
		again := f.readFareRule(r, &rule, seen)
		if !r.Unused {
			usable[i]++
			f.out.Fares = append(f.out.Fares, rule)
			continue
		}
		switch {
		case again:
			continue
		case known:
			skipped[i]++
		case id == "" && r.Reason != "":
			unknown++
		default:
			fare, was := lost[id]
			if !was {
				continue // there never was such a fare
			}
			rule.Company = fare.Company
			rule.Currency = fare.Currency
			ruled[id] = true
		}
		// On a route that is not in the tables there is nothing to withhold.
		everywhere := r.Get("route_id") == ""
		if r.Reason != "" && (everywhere || r.Known("route_id", "routes.txt")) {
			f.withhold(r, &rule, withheld)
		}
	}
	f.adoptUnruled(fares, lines, usable, skipped, unknown)
	f.withholdLost(lost, ruled)
	f.countAlike()
}

// withhold keeps the rides that a skipped rule matches from fares that are less specific.
func (f *Feed) withhold(r *Row, rule *schedule.Fare, withheld map[schedule.Withheld]bool) {
	w := schedule.Withheld{
		Company:  rule.Company,
		Route:    rule.Route,
		From:     rule.From,
		To:       rule.To,
		Currency: rule.Currency,
	}
	if !withheld[w] {
		withheld[w] = true
		f.out.Withheld = append(f.out.Withheld, w)
	}
	r.Decided("skipped fare rules, whose rides only an equally specific fare prices")
}

// adoptUnruled takes the fares that have no rule at all. They match every ride that no other fare names.
// usable and skipped count rules by fare; unknown are rules of which not even the fare can be read.
func (f *Feed) adoptUnruled(fares []schedule.Fare, lines, usable, skipped []int, unknown int) {
	for i, x := range fares {
		switch {
		case usable[i] > 0:
		case skipped[i] > 0:
			f.files.Decided("fare_attributes.txt", lines[i],
				"fares whose rules were all skipped, which match nothing")
		case unknown > 0:
			f.files.Decided("fare_attributes.txt", lines[i], "fares without a rule, which match nothing "+
				"because a skipped rule may belong to them")
		default:
			f.files.Decided("fare_attributes.txt", lines[i],
				"fares without a rule, which match every ride without a more specific fare")
			f.out.Fares = append(f.out.Fares, x)
		}
	}
}

// withholdLost keeps the rides of a company from other fares where a fare for all of them was skipped.
func (f *Feed) withholdLost(lost map[string]schedule.Fare, ruled map[string]bool) {
	for _, id := range slices.Sorted(maps.Keys(lost)) {
		if x := lost[id]; !ruled[id] && x.Company >= 0 { // it was for all rides of a company
			f.out.Withheld = append(f.out.Withheld, schedule.Withheld{
				Company:  x.Company,
				Route:    -1,
				Currency: x.Currency,
			})
			f.files.Decided("", 0,
				"skipped fares of a company, whose rides only an equally specific fare prices")
		}
	}
}

// readFareAttributes returns the fares, the line of each, and the skipped fares by their ids, as far as
// they can be read.
func (f *Feed) readFareAttributes() (fares []schedule.Fare, lines []int, lost map[string]schedule.Fare) {
	lost = map[string]schedule.Fare{}
	for r := range f.files.Rows("fare_attributes.txt") {
		fare := schedule.Fare{
			Company:  -1,
			Route:    -1,
			Currency: strings.ToUpper(r.Get("currency_type")),
		}
		r.ID("fare_id")
		if r.Get("agency_id") != "" { // blank means every agency, even where there is only one
			fare.Company = r.Ref("agency_id", "agency.txt")
		}
		fare.Amount = r.Hundredths("price", schedule.MaxAmount,
			"is not an amount up to 10000000000 with at most two decimals")
		r.Check(schedule.IsCurrency(fare.Currency), "currency_type", "is not three letters")
		if r.Unused {
			// The readable members say which rides no other fare may price.
			if !r.Known("agency_id", "agency.txt") {
				fare.Company = -1
			}
			if !schedule.IsCurrency(fare.Currency) {
				fare.Currency = ""
			}
			// A second row of a good fare takes nothing away from it.
			if !r.Known("fare_id", r.File) {
				lost[r.Get("fare_id")] = fare
			}
			continue
		}
		lines = append(lines, r.Line)
		if fare.Amount == 0 {
			r.Decided("fares of 0.00, whose rides are free")
		}
		keep(r, &fares, fare)
	}
	return fares, lines, lost
}

// readFareRule reads which rides a row of fare_rules.txt names, and reports whether an earlier row names
// the same.
func (f *Feed) readFareRule(r *Row, rule *schedule.Fare,
	seen map[schedule.Fare]map[int32]bool) (again bool) {
	i := r.Ref("fare_id", "fare_attributes.txt")
	rule.Route = r.Maybe("route_id", "routes.txt")
	rule.From = r.Get("origin_id")
	rule.To = r.Get("destination_id")
	// Such a fare depends on the zones in between, which a search does not look at.
	r.Check(r.Get("contains_id") == "", "contains_id",
		"is not supported: fares go by the zones of the first and last stops")
	if r.Unused {
		return false
	}
	again = seen[*rule][i]
	if again {
		r.Fail(fmt.Sprintf("fare_id %q already exists for the same rides", r.Get("fare_id")))
		return true
	}
	if seen[*rule] == nil {
		seen[*rule] = map[int32]bool{}
	}
	seen[*rule][i] = true
	return false
}

// countAlike counts the fares that are for the same rides.
func (f *Feed) countAlike() {
	same := map[schedule.Fare]bool{} // but for the amount
	for _, x := range f.out.Fares {
		x.Amount = 0
		if same[x] {
			f.files.Decided("", 0, "fares for the same rides as another fare; the cheapest counts, "+
				"whatever passenger it is for")
		}
		same[x] = true
	}
}
