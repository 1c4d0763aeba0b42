package conform

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"waybill/server/lab/transcript"
)

// reference is a server that is asked the same as the one that is judged. It has the same timetable, so that
// what is compared must be equal (see [comparison]); what is kept of an answer is kept of its own. The zero
// value is none.
type reference struct {
	transcript.Player
	url, key string // "" is no reference
	exact    bool   // both clocks stand still, at one instant
	hasStop  bool   // it knows the stop that was given by the same id
	follows  bool   // it was asked the last question, too
	booked   []bookedBy

	words      string // how the last answers differ; "" is not at all
	difference error  // *failure, the first of a rule
}

// prepare looks at both clocks. They must stand still where they can, at the same instant: seats are held and
// refunds given by the minute.
func (l *reference) prepare(p *player) error {
	if p.opt.LikeURL == "" {
		return nil
	}
	l.url = p.opt.LikeURL
	l.key = p.opt.LikeKey
	l.Now = p.Now
	l.Ask = func(r transcript.Request) (transcript.Answer, error) { return l.send(p, r) }
	c, err := p.readClock(l.url)
	switch {
	case err != nil:
		return fmt.Errorf("-like: %w", err)
	case p.skew.stops && p.skew.still.IsZero():
		return errors.New("-like: the clock of -base-url is ticking: start that server with -frozen")
	case c.stops && c.still.IsZero() && p.skew.moveable:
		return errors.New("-like: the clock of -like is ticking: start that server with -frozen")
	case p.opt.Write && p.skew.moveable && !c.moveable:
		return errors.New("-like: its clock cannot be moved: start it with -test-clock")
	}
	if p.opt.StopID != "" {
		a, err := p.send("GET", l.url+"/v2/stops/"+url.PathEscape(p.opt.StopID), "", nil)
		l.hasStop = err == nil && a.Status == http.StatusOK
	}
	l.exact = !p.skew.still.IsZero() && !c.still.IsZero()
	if l.exact && !p.skew.still.Equal(c.still) {
		return fmt.Errorf("-like: its clock is at %s, but the clock of -base-url is at "+
			"%s", c.still.Format(transcript.Instant),
			p.skew.still.Format(transcript.Instant))
	}
	return nil
}

// ofOne are variables that are of one server: its users and its objects.
var ofOne = [...]string{"idToken", "email", "password", "fms"}

// begin forgets the values of an earlier stage. Requests that need a variable of one server go to the judged
// one only.
func (l *reference) begin(known map[string]string) {
	l.Vars = maps.Clone(known)
	for _, name := range ofOne {
		delete(l.Vars, name)
	}
	if !l.hasStop {
		delete(l.Vars, "stop")
	}
}

// know keeps values that are the same at both servers.
func (l *reference) know(values map[string]string) {
	if l.Vars != nil {
		maps.Copy(l.Vars, values)
	}
}

// asked reports whether it is asked what the player asks. What happens in a world of the judged server
// happens to nobody else.
func (l *reference) asked(p *player) bool {
	return l.url != "" && !p.inScratch
}

// follow plays there what the player has played: what keeps a value keeps it of its own answers, and what is
// asked is asked it, too. Where its answer lacks a value, the answers differ, or what needs it is asked of
// one server only.
func (l *reference) follow(p *player, step string) {
	word, _, _ := strings.Cut(step, " ")
	keeps := kept.FindStringSubmatch(step)
	switch {
	case l.url == "" || word == "as" || p.Verbs[word] != nil:
	case word == "with":
		_ = l.Play(step)
	case keeps != nil && strings.HasPrefix(step, " "):
		if l.follows {
			_ = l.Play(step)
		}
	case keeps != nil:
		delete(l.Vars, keeps[1]+keeps[2])
		_ = l.Play(step)
	case !strings.HasPrefix(step, " ") && word != "await":
		l.ask(p, step)
	}
}

// ask asks it what the judged server was asked, and compares the answers. Other partners and company users
// are of one server.
func (l *reference) ask(p *player, line string) {
	l.follows = false
	l.words = ""
	l.Caller = p.Caller
	method, target, _ := transcript.Split(line)
	if !l.asked(p) || p.Answer.Status == 0 {
		l.Forget()
		return
	}
	var foreign *skip
	var unknown *transcript.Unknown
	switch err := l.Play(line); {
	case errors.As(err, &foreign), errors.As(err, &unknown):
		l.Forget()
		return
	case err != nil:
		l.differs(p, "the server at -like does not answer: "+err.Error())
		return
	}
	l.follows = true
	c := comparison{
		exact: l.exact,
		now:   p.skew.now(),
		mine:  !isBooking(method, target) && ownLists.MatchString(target),
	}
	if words := c.answers(&p.Answer, &l.Answer); words != "" {
		l.differs(p, words)
	}
}

// send asks it as the caller.
func (l *reference) send(p *player, r transcript.Request) (a transcript.Answer, err error) {
	if strings.HasPrefix(r.Target, "http") {
		return a, &skip{"a link leads to one server"}
	}
	switch l.Caller {
	case "key":
		r.Header.Set("x-api-key", l.key)
	case "stranger":
		r.Header.Set("x-api-key", "no-such-key")
	case "nobody":
	default:
		return a, &skip{"it is asked as a partner, or as nobody"}
	}
	a, err = p.send(r.Method, l.url+r.Target, r.Body, r.Header)
	if err == nil && isBooking(r.Method, r.Target) {
		for id, seats := range bookingsOf(&a) {
			l.booked = append(l.booked, bookedBy{id, l.key, seats})
		}
	}
	return a, err
}

// ownLists are lists of what a partner has ever done, which need not be the same at both servers.
var ownLists = regexp.MustCompile(`^/(v2/bookings|v2/events|rest/orders)(\?|$)`)

// differs remembers the first difference.
func (l *reference) differs(p *player, words string) {
	l.words = words
	if l.difference != nil {
		return
	}
	l.difference = &failure{
		cause: "like: " + words,
		text:  words + "\n" + p.request + "\n" + p.came(),
	}
}

// choose keeps the offer of a kind that rules rather book, as the player does.
func (l *reference) choose(p *player, name, kind string) {
	if !l.follows {
		return
	}
	if best, ok := p.chosen(&l.Answer, kind); ok {
		best.keep(l.Vars, name)
	}
}
