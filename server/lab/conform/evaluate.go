package conform

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"waybill/server/lab/transcript"
)

const instant = "2006-01-02T15:04:05.000Z"

var (
	sum     = regexp.MustCompile(`^(\S+) \+ (\S+)( days)?$`)
	minutes = regexp.MustCompile(`^minutes (\S+) (\S+)$`)
	day     = regexp.MustCompile(`^day (\S+)( in (\S+))?$`)
	wall    = regexp.MustCompile(`^clock (\S+) in (\S+)$`)
	refund  = regexp.MustCompile(`^refund (\S+) (\S+) (.+)$`)
	dated   = regexp.MustCompile(`^http (.+)$`)
	seconds = regexp.MustCompile(`^unix @(\d+)$`)
)

// evaluate returns the value of an expression:
//
//	NUMBER + NUMBER                  a sum
//	DATE + NUMBER days               a day; today is one
//	INSTANT + DURATION               an instant; now is one
//	minutes INSTANT INSTANT          what lies between
//	day INSTANT                      its day in UTC
//	day INSTANT in ZONE              its day there
//	clock INSTANT in ZONE            what its clocks show, to the minute
//	refund PRICE DEPARTURE RULES     what comes back of a price that is canceled now (interface, States)
//	http DATE                        the instant of a date as in headers
//	unix @SECONDS                    that of seconds since 1970
func (p *player) evaluate(vars *transcript.Player, expression string) (string, error) {
	text, err := vars.Expand(expression)
	if err != nil {
		return "", err
	}
	if m := sum.FindStringSubmatch(text); m != nil {
		return p.add(m[1], m[2], m[3] != "")
	}
	if m := minutes.FindStringSubmatch(text); m != nil {
		from, err := time.Parse(time.RFC3339, m[1])
		to, err2 := time.Parse(time.RFC3339, m[2])
		if err == nil && err2 == nil {
			return strconv.Itoa(int(to.Sub(from).Minutes())), nil
		}
	}
	if m := day.FindStringSubmatch(text); m != nil {
		return clockIn(m[1], m[3], time.DateOnly)
	}
	if m := wall.FindStringSubmatch(text); m != nil {
		return clockIn(m[1], m[2], "2006-01-02T15:04")
	}
	if m := refund.FindStringSubmatch(text); m != nil {
		return p.refund(m[1], m[2], m[3])
	}
	if m := dated.FindStringSubmatch(text); m != nil {
		at, err := http.ParseTime(m[1])
		return at.UTC().Format(instant), err
	}
	if m := seconds.FindStringSubmatch(text); m != nil {
		n, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(n, 0).UTC().Format(instant), err
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
func (p *player) add(to, by string, days bool) (string, error) {
	if to == "today" {
		to = p.skew.now().UTC().Format(time.DateOnly)
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
	at := p.skew.now()
	if to != "now" {
		if at, err = time.Parse(time.RFC3339, to); err != nil {
			return "", err
		}
	}
	d, err := time.ParseDuration(by)
	return at.Add(d).UTC().Format(instant), err
}

// refund returns how much of a price comes back by the tier that applies now: of those whose hours are left
// until the departure the one with the most; without any, nothing.
func (p *player) refund(price, departure, rules string) (string, error) {
	amount, err := strconv.ParseFloat(price, 64)
	if err != nil {
		return "", err
	}
	leaves, err := time.Parse(time.RFC3339, departure)
	if err != nil {
		return "", err
	}
	var tiers []struct{ Hours, Amount float64 }
	if err := json.Unmarshal([]byte(rules), &tiers); err != nil {
		return "", err
	}
	left := leaves.Sub(p.skew.now()).Hours()
	percent := 0.0
	most := -1.0
	for _, t := range tiers {
		if t.Hours <= left && t.Hours > most {
			most = t.Hours
			percent = t.Amount
		}
	}
	back := math.Round(amount*percent) / 100
	return strconv.FormatFloat(back, 'f', -1, 64), nil
}

// secret returns a text as it stands in a JSON string.
func secret(text string) string {
	quoted, _ := json.Marshal(text)
	return strings.Trim(string(quoted), `"`)
}
