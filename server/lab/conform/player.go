package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"waybill/server/lab/transcript"
)

// player plays rules. Besides requests and checks it knows these steps:
//
//	as key|key2|stranger|nobody|session   who asks from here on; a rule begins as key
//	set NAME TEXT                         keeps a text
//	NAME = EXPRESSION                     see [player.evaluate]
//	offer NAME SEATS                      looks for an offer, see [player.offer]
//	book NAME SEATS                       books; $NAME is the booking, $NAME_t1 … its tickets
//	advance DURATION                      moves the test clock
//	in-a-world                            what follows is for a world that others do not see
//	fault RULE                            has something go wrong in the world
//	run TRIP DATE CHANGE                  has the carrier change a run in the world
//
// A check after a question mark is a condition: where it does not hold, the rule is not shown. "? !STATUS" is
// that the status is another.
type player struct {
	transcript.Player
	opt    Options
	client *http.Client
	known  map[string]string // what every stage begins with
	caller string

	request string         // the last, as it is shown where a rule failed
	cookies []*http.Cookie // of the session; nil before it is there
	skew    *clock

	world     string // where one was made for the run; "" is none
	worldName string

	seats  int // that were booked, see MaxSeats
	booked []bookedBy
}

// bookedBy is a booking that is to be canceled, and whose it is.
type bookedBy struct{ id, key string }

// newPlayer returns a player who has asked nothing yet.
func newPlayer(opt Options) *player {
	return &player{
		opt: opt,
		client: &http.Client{
			// A redirect is no answer of the interface, and would take the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		known: map[string]string{"unknown": "no-such-thing-0"},
	}
}

// playSteps plays steps, as a rule has them. Errors: *skip, *transcript.Unknown, or what is wrong.
func (p *player) playSteps(steps []string) error {
	p.caller = "key"
	p.request = ""
	p.Answer = transcript.Answer{}
	for _, step := range steps {
		if p.stopped() {
			return &skip{"the run was stopped"}
		}
		if err := p.playStep(step); err != nil {
			return err
		}
	}
	return nil
}

var assignment = regexp.MustCompile(`^(\w+) = (.+)$`)

// playStep plays one step.
func (p *player) playStep(step string) error {
	line := strings.TrimSpace(step)
	if strings.HasPrefix(step, " ") {
		return p.check(line)
	}
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "as":
		return p.become(rest)
	case "set":
		name, text, _ := strings.Cut(rest, " ")
		text, err := p.Expand(text)
		p.Vars[name] = text
		return err
	case "offer":
		return p.offer(rest)
	case "book":
		return p.book(rest)
	case "advance":
		return p.advance(rest)
	case "in-a-world":
		return p.mayHarm()
	case "fault":
		return p.fault(rest)
	case "run":
		return p.changeRun(rest)
	}
	if m := assignment.FindStringSubmatch(line); m != nil {
		value, err := p.evaluate(m[2])
		p.Vars[m[1]] = value
		return err
	}
	return p.ask(line)
}

// check does a check, or tries a condition. A server may lack what a rule is about, as discounts: then the
// rule says nothing of it.
func (p *player) check(line string) error {
	condition, ok := strings.CutPrefix(line, "? ")
	if !ok {
		return p.Check(line)
	}
	if status, not := strings.CutPrefix(condition, "!"); not {
		if strconv.Itoa(p.Answer.Status) == status {
			return &skip{"the answer is " + status}
		}
		return nil
	}
	err := p.Check(condition)
	var wrong *transcript.Mismatch
	if errors.As(err, &wrong) {
		return &skip{"not: " + strings.ReplaceAll(wrong.Error(), "\n", ", ")}
	}
	return err
}

// become has somebody else ask from here on.
func (p *player) become(who string) error {
	p.caller = who
	switch {
	case who == "key2" && p.opt.Key2 == "":
		return &skip{"it needs -key2"}
	case who == "session" && p.opt.IDToken == "":
		return &skip{"it needs -id-token"}
	case who == "session" && p.cookies == nil:
		return p.signIn()
	}
	return nil
}

// signIn makes the session.
func (p *player) signIn() error {
	if err := p.mayWrite(); err != nil {
		return err
	}
	body, _ := json.Marshal(map[string]string{"idToken": p.opt.IDToken})
	a, err := p.send("POST", p.baseURL()+"/v2/auth/idp/login", string(body), http.Header{})
	if err != nil {
		return err
	}
	if a.Status != http.StatusOK {
		return &skip{fmt.Sprintf("the sign-in was answered with %d", a.Status)}
	}
	p.cookies = (&http.Response{Header: a.Header}).Cookies()
	return nil
}

// mayWrite refuses what is not a GET unless it is allowed.
func (p *player) mayWrite() error {
	if !p.opt.Write {
		return &skip{"it needs -write"}
	}
	return nil
}

// ask makes a request of the interface, as the caller. What it books is remembered
// before anything is checked: a server that breaks a rule books all the same.
func (p *player) ask(line string) error {
	method, target, body := transcript.Split(line)
	if method != http.MethodGet {
		if err := p.mayWrite(); err != nil {
			return err
		}
	}
	if strings.Contains(body, "$idToken") && p.opt.IDToken == "" {
		return &skip{"it needs -id-token"}
	}
	target, err := p.ExpandAs(target, inTarget)
	if err != nil {
		return err
	}
	if body, err = p.Expand(body); err != nil {
		return err
	}
	header, key, err := p.header()
	if err != nil {
		return err
	}
	if err := p.afford(method, target, body); err != nil {
		return err
	}
	p.request = method + " " + p.baseURL() + target
	if body != "" {
		p.request += " " + body
	}
	p.Answer = transcript.Answer{}
	a, err := p.send(method, p.baseURL()+target, body, header)
	if err != nil {
		return err
	}
	p.Answer = a
	p.rememberBookings(method, target, key)
	return nil
}

// inTarget returns the form of a value in a target: what is no target itself is escaped.
func inTarget(value string) string {
	if strings.HasPrefix(value, "/") {
		return value
	}
	return url.QueryEscape(value)
}

// header returns what a request shows of who asks; key is the partner's.
func (p *player) header() (h http.Header, key string, err error) {
	h = http.Header{}
	switch p.caller {
	case "key":
		if key = p.opt.Key; key == "" {
			return h, "", &skip{"it needs -key"}
		}
	case "key2":
		key = p.opt.Key2
	case "stranger":
		h.Set("x-api-key", "no-such-key")
	case "session":
		r := http.Request{Header: h}
		for _, c := range p.cookies {
			r.AddCookie(c)
		}
	}
	if key != "" {
		h.Set("x-api-key", key)
	}
	return h, key, nil
}
