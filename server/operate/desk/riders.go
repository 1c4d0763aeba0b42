package desk

import (
	"net/http"
	"net/url"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/server/operate/carrier"
	"waybill/server/reach/outbox"
)

// riderList is a page of the tickets for a run.
type riderList struct {
	pager
	Riders []riderShown

	tickets []*booking.Ticket // those of Riders
}

// ridersShown is how many tickets are on a page of the list.
const ridersShown = 100

// riderShown is a ticket for a run, in the state in which it is now.
type riderShown struct {
	Seat      int
	Passenger string
	Link      string // to the ticket
	Ticket    string
	From, To  string
	Chip      chip
	Messages  []riderMessage
	Why       string // there are no messages; "" is not known
}

// riderMessage is a message to a passenger (decision messages.told).
type riderMessage struct {
	About  string // why it was written, and whether it is an e-mail or a text
	State  string // sent, waiting, file, refused, overtaken or erased
	Reason string // why it is not sent; "" where it is
	Link   string // of a file that is still there
}

// newRiderList returns the page of the list that was asked for.
func (s *Desk) newRiderList(r *http.Request, seats *carrier.Seats) (x riderList, err error) {
	number, err := pageAsked(r, ticketsField)
	if err != nil {
		return x, err
	}
	x.pager = newPager(r, ticketsField, "tickets", "tickets", number, len(seats.Riders), ridersShown)
	riders := pageOf(seats.Riders, x.pager)
	// What was sent is looked for among all that was ever sent, which takes no lock.
	wanted := map[ids.ID]bool{}
	for i := range riders {
		wanted[riders[i].Ticket.ID] = true
	}
	left := map[ids.ID][]ledger.Delivery{}
	if len(wanted) > 0 {
		left = seats.Deliveries.Of(wanted, s.Store.Pace().Step)
	}
	for i := range riders {
		r := &riders[i]
		x.tickets = append(x.tickets, r.Ticket)
		x.Riders = append(x.Riders, riderShown{
			Seat:      r.Seat,
			Passenger: passengerOf(r.Ticket),
			Link:      ticketPath(r.Booking.ID, r.Ticket.ID),
			Ticket:    r.Ticket.ID.String(),
			From:      r.From,
			To:        r.To,
			Chip:      chipOf(r.Ticket, seats.At),
			Messages:  s.messagesOf(r, left[r.Ticket.ID]),
			Why:       whyNone(r.Ticket),
		})
	}
	return x, nil
}

// whyNone says why a passenger was sent nothing; "" where that is not known.
func whyNone(t *booking.Ticket) string {
	if t.Passenger.Forgotten() {
		return "the passenger was forgotten"
	}
	if _, _, email, phones := t.Passenger.Fields(); email == "" && len(phones) == 0 {
		return "no address, no phone"
	}
	return ""
}

// people returns the tickets on the page whose passengers are known by name.
func (x *riderList) people() map[ids.ID]*booking.Ticket {
	known := map[ids.ID]*booking.Ticket{}
	for _, t := range x.tickets {
		if !t.Passenger.Forgotten() {
			known[t.ID] = t
		}
	}
	return known
}

// aboutWords say why a message was written.
var aboutWords = map[booking.Action]string{
	booking.Pay:       "paid",
	booking.Book:      "booked",
	booking.Cancel:    "cancelled",
	booking.CancelRun: "run cancelled",
	booking.MoveRun:   "run moved",
}

// subjectOf says why a message was written, and whether it is an e-mail or a text.
func subjectOf(action booking.Action, text bool) string {
	if text {
		return aboutWords[action] + ", text"
	}
	return aboutWords[action] + ", e-mail"
}

// messagesOf returns the messages of a ticket: those that have left, and then those that have not.
func (s *Desk) messagesOf(r *carrier.Rider, left []ledger.Delivery) (list []riderMessage) {
	for i := range left {
		list = append(list, s.leftMessage(&left[i]))
	}
	for _, m := range r.Waiting {
		shown := riderMessage{
			About:  subjectOf(m.Action, m.Lane() == ledger.ToMessenger),
			State:  "waiting",
			Reason: s.outbox.Why(m),
		}
		if m.Parked != "" {
			shown.State = "refused"
			shown.Reason = m.Parked
		}
		list = append(list, shown)
	}
	return list
}

// leftMessage returns a message that has left.
func (s *Desk) leftMessage(m *ledger.Delivery) riderMessage {
	x := riderMessage{About: subjectOf(m.Action, m.Text), State: "sent"}
	switch m.As {
	case ledger.SentAsFile:
		x.State = "file"
		name := outbox.LetterName(m.Ticket, m.ID)
		if s.outbox.HasFile(name) {
			x.Link = "/letter?" + url.Values{"name": {name}}.Encode()
		}
	case ledger.SentAsNone:
		x.State = "overtaken"
		x.Reason = "it was no longer true when it could be sent"
	case ledger.SentAsErased:
		x.State = "erased"
		x.Reason = "not sent: the passenger was forgotten"
	}
	return x
}
