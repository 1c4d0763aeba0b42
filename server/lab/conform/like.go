package conform

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
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
	l.exact = !p.skew.still.IsZero() && !c.still.IsZero()
	if l.exact && !p.skew.still.Equal(c.still) {
		return fmt.Errorf("-like: its clock is at %s, but the clock of -base-url is at "+
			"%s", c.still.Format(instant),
			p.skew.still.Format(instant))
	}
	return nil
}

// ofOne are variables that are of one server: its users, its objects, and what it names a stop.
var ofOne = [...]string{"idToken", "email", "password", "fms", "stop"}

// begin forgets the values of an earlier stage. Requests that need a variable of one server go to the judged
// one only.
func (l *reference) begin(known map[string]string) {
	l.Vars = maps.Clone(known)
	for _, name := range ofOne {
		delete(l.Vars, name)
	}
}

// know keeps values that are the same at both servers.
func (l *reference) know(values map[string]string) {
	if l.Vars != nil {
		maps.Copy(l.Vars, values)
	}
}

// set keeps the value that an expression has there.
func (l *reference) set(name, text string, value func(*transcript.Player, string) (string, error)) {
	delete(l.Vars, name)
	if v, err := value(&l.Player, text); err == nil {
		l.Vars[name] = v
	}
}

// keep keeps of its own answer what a check keeps.
func (l *reference) keep(check string) {
	if l.follows && strings.Contains(check, " = ") {
		// Where its answer lacks that, the answers differ, or what needs it is asked of one server only.
		_ = l.Check(check)
	}
}

// asked reports whether it is asked what the player asks. What happens in a world of the judged server
// happens to nobody else.
func (l *reference) asked(p *player) bool {
	return l.url != "" && !p.inScratch
}

// ask asks it what the judged server was asked, and compares the answers. Other partners and company users
// are of one server.
func (l *reference) ask(p *player, line string) {
	l.follows = false
	l.words = ""
	header := p.extra.Clone()
	if header == nil {
		header = http.Header{}
	}
	switch p.caller {
	case "key":
		header.Set("x-api-key", l.key)
	case "stranger":
		header.Set("x-api-key", "no-such-key")
	case "nobody":
	default:
		return
	}
	method, target, body, err := expand(&l.Player, line)
	if !l.asked(p) || err != nil || strings.HasPrefix(target, "http") {
		return
	}
	l.Answer, err = p.send(method, l.url+target, body, header)
	if err != nil {
		l.differs(p, "the server at -like does not answer: "+err.Error())
		return
	}
	l.follows = true
	if isBooking(method, target) {
		for id := range bookingsOf(&l.Answer) {
			l.booked = append(l.booked, bookedBy{id, l.key})
		}
	}
	c := comparison{
		exact: l.exact,
		now:   p.skew.now(),
		cut:   strings.Contains(target, "take=") || strings.Contains(target, "skip="),
		mine:  !isBooking(method, target) && ownLists.MatchString(target),
	}
	if words := c.answers(&p.Answer, &l.Answer); words != "" {
		l.differs(p, words)
	}
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
		text:  p.request + "\n" + p.came() + "\n" + words,
	}
}

// choose keeps the offer of a kind that rules rather book, as the player does.
func (l *reference) choose(name, kind string) {
	if !l.follows {
		return
	}
	if best, ok := chosen(&l.Answer, kind); ok {
		best.keep(l.Vars, name)
	}
}
