package desk

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/docs"
	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
	"waybill/server/proof/history"
	"waybill/server/proof/story"
	"waybill/server/reach/ticket"
	"waybill/store/journal"
)

// ticketPath returns the path of a ticket, on the page of its booking.
func ticketPath(b, t ids.ID) string {
	return bookingPath(b) + "#" + t.String()
}

// bookingPath returns the path of a booking's page.
func bookingPath(b ids.ID) string {
	return "/booking?" + url.Values{"id": {b.String()}}.Encode()
}

// passengerOf returns a passenger's name.
func passengerOf(t *booking.Ticket) string {
	if t.Passenger.Forgotten() {
		return "(erased)"
	}
	first, last, _, _ := t.Passenger.Fields()
	return strings.TrimSpace(first + " " + last)
}

// bookingPage is a booking: its tickets, what could be done with them, and its story.
type bookingPage struct {
	ID, Partner, Status string
	Created, Updated    time.Time
	RequiredBy          time.Time // zero is never
	Tickets             []ticketShown
	Story               []history.LogLine
	// Long says that the story is not told unless it is asked for: the whole journal is read for it.
	Long  bool
	Lines uint64
}

// ticketShown is a ticket on the page of its booking.
type ticketShown struct {
	ID         string
	Passenger  string
	Contacts   string
	Chip       chip
	Price      string
	Rides      []rideShown
	Unanswered string // what the provider was asked, and is waited for
	Unclear    string // what it was asked, where its answer is unclear
	Outlooks   []outlook
}

// rideShown is a ride of a ticket.
type rideShown struct {
	From, To        string
	Leaves, Arrives time.Time // by the clocks at the stops
	Seat            int
	Run             string // its trip and day
	Link            string
	News            string // what the carrier has changed
}

// outlook is what an action of the partner would do to a ticket now.
type outlook struct {
	Action string
	Says   string
	Can    bool
}

// storyLines is how long a journal may be that is read for a page without being asked: about a second.
const storyLines = 100_000

// getBooking answers GET /booking?id=…
func (s *Desk) getBooking(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	id, ok := ids.Parse(r.URL.Query().Get("id"))
	if !ok {
		return web.ErrNotFound
	}
	var x *bookingPage
	read := &ledger.PersonalRead{Booking: &id}
	err := s.Store.View(func(st ledger.State, now time.Time) {
		if b := st.Bookings.Any(id); b != nil {
			x = newBookingPage(st, b, now)
			read.People = people(b)
		}
	})
	if err != nil {
		return err
	}
	if x == nil {
		return web.ErrNotFound
	}
	newest, err := s.Store.LastLine()
	if err != nil {
		return err
	}
	x.Lines = newest.Seq
	x.Long = newest.Seq > storyLines && !r.URL.Query().Has("story")
	if !x.Long {
		if x.Story, err = s.story(x.ID); err != nil {
			return err
		}
	}
	return s.show(w, r, by, "booking", &page{
		Title: "Booking " + x.ID,
		Here:  "/search",
		Body:  x,
		Read:  read,
	})
}

// people returns how many passengers of a booking are known by name.
func people(b *booking.Booking) (n int) {
	for i := range b.Tickets {
		if !b.Tickets[i].Passenger.Forgotten() {
			n++
		}
	}
	return n
}

// newBookingPage returns what the page of a booking shows, but for its story.
func newBookingPage(st ledger.State, b *booking.Booking, now time.Time) *bookingPage {
	x := &bookingPage{
		ID:      b.ID.String(),
		Partner: st.Partners.ByID([16]byte(b.Partner)).Name,
		Status:  b.Status(now),
		Created: time.UnixMilli(b.Created),
		Updated: time.UnixMilli(b.Updated),
	}
	x.RequiredBy, _ = b.RequiredBy(now)
	outlooks := outlooksOf(st, b, now)
	for i := range b.Tickets {
		t := &b.Tickets[i]
		shown := newTicketShown(st, t, now)
		shown.Outlooks = outlooks[t.ID]
		x.Tickets = append(x.Tickets, shown)
	}
	return x
}

// newTicketShown returns a ticket as the page of its booking has it.
func newTicketShown(st ledger.State, t *booking.Ticket, now time.Time) ticketShown {
	_, _, email, phones := t.Passenger.Fields()
	contacts := phones
	if email != "" {
		contacts = append([]string{email}, phones...)
	}
	x := ticketShown{
		ID:        t.ID.String(),
		Passenger: passengerOf(t),
		Contacts:  strings.Join(contacts, ", "),
		Chip:      chipOf(t, now),
		Price:     amount(t.Price(), t),
	}
	if ask, asked := st.Bookings.Ask(t.ID); asked {
		asks := questions{t.ID: ask}
		x.Chip = asks.chipOf(t, now)
		switch {
		case asks.isAsked(t):
			x.Unanswered = ask.Action.String()
		case asks.isUnclear(t, now):
			x.Unclear = ask.Action.String()
		}
	}
	for _, l := range t.Itinerary() {
		form := l.Run.Form
		name := l.Run.Name()
		change := st.Bookings.Change(name)
		x.Rides = append(x.Rides, rideShown{
			From:    form.Stops[l.From].Title(),
			To:      form.Stops[l.To].Title(),
			Leaves:  carrier.Leaves(l.Run, l.From),
			Arrives: carrier.Arrives(l.Run, l.To),
			Seat:    int(l.Seat),
			Run:     name.String(),
			Link:    runPath(name.Trip, name.Day.String()),
			News:    change.News(),
		})
	}
	return x
}

// amount returns money as it is written on a ticket.
func amount(minor int64, t *booking.Ticket) string {
	return words.Hundredths(minor).String() + " " + string(t.Currency[:])
}

// outlooksOf returns what each action of the partner would do to each ticket of a booking now.
func outlooksOf(st ledger.State, b *booking.Booking, now time.Time) map[ids.ID][]outlook {
	list := map[ids.ID][]outlook{}
	for _, action := range []booking.Action{booking.Pay, booking.Book, booking.Cancel} {
		// A booking whose tickets have all moved away has nothing that could be done.
		seen, err := st.Bookings.Preview(now, st.Timetable(), booking.Selection{
			Partner: b.Partner,
			Booking: &b.ID,
		}, action)
		if err != nil {
			continue
		}
		for i := range seen {
			x := &seen[i]
			says := "is allowed"
			switch {
			case x.Code != "":
				says = x.Reason
			case x.Refund != nil:
				says = story.Refund(x.Ticket, x.Refund)
			}
			list[x.ID] = append(list[x.ID], outlook{
				Action: action.String(),
				Says:   says,
				Can:    x.Code == "",
			})
		}
	}
	return list
}

// story tells the story of a booking. The whole journal is read for it. Where it is damaged, the story ends
// with what is wrong: what is before that is as it was.
func (s *Desk) story(id string) ([]history.LogLine, error) {
	list, err := history.Story(s.Config.FS, true, id)
	if damage := new(journal.Damage); errors.As(err, &damage) {
		return append(list, history.LogLine{Text: "The journal is damaged: " + damage.Error()}), nil
	}
	return list, err
}

// getTicket answers GET /ticket?id=…: the ticket on a page to print, as its partner and its passenger get it.
func (s *Desk) getTicket(w http.ResponseWriter, r *http.Request, by ledger.By) error {
	id, ok := ids.Parse(r.URL.Query().Get("id"))
	if !ok {
		return web.ErrNotFound
	}
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	var clock *docs.Clock
	err := s.Store.View(func(st ledger.State, at time.Time) {
		b, t = st.Bookings.AnyTicket(id)
		now = at
		clock = web.TestClock(st, at)
	})
	if err != nil {
		return err
	}
	if t == nil {
		return web.ErrNotFound
	}
	read := &ledger.PersonalRead{Booking: &b.ID}
	if !t.Passenger.Forgotten() {
		read.People = 1
	}
	if err := s.carrier.RecordRead(by, r.URL.Path, read); err != nil {
		return err
	}
	return send(w, ticket.PagePolicy, func(out io.Writer) error {
		return ticket.WriteDocument(out, b, t, s.TicketKey, now, clock)
	})
}
