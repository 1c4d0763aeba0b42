package conform

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// clock is what is known of the server's clock.
type clock struct {
	ahead    time.Duration // of this machine's
	still    time.Time     // where it stands still; zero while it ticks
	moveable bool
}

// now returns the instant by the server's clock.
func (c *clock) now() time.Time {
	if !c.still.IsZero() {
		return c.still
	}
	return time.Now().Add(c.ahead)
}

// readClock asks the server for its clock: the test clock, or else the Date of its answers.
func (p *player) readClock() error {
	a, err := p.send("GET", p.baseURL()+"/test/clock", "", nil)
	if err != nil {
		return err
	}
	p.skew = new(clock)
	var shown struct {
		Data struct {
			Now    time.Time
			Frozen bool
		}
	}
	at, bad := http.ParseTime(a.Header.Get("Date"))
	if a.Status == http.StatusOK && json.Unmarshal(a.Body, &shown) == nil {
		p.skew.moveable = true
		at = shown.Data.Now
		bad = nil
	}
	if shown.Data.Frozen {
		p.skew.still = at
	}
	if bad == nil {
		p.skew.ahead = time.Until(at)
	}
	return nil
}

// advance moves the test clock. Without a world of its own a run moves that of the server, for everybody.
func (p *player) advance(by string) error {
	if err := p.mayWrite(); err != nil {
		return err
	}
	if !p.skew.moveable {
		return &skip{"it needs a test clock"}
	}
	a, err := p.send("POST", p.baseURL()+"/test/clock", `{"advance":"`+by+`"}`, http.Header{})
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return &skip{fmt.Sprintf("the test clock answers %d", a.Status)}
	}
	return p.readClock()
}

const instant = "2006-01-02T15:04:05.000Z"

var (
	sum     = regexp.MustCompile(`^(\S+) \+ (\S+)( days)?$`)
	minutes = regexp.MustCompile(`^minutes (\S+) (\S+)$`)
	day     = regexp.MustCompile(`^day (\S+)$`)
	refund  = regexp.MustCompile(`^refund (\S+) (\S+) (.+)$`)
)

// evaluate returns the value of an expression:
//
//	NUMBER + NUMBER                  a sum
//	DATE + NUMBER days               a day
//	INSTANT + DURATION               an instant; now is one
//	minutes INSTANT INSTANT          what lies between
//	day INSTANT                      its day in UTC
//	refund PRICE DEPARTURE RULES     what comes back of a price that is canceled now (interface, States)
func (p *player) evaluate(expression string) (string, error) {
	text, err := p.Expand(expression)
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
		at, err := time.Parse(time.RFC3339, m[1])
		return at.UTC().Format(time.DateOnly), err
	}
	if m := refund.FindStringSubmatch(text); m != nil {
		return p.refund(m[1], m[2], m[3])
	}
	return "", fmt.Errorf("%q has no value", text)
}

// add adds to a number, a day or an instant.
func (p *player) add(to, by string, days bool) (string, error) {
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
