package conform

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"waybill/server/lab/transcript"
)

// player plays rules. Besides requests and checks it knows these steps:
//
//	as key|key2|stranger|nobody|session|fresh|old   who asks from here on; a rule begins as key
//	set NAME TEXT                  keeps a text
//	NAME = EXPRESSION              see [player.evaluate]
//	with NAME: VALUE               the next request has this header
//	await CHECK                    asks the last question again until the check holds
//	keep-cookies                   old is the session as it is now
//	offer NAME SEATS [KIND]        looks for an offer, see [player.offer]; KIND is change, discount or
//	                               external, without it the main journey is meant
//	book NAME SEATS [KIND]         books; $NAME is the booking, $NAME_t1 … its tickets
//	find-stop                      has $stop, of -stop or of an offer
//	advance DURATION               moves the test clock; also "advance to INSTANT"
//	in-a-world                     what follows is for a world that others do not see, the same in a stage
//	fault RULE                     has something go wrong in that world
//	run TRIP DATE CHANGE           has the carrier change a run in it
//
// A check after a question mark is a condition: where it does not hold, the rule is not shown. "? !STATUS" is
// that the status is another.
type player struct {
	transcript.Player
	opt    Options
	client *http.Client
	known  map[string]string // what every stage begins with
	never  map[string]error  // why a stage lacks what it might begin with
	causes map[string]string // of failures that were told in full: the rule
	caller string

	lacking map[string]error // variables without a value, and why

	line    string       // the last request, as the rule has it
	request string       // and as it is shown where the rule failed
	again   func() error // asks it again
	header  http.Header  // of the next request
	extra   http.Header  // that the last one had
	silent  bool         // nothing came
	cookies map[string][]*http.Cookie
	skew    *clock

	world, scratch world // of the run, and of a stage
	inScratch      bool
	outside        *clock // while in there, that of where the run is

	search search
	like   reference

	seats        int // that were booked, see MaxSeats
	booked       []bookedBy
	left         []string // bookings that could not be canceled
	uncancelable []string // bookings of a server that has no cancel
}

// newPlayer returns a player who has asked nothing yet.
func newPlayer(opt Options) *player {
	return &player{
		Player: transcript.Player{Vars: map[string]string{}},
		opt:    opt,
		client: &http.Client{
			// A redirect is no answer of the interface, and would take the key elsewhere.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		known: map[string]string{
			"unknown": "no-such-thing-0",
			"lesia":   people[0],
			"ivan":    people[1],
		},
		never:   map[string]error{},
		causes:  map[string]string{},
		cookies: map[string][]*http.Cookie{},
	}
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
		return p.set(name, text, (*transcript.Player).Expand)
	case "with":
		return p.with(rest)
	case "await":
		return p.await(rest)
	case "keep-cookies":
		p.cookies["old"] = p.cookies["fresh"]
		return nil
	case "offer":
		return p.offer(rest)
	case "book":
		return p.book(rest)
	case "find-stop":
		return p.findStop()
	case "advance":
		return p.advance(rest)
	case "in-a-world":
		return p.enterWorld()
	case "fault":
		return p.bringAbout("/faults", "["+rest+"]")
	case "run":
		return p.changeRun(rest)
	}
	if m := assignment.FindStringSubmatch(line); m != nil {
		return p.set(m[1], m[2], p.evaluate)
	}
	return p.ask(line)
}

// set keeps a value, and for the other server that which it is there.
func (p *player) set(name, text string, value func(*transcript.Player, string) (string, error)) error {
	v, err := value(&p.Player, text)
	if err != nil {
		return err
	}
	p.Vars[name] = v
	p.like.set(name, text, value)
	return nil
}

// with gives the next request a header.
func (p *player) with(rest string) error {
	name, value, _ := strings.Cut(rest, ": ")
	value, err := p.Expand(value)
	if p.header == nil {
		p.header = http.Header{}
	}
	p.header.Set(name, value)
	return err
}

// check does a check, or tries a condition. A server may lack what a rule is about, as discounts: then the
// rule says nothing of it.
func (p *player) check(line string) error {
	condition, ok := strings.CutPrefix(line, "? ")
	if !ok {
		p.like.keep(line)
		return p.Check(line)
	}
	if status, not := strings.CutPrefix(condition, "!"); not {
		if strconv.Itoa(p.Answer.Status) == status {
			return &skip{"the answer is " + status}
		}
		return nil
	}
	p.like.keep(condition)
	err := p.Check(condition)
	var wrong *transcript.Mismatch
	if errors.As(err, &wrong) {
		return &skip{"not: " + strings.ReplaceAll(wrong.Error(), "\n", ", ")}
	}
	return err
}

// mayWrite refuses what is not a GET unless it is allowed.
func (p *player) mayWrite() error {
	if !p.opt.Write {
		return &skip{"it needs -write"}
	}
	return nil
}

// stopped reports whether the run is to end.
func (p *player) stopped() bool {
	select {
	case <-p.opt.Stop:
		return true
	default:
		return false
	}
}
