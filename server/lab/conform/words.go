package conform

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/server/frame/words"
)

// Differences are put into words that lead the author of a server to the fault. Each question at the end is a
// guess.

// explainRows says what rows there are too many or too few of, and reports whether that says all.
func (c *comparison) explainRows(path string, got, want, more, less []any) bool {
	what := last(path)
	if len(more) == 0 && len(less) == 0 {
		return true
	}
	if by := shiftOf(got, want); by != 0 && len(more) > 0 {
		c.say(shifted("departures", by, offsetOf(want)))
		return true
	}
	if len(more) == len(less) {
		return false
	}
	if len(more) < len(less) {
		guess := ""
		switch row := less[0]; {
		case what != "departures" && what != "offers":
		case hasChange(row):
			guess = ": are journeys with a change searched for?"
		case startOf(row) != "" && clockOf(row) < "06:00":
			guess = ": does a run after midnight belong to the service day before?"
		default:
			guess = ": are calendar and calendar_dates both read, and runs of every stop of the city?"
		}
		c.say(fmt.Sprintf("%d of %d %s are missing, the first%s%s", len(less)-len(more), len(want), what,
			nameOf(less[0]), guess))
		return true
	}
	guess := ""
	if at, ok := instantOf(startOf(more[0])); ok {
		guess = ": is a journey listed that a better one rules out, or on a day on which it does not " +
			"run? Do take and skip count the whole window?"
		if !at.After(c.now) {
			guess = ": are departures that have already left omitted?"
		}
	}
	c.say(fmt.Sprintf("%d %s too many, the first%s%s", len(more)-len(less), what, nameOf(more[0]), guess))
	return true
}

// say keeps the first remark about a list.
func (c *comparison) say(words string) {
	c.words = cmp.Or(c.words, words)
}

// startOf returns when a row leaves; "" where it has no such time.
func startOf(row any) string {
	members, _ := row.(map[string]any)
	if at, ok := members["departureDateTime"].(string); ok {
		return at
	}
	first := ""
	legs, _ := members["slices"].([]any)
	for _, leg := range legs {
		slice, _ := leg.(map[string]any)
		at, _ := slice["departureDate"].(string)
		if first == "" || at < first {
			first = at
		}
	}
	return first
}

// clockOf returns the wall clock by which a row leaves.
func clockOf(row any) string {
	_, clock, _ := strings.Cut(startOf(row), "T")
	return clock
}

// hasChange reports whether an offer has two legs.
func hasChange(row any) bool {
	members, _ := row.(map[string]any)
	legs, _ := members["slices"].([]any)
	return len(legs) > 1
}

// nameOf returns what a row can be recognized by, after a space or a word.
func nameOf(row any) string {
	if at := startOf(row); at != "" {
		return " at " + at
	}
	members, _ := row.(map[string]any)
	for _, name := range []string{"slug", "name", "place", "status", "hours", "currency"} {
		if v := members[name]; v != nil {
			return fmt.Sprintf(" %v", v)
		}
	}
	return ""
}

// shiftOf returns by how much most departures of a list are earlier (negative) or later than those of another
// list; 0 where they are not shifted alike. A list may have lost or gained rows at its ends by that.
func shiftOf(got, want []any) time.Duration {
	best := time.Duration(0)
	most := 1
	for lag := -2; lag <= 2; lag++ {
		count := map[time.Duration]int{}
		for i := range got {
			if i+lag < 0 || i+lag >= len(want) {
				continue
			}
			x, ok := instantOf(startOf(got[i]))
			y, ok2 := instantOf(startOf(want[i+lag]))
			if ok && ok2 {
				count[x.Sub(y)]++
			}
		}
		for by, n := range count {
			if n > most && 5*n >= 4*min(len(got), len(want)) && len(got) > 1 {
				most = n
				best = by
			}
			if by == 0 && n >= most {
				most = n
				best = 0
			}
		}
	}
	return best
}

// offsetOf returns the offset from UTC of the first row's clock; 0 where it shows none.
func offsetOf(rows []any) time.Duration {
	for _, row := range rows {
		if at, ok := instantOf(startOf(row)); ok {
			_, seconds := at.Zone()
			return time.Duration(seconds) * time.Second
		}
	}
	return 0
}

// shifted says that times are early or late, and guesses why.
func shifted(what string, by, offset time.Duration) string {
	side := "late"
	if by < 0 {
		side = "early"
	}
	long := by.Abs()
	text := long.String()
	switch {
	case long%(24*time.Hour) == 0:
		text = words.Counted(int(long/(24*time.Hour)), "day")
	case long%time.Hour == 0:
		text = fmt.Sprintf("%d h", long/time.Hour)
	case long%time.Minute == 0:
		text = fmt.Sprintf("%d min", long/time.Minute)
	}
	guess := "are times and minutes added as the feed has them?"
	switch {
	case long%(24*time.Hour) == 0:
		guess = "is the date a day in the departure city?"
	case what == "arrivals":
		guess = "is the zone that of the city where one alights?"
	case long == offset.Abs() || offset == 0 && long <= 3*time.Hour:
		guess = "is the service day counted in UTC?"
	case long == time.Hour:
		guess = "is the service day counted from noon minus 12 h, and the zone that of the city?"
	}
	return fmt.Sprintf("%s are %s %s: %s", what, text, side, guess)
}

// explain says what differs, by the first difference of the first kind that there is.
func (c *comparison) explain() string {
	if len(c.differences) == 0 {
		return ""
	}
	for _, by := range []func([]difference) string{explainTimes, explainPrices} {
		if text := by(c.differences); text != "" {
			return text
		}
	}
	d := c.differences[0]
	text := fmt.Sprintf("%s is %s, but at the other server %s", d.path, shown(d.got), shown(d.want))
	if guess := guesses[last(d.path)]; guess != "" {
		text += ": " + guess
	}
	return text
}

// guesses are what may be wrong where a member has another value.
var guesses = map[string]string{
	"seatsLeft": "which tickets still have a seat, and on which part of the way?",
	"total":     "is it counted before the page is cut?",
	"refundAmount": "within 20 minutes of its creation all comes back, later what the rule with " +
		"the most hours says that still applies; each leg has its own rules",
	"travelTimeMinutes": "waits between two legs are included",
	"duration":          "it is in minutes, from boarding to alighting",
	"routeName":         "it is that of the first leg, in the language that is asked for",
	"timeZone":          "it is that of the city, not of the agency",
	"hours":             "a route's own refund rules replace those of its agency",
	"status":            "a ticket's follows its table of states, a booking's its own",
	"paymentStatus":     "which transition of the table of states is this?",
	"departureTime":     "is it the wall clock of the stop's city?",
	"arrivalTime":       "is it the wall clock of the stop's city?",
	"paymentRequiredBy": "it is 20 minutes after the earliest unpaid ticket was created, else null",
	"expiresAt":         "an offer lives for 20 minutes",
	"source":            "it is that of the agency: the service's own, or an external operator",
}

// shown returns a value as JSON.
func shown(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// explainTimes says that all departures or arrivals lie as far off.
func explainTimes(list []difference) string {
	for _, of := range []struct{ what, member, local string }{
		{"departures", "departureDate", "departureDateTime"},
		{"arrivals", "arrivalDate", "arrivalDateTime"},
	} {
		by := map[time.Duration]bool{}
		offset := time.Duration(0)
		for _, d := range list {
			x, ok := instantOf(d.got)
			y, ok2 := instantOf(d.want)
			if name := last(d.path); (name == of.member || name == of.local) && ok && ok2 {
				by[x.Sub(y)] = true
				_, seconds := y.Zone()
				offset = time.Duration(seconds) * time.Second
			}
		}
		if len(by) != 1 {
			continue
		}
		for far := range by {
			if far == 0 {
				return of.what + " have the right instant with another offset: is it the wall clock of " +
					"the city?"
			}
			return shifted(of.what, far, offset)
		}
	}
	return ""
}

// explainPrices says what all prices have in common.
func explainPrices(list []difference) string {
	ratios := map[float64]bool{}
	var first *difference
	for i, d := range list {
		x, ok := d.got.(float64)
		y, ok2 := d.want.(float64)
		if last(d.path) != "amount" || !strings.Contains(d.path, "price") || !ok || !ok2 || y == 0 {
			continue
		}
		ratios[float64(int(1000*x/y+0.5))/1000] = true
		if first == nil {
			first = &list[i]
		}
	}
	if first == nil {
		return ""
	}
	text := fmt.Sprintf("a price is %s, but at the other server %s", shown(first.got), shown(first.want))
	ratio := slices.Collect(maps.Keys(ratios))[0]
	switch {
	case len(ratios) == 1 && (ratio == 100 || ratio == 0.01):
		return text + ": is it in whole units of the currency, with two decimals?"
	case len(ratios) == 1 && ratio > 1 && ratio < 2:
		return text + ": is the discount that is in force taken off?"
	}
	return text + ": is the fare the most specific one that matches, and of those the cheapest, and is the " +
		"discount taken off?"
}
