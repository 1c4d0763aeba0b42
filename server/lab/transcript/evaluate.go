package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Instant is the form of an instant, as the interface has it.
const Instant = "2006-01-02T15:04:05.000Z"

var (
	sum     = regexp.MustCompile(`^(\S+) \+ (\S+)( days)?$`)
	day     = regexp.MustCompile(`^day (\S+)( in (\S+))?$`)
	wall    = regexp.MustCompile(`^(clock|time) (\S+) in (\S+)$`)
	refund  = regexp.MustCompile(`^refund (\S+) (\S+) (.+)$`)
	ending  = regexp.MustCompile(`^tier (\S+) (.+)$`)
	inner   = regexp.MustCompile(`^middle (.)(.{2,}).$`)
	dated   = regexp.MustCompile(`^http (.+)$`)
	seconds = regexp.MustCompile(`^unix @(\d+)$`)
)

// evaluate returns what an expression comes to.
func (p *Player) evaluate(expression string) (string, error) {
	text, err := p.Expand(expression)
	if err != nil {
		return "", err
	}
	if m := sum.FindStringSubmatch(text); m != nil {
		return p.add(m[1], m[2], m[3] != "")
	}
	if m := day.FindStringSubmatch(text); m != nil {
		return clockIn(m[1], m[3], time.DateOnly)
	}
	if m := wall.FindStringSubmatch(text); m != nil {
		form := "2006-01-02T15:04"
		if m[1] == "time" {
			form = "15:04"
		}
		return clockIn(m[2], m[3], form)
	}
	if m := refund.FindStringSubmatch(text); m != nil {
		return p.refund(m[1], m[2], m[3])
	}
	if m := ending.FindStringSubmatch(text); m != nil {
		return p.tierEnd(m[1], m[2])
	}
	if rest, ok := strings.CutPrefix(text, "middle "); ok {
		m := inner.FindStringSubmatch("middle " + textOf(rest))
		if m == nil {
			return "", &Unmet{rest + " has no middle"}
		}
		return InText(m[2]), nil
	}
	if m := dated.FindStringSubmatch(text); m != nil {
		at, err := http.ParseTime(m[1])
		return at.UTC().Format(Instant), err
	}
	if m := seconds.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(n, 0).UTC().Format(Instant), err
	}
	return "", fmt.Errorf("%q has no value", text)
}

// clockIn returns what clocks and calendars in a zone show at an instant; "" is UTC.
func clockIn(at, zone, form string) (string, error) {
	then, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return "", err
	}
	where, err := time.LoadLocation(zone)
	if err != nil {
		return "", err
	}
	return then.In(where).Format(form), nil
}

// add adds to a number, a day or an instant.
func (p *Player) add(to, by string, days bool) (string, error) {
	if to == "today" {
		to = p.Now().UTC().Format(time.DateOnly)
	}
	if n, err := strconv.Atoi(by); err == nil && days {
		at, err := time.Parse(time.DateOnly, to)
		return at.AddDate(0, 0, n).Format(time.DateOnly), err
	}
	a, err := strconv.Atoi(to)
	b, err2 := strconv.Atoi(by)
	if err == nil && err2 == nil {
		return strconv.Itoa(a + b), nil
	}
	at := p.Now()
	if to != "now" {
		if at, err = time.Parse(time.RFC3339, to); err != nil {
			return "", err
		}
	}
	d, err := time.ParseDuration(by)
	return at.Add(d).UTC().Format(Instant), err
}

// Tier is a refund rule: so many hours before the departure at least, so many per cent come back.
type Tier struct{ Hours, Amount float64 }

// Tiers are the refund rules of a ticket.
type Tiers []Tier

// Back returns how much of a price comes back so long before the departure: by the tier with the most hours
// of those that are left; without any, nothing.
func (t Tiers) Back(price float64, left time.Duration) float64 {
	percent := 0.0
	most := -1.0
	for _, tier := range t {
		if tier.Hours <= left.Hours() && tier.Hours > most {
			most = tier.Hours
			percent = tier.Amount
		}
	}
	return math.Round(price*percent) / 100
}

// soonest is how far the end of a tier lies ahead at least: what else depends on time is over before it.
const soonest = time.Hour

// tierEnd returns the next instant at which a tier ends.
func (p *Player) tierEnd(departure, rules string) (string, error) {
	var tiers Tiers
	leaves, err := time.Parse(time.RFC3339, departure)
	if err == nil {
		err = json.Unmarshal([]byte(rules), &tiers)
	}
	slices.SortFunc(tiers, func(a, b Tier) int { return cmp.Compare(b.Hours, a.Hours) })
	for _, t := range tiers {
		end := leaves.Add(-time.Duration(t.Hours * float64(time.Hour)))
		if end.Sub(p.Now()) > soonest {
			return end.UTC().Format(Instant), nil
		}
	}
	if err != nil {
		return "", err
	}
	return "", &Unmet{"no tier ends later than now"}
}

// refund returns how much of a price comes back by the tier that applies now.
func (p *Player) refund(price, departure, rules string) (string, error) {
	amount, err := strconv.ParseFloat(price, 64)
	if err != nil {
		return "", err
	}
	leaves, err := time.Parse(time.RFC3339, departure)
	if err != nil {
		return "", err
	}
	var tiers Tiers
	if err := json.Unmarshal([]byte(rules), &tiers); err != nil {
		return "", err
	}
	back := tiers.Back(amount, leaves.Sub(p.Now()))
	return strconv.FormatFloat(back, 'f', -1, 64), nil
}
