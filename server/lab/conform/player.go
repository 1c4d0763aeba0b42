package conform

import (
	"cmp"
	"errors"
	"net/http"
	"time"

	"waybill/server/lab/transcript"
)

// player plays rules. Beside the steps of package transcript it knows these:
//
//	as key|key2|stranger|nobody|session|fresh|old   who asks from here on; a rule begins as key
//	keep-cookies                   old is the session as it is now
//	offer NAME SEATS [KIND]        looks for an offer, see [player.offer]; KIND is change, company,
//	                               direct, discount, external, small or through, without it the main
//	                               journey is meant; company is that of $company
//	book NAME SEATS [KIND]         books; $NAME is the booking, $NAME_t1 … its tickets
//	find-stop                      has $stop, of -stop or of an offer
//	advance DURATION               moves the test clock; also "advance to INSTANT"
//	tick                           a little later: 1 s by a clock that stands still
//	still                          the test clock stands still until the end of the rule
//	in-time                        what follows moves the clock far, in a world where one can be made
//	alone                          others may change what is compared: three failures are one
//	others departures|offers N     asks about N other pairs of cities; without -like about a few
//	foreign-token                  has $foreign, the ID token as if it was made for another service
//	in-a-world                     what follows is for a world that others do not see, the same in a stage
//	fault RULE                     has something go wrong in that world
//	run TRIP DATE CHANGE           has the carrier change a run in it
//
// A rule of which a condition does not hold is not shown: a server may lack what it is about, as discounts.
type player struct {
	transcript.Player
	opt    Options
	client *http.Client
	known  map[string]string // what every stage begins with
	never  map[string]error  // why a stage lacks what it might begin with
	causes map[string]string // of failures that were told in full: the rule

	lacking map[string]error // variables without a value, and why

	request string // the last one, as it is shown where the rule failed
	silent  bool   // nothing came
	cookies map[string][]*http.Cookie
	skew    *clock
	froze   bool // the rule has made it stand still

	world, scratch world // of the run, and of a stage
	inScratch      bool
	outside        *clock // while in there, that of where the run is

	search search
	like   reference

	seats        int // that are booked, see MaxSeats
	booked       []bookedBy
	left         []string // bookings that could not be canceled
	uncancelable []string // bookings of a server that has no cancel
}

// newPlayer returns a player who has asked nothing yet.
func newPlayer(opt Options) *player {
	p := &player{
		opt: opt,
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
		search:  search{done: map[string]bool{"": opt.From != ""}, met: map[string]journey{}, room: roomFor},
	}
	p.Player = transcript.Player{
		Vars:     map[string]string{},
		Ask:      p.ask,
		Now:      func() time.Time { return p.skew.now() },
		Patience: cmp.Or(opt.Await, afterAnswer),
		Verbs: map[string]func(string) error{
			"as":            p.become,
			"offer":         p.offer,
			"book":          p.book,
			"advance":       p.advance,
			"tick":          func(string) error { return p.tick() },
			"still":         func(string) error { return p.standStill() },
			"in-time":       func(string) error { return p.inTime() },
			"alone":         func(string) error { return nil },
			"others":        p.askOthers,
			"fault":         func(rule string) error { return p.bringAbout("/faults", "["+rule+"]") },
			"run":           p.changeRun,
			"in-a-world":    func(string) error { return p.enterWorld() },
			"find-stop":     func(string) error { return p.findStop() },
			"foreign-token": func(string) error { return p.foreignToken() },
			"keep-cookies": func(string) error {
				p.cookies["old"] = p.cookies["fresh"]
				return nil
			},
		},
	}
	return p
}

// playStep plays one step, and has the other server follow.
func (p *player) playStep(step string) error {
	err := p.Play(step)
	var unknown *transcript.Unknown
	if !p.silent && !errors.As(err, &unknown) {
		p.like.follow(p, step)
	}
	var unmet *transcript.Unmet
	if errors.As(err, &unmet) {
		return &skip{unmet.Why}
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
