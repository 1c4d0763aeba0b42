package desk

import (
	"crypto/ed25519"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
	"waybill/server/proof/story"
	"waybill/server/reach/ticket"
)

// found is what a search has found.
type found struct {
	Query   string
	State   string        // tickets in this state are looked for; "" is any
	Chip    chip          // of the state
	Tickets []foundTicket // the newest first
	People  int           // whose data they show: who was forgotten is none
	Page    int           // of the tickets, from 1
	Older   string        // the path of the next page; "" is none
	Run     string        // the path of the next run of the trip that the query names; "" is none
	Trip    string        // its id
	Wrong   string        // why nothing could be looked for; "" where something was
}

// foundTicket is a ticket in a list.
type foundTicket struct {
	Passenger string
	Ride      string
	Leaves    time.Time // by the clock there
	Chip      chip
	Link      string
}

// foundShown is how many tickets a page shows.
const foundShown = 100

// getSearch answers GET /search?q=…&state=…: by the id of a booking or a ticket, or by a ticket's code, it
// leads there, by a day to its runs, by a trip to its next run; anything else is looked for among passengers.
// A state has only tickets in it found.
func (s *Desk) getSearch(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x := &found{
		Query: strings.TrimSpace(r.URL.Query().Get("q")),
		State: r.URL.Query().Get("state"),
	}
	if x.State != "" {
		if x.State != stateUnclear && !slices.Contains(states, x.State) {
			return web.Invalid(web.Problem("state", "must be one of "+strings.Join(states, ", ")))
		}
		x.Chip = newChip(x.State, "")
		if x.State == stateUnclear {
			x.Chip = newChip("news", unclearWords)
		}
	}
	var err error
	if x.Page, err = pageAsked(r, "page"); err != nil {
		return err
	}
	to, err := s.search(x)
	if err != nil {
		return err
	}
	if to != "" {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	return s.show(w, r, by, "search", &page{
		Title: "Search",
		Here:  "/search",
		Body:  x,
		Read:  &ledger.PersonalRead{People: x.People},
	})
}

// search looks for what a query names. It returns the path of the one thing that it names; "" where it names
// none, or several.
func (s *Desk) search(x *found) (to string, err error) {
	if code, isCode := codeIn(x.Query); isCode {
		return s.placeOfCode(x, code)
	}
	if to, err = s.place(x.Query); err != nil || to != "" {
		return to, err
	}
	if err := s.findPassengers(x); err != nil {
		return "", err
	}
	next, known, err := s.carrier.Next(x.Query)
	if err != nil || !known {
		return "", err
	}
	x.Run = runPath(next.Trip, next.Day.String())
	x.Trip = next.Trip
	if len(x.Tickets) > 0 || x.State != "" { // the id may be a part of a name or of a phone
		return "", nil
	}
	return x.Run, nil
}

// place returns the path of what a query names by a day or an id; "" where it names nothing.
func (s *Desk) place(query string) (to string, err error) {
	if strings.EqualFold(query, "today") {
		return "/runs", nil
	}
	for _, layout := range []string{time.DateOnly, "2.1.2006"} {
		if day, err := time.Parse(layout, query); err == nil {
			return "/runs?date=" + day.Format(time.DateOnly), nil
		}
	}
	id, ok := ids.Parse(query)
	if !ok {
		return "", nil
	}
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		if b := st.Bookings.Any(id); b != nil {
			to = bookingPath(b.ID)
		}
		if b, t := st.Bookings.AnyTicket(id); t != nil {
			to = ticketPath(b.ID, t.ID)
		}
	})
	return to, err
}

// codeIn returns the code of a ticket in a query. Blanks and ends of lines, which come with copying, are left
// out.
func codeIn(query string) (code string, isCode bool) {
	code = ticket.Unmarked(strings.Join(strings.Fields(query), ""))
	return code, strings.HasPrefix(code, ticket.Prefix)
}

// placeOfCode returns the path of the ticket that a code is of; "" where the code is not good, or the
// directory has no such ticket.
func (s *Desk) placeOfCode(x *found, text string) (string, error) {
	code, err := ticket.Check(s.TicketKey.Public().(ed25519.PublicKey), text)
	if err != nil {
		x.Wrong = "The code is not good: " + err.Error() + "."
		return "", nil
	}
	return s.place(code.Ticket.String())
}

// findPassengers looks for a name, an e-mail address, a phone, or a part of one. No lock is
// held meanwhile.
func (s *Desk) findPassengers(x *found) error {
	wanted := newWanted(x.Query)
	if wanted.isTooShort() {
		x.Wrong = "Type at least four digits of a phone number."
		return nil
	}
	if wanted.isEmpty() && x.State == "" {
		return nil
	}
	var frozen booking.Frozen
	var now time.Time
	err := s.Store.View(func(st ledger.State, at time.Time) {
		frozen = st.Bookings.Freeze()
		frozen.Step = s.Store.Pace().Step
		now = at
	})
	if err != nil {
		return err
	}
	asks := questions(frozen.Asks)
	skip := (x.Page - 1) * foundShown
	for b := range frozen.Newest() {
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if !x.isState(t, asks, now) || !wanted.is(t) && !x.names(b, t) {
				continue
			}
			if skip > 0 {
				skip--
				continue
			}
			if len(x.Tickets) == foundShown {
				x.Older = x.pathOf(x.Page + 1)
				return nil
			}
			x.Tickets = append(x.Tickets, newFound(b, t, asks.chipOf(t, now)))
			if !t.Passenger.Forgotten() {
				x.People++
			}
		}
	}
	return nil
}

// pathOf returns the path of a page of what is found.
func (x *found) pathOf(page int) string {
	query := url.Values{"q": {x.Query}, "page": {strconv.Itoa(page)}}
	if x.State != "" {
		query.Set("state", x.State)
	}
	return "/search?" + query.Encode()
}

// Newer returns the path of the page before; "" is none.
func (x *found) Newer() string {
	if x.Page == 1 {
		return ""
	}
	return x.pathOf(x.Page - 1)
}

// isState reports whether a ticket is in the state that is looked for.
func (x *found) isState(t *booking.Ticket, asks questions, now time.Time) bool {
	switch x.State {
	case "":
		return true
	case stateUnclear:
		return asks.isUnclear(t, now)
	}
	return asks.stateOf(t, now) == x.State
}

// names reports whether the query is how the id of a ticket or its booking begins, as the wall has it, or the
// two cities of the ride.
func (x *found) names(b *booking.Booking, t *booking.Ticket) bool {
	if len(x.Query) == story.PublicID &&
		(strings.HasPrefix(b.ID.String(), x.Query) || strings.HasPrefix(t.ID.String(), x.Query)) {
		return true
	}
	return spelled(rideOf(t)) == spelled(x.Query)
}

// rideOf returns the cities of a ticket.
func rideOf(t *booking.Ticket) string {
	legs := t.Itinerary()
	last := &legs[len(legs)-1]
	return legs[0].Run.Form.Stops[legs[0].From].City.Name + " – " + last.Run.Form.Stops[last.To].City.Name
}

// newFound returns a ticket as a list has it.
func newFound(b *booking.Booking, t *booking.Ticket, c chip) foundTicket {
	first := &t.Legs[0]
	return foundTicket{
		Passenger: passengerOf(t),
		Ride:      rideOf(t),
		Leaves:    carrier.Leaves(first.Run, first.From),
		Chip:      c,
		Link:      ticketPath(b.ID, t.ID),
	}
}
