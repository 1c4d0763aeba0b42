package histories

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// play is a history that is being played against two servers.
type play struct {
	sides    [2]*side
	now      time.Time // where both clocks stand
	instants map[string]time.Time
	sent     []asked
	met      map[string]int // how often a request ended in which way
}

// asked is a step that was asked when the clocks stood somewhere.
type asked struct {
	step *step
	now  time.Time
}

// side is what one server has shown so far.
type side struct {
	*place
	values map[string]string // what names in braces stand for
	names  map[string]string // of bookings and tickets, by their ids
}

// newPlay begins on two servers that know of nothing.
func newPlay(first, second *place) *play {
	p := &play{
		now:      start,
		instants: map[string]time.Time{"start": start},
	}
	for i, at := range []*place{first, second} {
		p.sides[i] = &side{at, map[string]string{}, map[string]string{}}
	}
	return p
}

// playStep asks both servers, and returns how their answers differ; "" is not at all. A step that names what
// is not there is left out. The error is of the connection.
func (p *play) playStep(s *step) (difference string, err error) {
	var answers [2]answer
	for i, side := range p.sides {
		method, target, body, err := p.request(s, side.values, p.now)
		if err != nil {
			return "", nil
		}
		if answers[i], err = side.ask(s.who, method, target, body); err != nil {
			return "", fmt.Errorf("%s: %s %s: %w", side.name, method, target, err)
		}
	}
	p.sent = append(p.sent, asked{s, p.now})
	p.met[came(s, answers[0])]++
	if words := p.compare(s, answers); words != "" {
		return words, nil
	}
	return "", p.keep(s, answers)
}

// came says in short what came of a request: the last word of its path, the status, and why it was refused.
func came(s *step, a answer) string {
	path, _, _ := strings.Cut(s.target, "?")
	reason := ""
	if a.status >= 400 {
		for _, m := range refusal.FindAllSubmatch(a.body, -1) {
			reason = " " + string(m[1])
		}
	}
	last := named.ReplaceAllString(path[strings.LastIndex(path, "/")+1:], "ID")
	return fmt.Sprintf("%s %s %d%s", s.method, last, a.status, reason)
}

// refusal matches why a request is refused; the reason of a conflict comes last.
var refusal = regexp.MustCompile(`"(?:errorCode|reason)":"([A-Z_]+)"`)

// request returns a step as it is asked of a server that names things so, while the clocks stand at now. The
// error is that it names what is not there.
func (p *play) request(s *step, values map[string]string, now time.Time) (method, target, body string,
	err error) {
	if s.isClock() && s.body == "" {
		at, ahead := s.clock.at(p.instants, now)
		if !ahead {
			return "", "", "", fmt.Errorf("%v is over, or unknown", s.clock)
		}
		return s.method, s.target, fmt.Sprintf(`{"now":"%s"}`, at.Format(clockForm)), nil
	}
	if target, err = fill(s.target, values, now); err == nil {
		body, err = fill(s.body, values, now)
	}
	return s.method, target, body, err
}

// shown is as much of an answer as histories go on from.
type shown struct {
	Data struct {
		Now                         time.Time
		Offers, Departures, Results []struct{ ID string }
		Booking                     struct {
			ID            string
			DepartureDate time.Time
			CreatedAt     time.Time
			Tickets       []ticketIDs
		}
	}
}

// ticketIDs are a ticket's, and when it leaves.
type ticketIDs struct {
	ID, BookingID string
	DepartureDate time.Time
}

// keep keeps what a step has shown at both servers. They agree, so that instants are those of either.
func (p *play) keep(s *step, answers [2]answer) error {
	p.instants[fmt.Sprintf("l%d", s.number)] = p.now
	for i, side := range p.sides {
		a := answers[i]
		var was shown
		switch {
		case a.status >= 300:
			return nil
		case s.target == "/rest/orders" && s.method == "POST":
			var orders struct{ Data []ticketIDs }
			if err := json.Unmarshal(a.body, &orders); err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
			was.Data.Booking.Tickets = orders.Data
			was.Data.Booking.ID = orders.Data[0].BookingID
			was.Data.Booking.DepartureDate = orders.Data[0].DepartureDate
			was.Data.Booking.CreatedAt = p.now
		case s.isLate || s.method == "PATCH":
			return nil
		default:
			if err := json.Unmarshal(a.body, &was); err != nil {
				return fmt.Errorf("%s: %w", side.name, err)
			}
		}
		if s.isClock() {
			p.now = was.Data.Now
			return nil
		}
		if s.target == "/v2/bookings" || s.target == "/rest/orders" {
			side.keepBooking(s.number, &was)
			p.instants[fmt.Sprintf("d%d", s.number)] = was.Data.Booking.DepartureDate
			p.instants[fmt.Sprintf("c%d", s.number)] = was.Data.Booking.CreatedAt
		}
		found := append(append(was.Data.Offers, was.Data.Departures...), was.Data.Results...)
		if len(found) > 0 {
			side.values[fmt.Sprintf("o%d", s.number)] = found[s.choice%len(found)].ID
		}
	}
	return nil
}

// keepBooking keeps the ids of a booking, and the day on which it leaves.
func (x *side) keepBooking(number int, was *shown) {
	b := fmt.Sprintf("b%d", number)
	x.know(b, was.Data.Booking.ID)
	for i, t := range was.Data.Booking.Tickets {
		x.know(fmt.Sprintf("%st%d", b, i+1), t.ID)
	}
	x.values[fmt.Sprintf("d%dday", number)] = was.Data.Booking.DepartureDate.UTC().Format(time.DateOnly)
}

// know keeps an id under its name.
func (x *side) know(name, id string) {
	x.values[name] = id
	x.names[id] = name
}
