package desk

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/server/reach/outbox"
)

// messageCounts is how many messages to passengers there are and have been.
type messageCounts struct {
	Mail, Text int // sent
	Files      int // e-mails that became files: nobody was sent them
	Overtaken  int // not true any more when they could have been sent
	Erased     int // not sent when their passengers were forgotten
	Waiting    int // to be sent
	Refused    int // for good

	MailServer bool // e-mails are sent
}

// countMessages counts the messages.
func (s *Desk) countMessages(st ledger.State) messageCounts {
	left := st.Outbox.LeftCounts()
	c := messageCounts{
		Mail:       int(left[ledger.SentAsMail]),
		Text:       int(left[ledger.SentAsText]),
		Files:      int(left[ledger.SentAsFile]),
		Overtaken:  int(left[ledger.SentAsNone]),
		Erased:     int(left[ledger.SentAsErased]),
		MailServer: s.outbox.HasMailServer(),
	}
	c.Waiting, c.Refused = st.Outbox.Count()
	return c
}

// concerns returns what of the messages needs somebody.
func (c *messageCounts) concerns() (list []concern) {
	if c.Refused > 0 {
		list = append(list, concern{
			words.Counted(c.Refused, "message") + words.Were(c.Refused) + "refused for good.",
			"/messages",
		})
	}
	if !c.MailServer {
		said := "No e-mail leaves this machine: there is no mail server."
		switch {
		case c.Files == 1:
			said += " 1 e-mail became a file since the directory was made."
		case c.Files > 1:
			said += " " + words.Counted(c.Files, "e-mail") + " became files since the directory was made."
		}
		list = append(list, concern{said, "/messages"})
	}
	if c.Waiting > 0 {
		list = append(list, concern{
			words.Counted(c.Waiting, "message") + words.Are(c.Waiting) + "still to be sent.",
			"/messages",
		})
	}
	return list
}

// messages are what is sent to passengers.
type messages struct {
	Counts      messageCounts
	Query       string   // a part of the ids of tickets
	Unsent      []unsent // of a page: those that were refused, then those that wait, each the oldest first
	UnsentPages pager
	Letters     []outbox.File // of a page: e-mails that became files
	FilePages   pager
	Still       int // of all e-mails that became files, those that are still there
	Days        int // that they are kept
}

// unsent is a message that was not sent yet.
type unsent struct {
	outbox.Letter
	State  string // waiting or refused
	Reason string
	Link   string // of its ticket
}

const (
	unsentShown  = 50 // of a page
	lettersShown = 50
)

// compareUnsent compares messages by their places in a list.
func compareUnsent(a, b *ledger.Message) int {
	aRefused := a.Parked != ""
	bRefused := b.Parked != ""
	if aRefused != bRefused {
		if aRefused {
			return -1
		}
		return 1
	}
	return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
}

// getMessages answers GET /messages?q=…: messages of tickets whose ids have a text; all without one.
func (s *Desk) getMessages(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	x := &messages{
		Query: strings.TrimSpace(r.URL.Query().Get("q")),
		Days:  s.Config.LettersDays,
	}
	var list []*ledger.Message
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		x.Counts = s.countMessages(st)
		list = st.Outbox.All()
	})
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(m *ledger.Message) bool {
		return !strings.Contains(m.Ticket.String(), x.Query)
	})
	slices.SortFunc(list, compareUnsent)
	page, err := pageAsked(r, "page")
	if err != nil {
		return err
	}
	x.UnsentPages = newPager(r, "page", "unsent", "messages", page, len(list), unsentShown)
	// What a message says is written without the lock, as it is where it is sent.
	for _, m := range pageOf(list, x.UnsentPages) {
		var b *booking.Booking
		var t *booking.Ticket
		if err := s.Store.View(func(st ledger.State, _ time.Time) {
			b, t = st.Bookings.AnyTicket(m.Ticket)
		}); err != nil {
			return err
		}
		x.Unsent = append(x.Unsent, s.newUnsent(m, b, t))
	}
	if err := s.addFiles(x, r); err != nil {
		return err
	}
	return s.show(w, r, by, "messages", newMessagesPage(x))
}

// newMessagesPage returns the page of messages.
func newMessagesPage(x *messages) *page {
	return &page{
		Title: "Messages",
		Here:  "/messages",
		Body:  x,
		Read:  &ledger.PersonalRead{People: x.people()},
	}
}

// newUnsent returns a message that was not sent yet as the page has it.
func (s *Desk) newUnsent(m *ledger.Message, b *booking.Booking, t *booking.Ticket) unsent {
	x := unsent{
		Letter: s.outbox.Letter(m, b, t),
		State:  "waiting",
		Link:   ticketPath(b.ID, t.ID),
	}
	if m.Parked != "" {
		x.State = "refused"
		x.Reason = m.Parked
		return x
	}
	x.Reason = s.outbox.Why(m)
	return x
}

// addFiles adds the page of e-mails that became files that a request asks for.
func (s *Desk) addFiles(x *messages, r *http.Request) error {
	page, err := pageAsked(r, "files")
	if err != nil {
		return err
	}
	_, all, err := s.outbox.Files(x.Query, 0, 0)
	if err != nil {
		return err
	}
	if x.Still, err = s.outbox.FileCount(); err != nil {
		return err
	}
	x.FilePages = newPager(r, "files", "files", "e-mails", page, all, lettersShown)
	x.Letters, _, err = s.outbox.Files(x.Query, max(x.FilePages.First-1, 0), lettersShown)
	return err
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
	read := &ledger.PersonalRead{People: 1}
	if id, ok := ids.Parse(ticketOf(name)); ok {
		err = s.Store.View(func(st ledger.State, _ time.Time) {
			if b, t := st.Bookings.AnyTicket(id); t != nil {
				read.Booking = &b.ID
				x.Ticket = ticketPath(b.ID, t.ID)
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
