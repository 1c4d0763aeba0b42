package desk

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/outbound"
	"waybill/server/outbox"
	"waybill/server/web"
	"waybill/store/durable"
)

// messages are what is sent to passengers.
type messages struct {
	Unsent  []unsent // the oldest first
	Parked  bool     // one of them is
	Letters []letterFile
	More    int // e-mails that became files and are not listed
}

// unsent is a message that was not sent yet.
type unsent struct {
	outbox.Letter
	State  string // waiting or parked
	Reason string
	Link   string // of its ticket
}

// letterFile is an e-mail that became a file, as there is no mail server.
type letterFile struct{ Name, Link string }

const (
	unsentShown  = 100
	lettersShown = 50
)

// getMessages answers GET /messages.
func (s *Service) getMessages(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	type about struct {
		message *ledger.Message
		booking *booking.Booking
		ticket  *booking.Ticket
	}
	var list []about
	err := s.Store.View(func(st *ledger.State, _ time.Time) {
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
	x := new(messages)
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
	if err := s.listLetters(x); err != nil {
		return err
	}
	return s.show(w, r, by, "messages", &page{
		Title: "Messages",
		Here:  "/messages",
		Body:  x,
	})
}

// listLetters lists the e-mails that became files.
func (s *Service) listLetters(x *messages) error {
	names, err := s.Config.FS.List(ledger.OutboxDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, outbox.LetterSuffix) {
			continue
		}
		if len(x.Letters) == lettersShown {
			x.More++
			continue
		}
		x.Letters = append(x.Letters, letterFile{
			Name: strings.TrimSuffix(name, outbox.LetterSuffix),
			Link: "/letter?" + url.Values{"name": {name}}.Encode(),
		})
	}
	return nil
}

// letterPage is an e-mail as its passenger reads it.
type letterPage struct {
	*outbound.Letter
	Ticket string // the path of the ticket's page; "" is not there any more
}

// getLetter answers GET /letter?name=…: an e-mail that became a file.
func (s *Service) getLetter(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	name := r.URL.Query().Get("name")
	names, err := s.Config.FS.List(ledger.OutboxDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Only a name that is there: what a client writes is no path.
	if !slices.Contains(names, name) || !strings.HasSuffix(name, outbox.LetterSuffix) {
		return web.ErrNotFound
	}
	x := new(letterPage)
	err = durable.Read(s.Config.FS, ledger.OutboxDir+"/"+name, func(f *io.SectionReader) (err error) {
		x.Letter, err = outbound.ReadMessage(f)
		return err
	})
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(name, ".")
	to, err := s.place(id)
	if err != nil {
		return err
	}
	x.Ticket = to
	return s.show(w, r, by, "letter", &page{
		Title: x.Subject,
		Here:  "/messages",
		Body:  x,
	})
}
