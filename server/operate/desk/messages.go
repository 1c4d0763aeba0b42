package desk

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/server/reach/outbox"
)

// messages are what is sent to passengers.
type messages struct {
	Unsent  []unsent // the oldest first
	Parked  bool     // one of them is
	Query   string   // a part of the letters' names
	Letters []outbox.File
	More    int // e-mails that became files and are not listed
	Files   int // all of them
	Days    int // that they are kept
}

// unsent is a message that was not sent yet.
type unsent struct {
	outbox.Letter
	State  string // waiting or parked
	Reason string
	Link   string // of its ticket
}

const (
	unsentShown  = 100
	lettersShown = 50
)

// getMessages answers GET /messages.
func (s *Desk) getMessages(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	type about struct {
		message *ledger.Message
		booking *booking.Booking
		ticket  *booking.Ticket
	}
	var list []about
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		for _, m := range st.Outbox.All() {
			b, t := st.Bookings.AnyTicket(m.Ticket)
			list = append(list, about{m, b, t})
		}
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b about) int {
		return a.message.At.Compare(b.message.At)
	})
	// What a message says is written without the lock, as it is where it is sent.
	x := &messages{Query: r.URL.Query().Get("q")}
	for _, a := range list[:min(len(list), unsentShown)] {
		shown := unsent{
			Letter: s.outbox.Letter(a.message, a.booking, a.ticket),
			State:  "waiting",
			Reason: s.outbox.Why(a.message),
			Link:   ticketPath(a.booking.ID, a.ticket.ID),
		}
		if a.message.Parked != "" {
			shown.State = "parked"
			shown.Reason = a.message.Parked
			x.Parked = true
		}
		x.Unsent = append(x.Unsent, shown)
	}
	if x.Letters, x.More, err = s.outbox.Files(x.Query, lettersShown); err != nil {
		return err
	}
	x.Files = len(x.Letters) + x.More
	x.Days = s.Config.LettersDays
	return s.show(w, r, by, "messages", &page{
		Title: "Messages",
		Here:  "/messages",
		Body:  x,
		Read:  &ledger.PersonalRead{People: x.people()},
	})
}

// people returns to how many passengers the messages are.
func (x *messages) people() int {
	tickets := map[string]bool{}
	for _, m := range x.Unsent {
		tickets[m.Ticket.String()] = true
	}
	for _, f := range x.Letters {
		tickets[ticketOf(f.Name)] = true
	}
	return len(tickets)
}

// ticketOf returns the id of the ticket that an e-mail that became a file is about.
func ticketOf(name string) string {
	ticket, _, _ := strings.Cut(name, ".")
	return ticket
}

// letterPage is an e-mail as its passenger reads it.
type letterPage struct {
	*outbound.Letter
	Ticket string // the path of the ticket's page; "" is not there any more
}

// getLetter answers GET /letter?name=…: an e-mail that became a file.
func (s *Desk) getLetter(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	name := r.URL.Query().Get("name")
	f, err := s.outbox.File(name)
	if errors.Is(err, outbox.ErrNoFile) {
		return web.ErrNotFound
	}
	if err != nil {
		return err
	}
	x := &letterPage{Letter: f.Letter}
	if x.Ticket, err = s.place(ticketOf(name)); err != nil {
		return err
	}
	read := &ledger.PersonalRead{People: 1}
	if id, ok := ids.Parse(ticketOf(name)); ok {
		err = s.Store.View(func(st ledger.State, _ time.Time) {
			if b, t := st.Bookings.AnyTicket(id); t != nil {
				read.Booking = &b.ID
			}
		})
		if err != nil {
			return err
		}
	}
	return s.show(w, r, by, "letter", &page{
		Title: x.Subject,
		Here:  "/messages",
		Body:  x,
		Read:  read,
	})
}
