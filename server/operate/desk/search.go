package desk

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/schedule"
	"waybill/schedule/fold"
	"waybill/server/ledger"
)

// found is what a search has found.
type found struct {
	Query   string
	Tickets []foundTicket // the newest first
	People  int           // whose data they show: who was forgotten is none
	More    bool          // there are others
}

// foundTicket is a ticket in a list.
type foundTicket struct {
	Passenger string
	Ride      string
	Leaves    time.Time // by the clock there
	Chip      chip
	Link      string
}

// foundShown is how many tickets a search shows at most.
const foundShown = 100

// getSearch answers GET /search?q=…: by the id of a booking or a ticket it leads there, by a day to its runs;
// anything else is looked for among passengers.
func (s *Desk) getSearch(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x := &found{Query: strings.TrimSpace(r.URL.Query().Get("q"))}
	to, err := s.place(x.Query)
	if err != nil {
		return err
	}
	if to != "" {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusSeeOther)
		return nil
	}
	if x.Query != "" {
		if err := s.findPassengers(x); err != nil {
			return err
		}
	}
	return s.show(w, r, by, "search", &page{
		Title: "Search",
		Here:  "/search",
		Body:  x,
		Read:  &ledger.PersonalRead{People: x.People},
	})
}

// place returns the path of what a query names; "" where it names nothing.
func (s *Desk) place(query string) (to string, err error) {
	if day, err := schedule.ParseDay(query); err == nil {
		return "/runs?date=" + day.String(), nil
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

// findPassengers looks for a name, an e-mail address, a phone, or a part of one. No lock is
// held meanwhile.
func (s *Desk) findPassengers(x *found) error {
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
	// Somebody on the phone says a name in any order, and half of it.
	wanted := strings.Fields(fold.Text(x.Query))
	for b := range frozen.Newest() {
		for i := range b.Tickets {
			t := &b.Tickets[i]
			if !isPassenger(t, wanted) {
				continue
			}
			if len(x.Tickets) == foundShown {
				x.More = true
				return nil
			}
			x.Tickets = append(x.Tickets, newFound(b, t, now))
			if !t.Passenger.Forgotten() {
				x.People++
			}
		}
	}
	return nil
}

// isPassenger reports whether each of some words is a part of what is known of a passenger.
func isPassenger(t *booking.Ticket, wanted []string) bool {
	first, last, email, phones := t.Passenger.Fields()
	known := fold.Text(first + "\n" + last + "\n" + email + "\n" + strings.Join(phones, "\n"))
	for _, word := range wanted {
		if !strings.Contains(known, word) {
			return false
		}
	}
	return true
}

// newFound returns a ticket as a list has it.
func newFound(b *booking.Booking, t *booking.Ticket, now time.Time) foundTicket {
	legs := t.Itinerary()
	first := &legs[0]
	last := &legs[len(legs)-1]
	return foundTicket{
		Passenger: passengerOf(t),
		Ride: fmt.Sprintf("%s – %s", first.Run.Form.Stops[first.From].City.Name,
			last.Run.Form.Stops[last.To].City.Name),
		Leaves: first.Run.Local(first.Run.Dep(first.From), first.From),
		Chip:   chipOf(t, now),
		Link:   ticketPath(b.ID, t.ID),
	}
}
