package outbox

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/reach/outbound"
	"waybill/server/reach/ticket"
)

// The texts of messages, first in English, then in Ukrainian. A text is written when it is sent, and shows
// the ticket as it is then. Names are those of the timetable in force, which translates them, else those that
// were sold.

// send sends a letter to its passenger.
func (s *Relay) send(l Letter, b *booking.Booking, t *booking.Ticket) error {
	if l.Address == "" {
		return errNobody
	}
	id := t.ID.String() + "." + l.ID
	if l.Kind == textKind {
		return s.sendText(l, id, b, t)
	}
	papers, err := s.papers(l.Message, b, t)
	if err != nil {
		return err
	}
	letter := outbound.Message(s.mail.From, l.Address, l.Subject, l.Text, id, l.At, papers...)
	if s.mailer != nil {
		return s.mailer.Send(s.Base, l.Address, letter)
	}
	return s.file(l.Message, LetterName(t.ID, l.ID), letter)
}

// sendText sends a text by the messenger.
func (s *Relay) sendText(l Letter, id string, b *booking.Booking, t *booking.Ticket) error {
	switch {
	case s.messenger == nil && s.observer != nil:
		return nil
	case s.messenger == nil:
		return errors.New("there is no -messenger-url")
	}
	var w wire.Writer
	w.Object("")
	w.String("id", id)
	w.String("phone", l.Address)
	w.String("text", l.Text)
	w.String("bookingId", b.ID.String())
	w.String("ticketId", t.ID.String())
	w.EndObject()
	return s.messenger.Post(s.Base, id, w.B)
}

// papers returns the attachments of the e-mail of a paid ticket (decision messages.papers): the ticket to
// print, and an entry for a calendar. An e-mail about a moved departure carries them again.
func (s *Relay) papers(m *ledger.Message, b *booking.Booking, t *booking.Ticket) ([]outbound.Attachment,
	error) {
	if t.Phase != booking.Paid || m.Action != booking.Pay && m.Action != booking.MoveRun {
		return nil, nil
	}
	var page, calendar bytes.Buffer
	err := errors.Join(
		ticket.WriteDocument(&page, b, t, s.TicketKey, m.At, nil),
		ticket.WriteCalendar(&calendar, t, m.At),
	)
	return []outbound.Attachment{
		{Name: "ticket.html", Type: "text/html; charset=utf-8", Text: page.Bytes()},
		{Name: "ticket.ics", Type: "text/calendar; charset=utf-8", Text: calendar.Bytes()},
	}, err
}

var errNobody = fmt.Errorf("the ticket has no such address: %w", outbound.ErrRefused)

// wording holds the words of letters in one language.
type wording struct {
	language schedule.Language

	ticket                             string // "your ticket", and of a text "Ticket"
	paid, booked, canceled, refunded   string
	carrier, route, departure          string
	arrival, platform, change, seat    string
	price, refund, ticketID, bookingID string

	// Of a run that its carrier has changed.
	runCanceled, moved string
	notRun             string // what a title and a letter say first of a departure that was cancelled
	newTime, timeless  string // of a departure that was moved: a title, and what a letter begins with
	missed             string // of a change that cannot be made any more
	reason             string
}

var english = wording{
	language:    schedule.EN,
	ticket:      "your ticket is",
	paid:        "paid",
	booked:      "booked",
	canceled:    "canceled",
	refunded:    "refunded",
	carrier:     "Carrier",
	route:       "Route",
	departure:   "Departure",
	arrival:     "Arrival",
	platform:    "platform",
	change:      "Change",
	seat:        "Seat",
	price:       "Price",
	refund:      "Refunded",
	ticketID:    "Ticket",
	bookingID:   "Booking",
	runCanceled: "The carrier has cancelled this departure.",
	notRun:      "Your departure does not run",
	moved:       "The carrier has moved it. Your ticket stays valid.",
	newTime:     "New time",
	timeless:    "your departure has a new time",
	missed:      "is no longer possible: ask the carrier",
	reason:      "Reason",
}

var ukrainian = wording{
	language:    schedule.UK,
	ticket:      "ваш квиток",
	paid:        "оплачено",
	booked:      "заброньовано",
	canceled:    "скасовано",
	refunded:    "повернено",
	carrier:     "Перевізник",
	route:       "Маршрут",
	departure:   "Відправлення",
	arrival:     "Прибуття",
	platform:    "платформа",
	change:      "Пересадка",
	seat:        "Місце",
	price:       "Ціна",
	refund:      "Повернено",
	ticketID:    "Квиток",
	bookingID:   "Бронювання",
	runCanceled: "Перевізник скасував цей рейс.",
	notRun:      "Ваш рейс не відбудеться",
	moved:       "Перевізник переніс його. Ваш квиток залишається дійсним.",
	newTime:     "Новий час",
	timeless:    "час вашого відправлення змінено",
	missed:      "неможлива: зверніться до перевізника",
	reason:      "Причина",
}

// news is the content of one message: what happened to a ticket.
type news struct {
	action  booking.Action
	booking *booking.Booking
	ticket  *booking.Ticket
	legs    []booking.Leg
	names   *schedule.Timetable // translates
	reason  string              // why the carrier has changed the run
}

// newNews returns the content of a message.
func (s *Relay) newNews(m *ledger.Message, b *booking.Booking, t *booking.Ticket) *news {
	return &news{
		action:  m.Action,
		booking: b,
		ticket:  t,
		legs:    t.Itinerary(),
		names:   s.Timetable.Load(),
		reason:  m.Reason,
	}
}

// gone reports whether the news is that the ticket is no longer good.
func (n *news) gone() bool {
	return n.action == booking.Cancel || n.action == booking.CancelRun
}

// done returns the word for what was done with the ticket.
func (n *news) done(w *wording) string {
	switch {
	case n.gone() && n.ticket.Phase == booking.Refunded:
		return w.refunded
	case n.gone():
		return w.canceled
	case n.action == booking.Book:
		return w.booked
	}
	return w.paid
}

// way names the first and the last city.
func (n *news) way(w *wording) string {
	first := &n.legs[0]
	last := &n.legs[len(n.legs)-1]
	return n.city(first, first.From, w) + " – " + n.city(last, last.To, w)
}

// leaves returns the departure by the clock there. If a ride was moved it returns that of each ride, as the
// moved one may be the second.
func (n *news) leaves(w *wording) string {
	first := &n.legs[0]
	said := localTime(first.Run.Dep(first.From), first, first.From)
	if n.action != booking.MoveRun {
		return said
	}
	for i := range n.legs[1:] {
		l := &n.legs[1+i]
		said += ", " + n.city(l, l.From, w) + " " + localTime(l.Run.Dep(l.From), l, l.From)
	}
	if n.ticket.MissesChange() {
		said += ". " + w.change + " " + w.missed
	}
	return said
}

// localTime returns an instant by the clock of a stop, as it was when the run was sold.
func localTime(at time.Time, l *booking.Leg, position int16) string {
	return l.Run.Local(at, position).Format("2006-01-02 15:04")
}

// subject returns the subject of an e-mail, in both languages. For a cancelled run it says first that the bus
// does not run, and then how much is refunded.
func (n *news) subject() string {
	said := n.way(&english) + ", " + n.leaves(&english)
	switch n.action {
	case booking.MoveRun:
		return english.newTime + " / " + ukrainian.newTime + ": " + said
	case booking.CancelRun:
		said = english.notRun + " / " + ukrainian.notRun + ": " + said
		return said + n.comesBack(&english, ". ") + n.comesBack(&ukrainian, " / ")
	}
	return "Your ticket is " + n.done(&english) + " / Ваш квиток " + n.done(&ukrainian) + ": " + said
}

// text returns the text for a phone, in both languages.
func (n *news) text() string {
	in := func(w *wording) string {
		what := w.ticketID + " " + n.done(w)
		switch n.action {
		case booking.MoveRun:
			what = w.newTime
		case booking.CancelRun:
			what = w.notRun
		}
		said := fmt.Sprintf("%s: %s, %s", what, n.way(w), n.leaves(w))
		if !n.gone() {
			return said + ", " + strings.ToLower(w.seat) + " " + n.seats() + "." + n.why(w)
		}
		return said + n.comesBack(w, ". ") + "." + n.why(w)
	}
	return in(&english) + " " + in(&ukrainian)
}

// seats names the seat of each ride.
func (n *news) seats() string {
	return strings.ReplaceAll(n.ticket.SeatLabels(), " ", ", ")
}

// why returns the carrier's reason for changing the run; "" if it has not changed it.
func (n *news) why(w *wording) string {
	if n.reason == "" {
		return ""
	}
	return " " + w.reason + ": " + words.Tidy(n.reason) + "."
}

// comesBack returns, after a separator, the amount that a refunded ticket gets back; "" for any other ticket.
func (n *news) comesBack(w *wording, separator string) string {
	if !n.gone() || n.ticket.Phase != booking.Refunded {
		return ""
	}
	return separator + w.refund + " " + n.money(n.ticket.Refund())
}

// money returns an amount in minor units with its currency.
func (n *news) money(amount int64) string {
	return words.Hundredths(amount).String() + " " + string(n.ticket.Currency[:])
}

// letter returns the text of an e-mail, in both languages.
func (n *news) letter() string {
	return n.half(&english) + "\n" + n.half(&ukrainian)
}

// half returns the letter in one language.
func (n *news) half(w *wording) string {
	var b strings.Builder
	line := func(title, text string) {
		fmt.Fprintf(&b, "%s: %s\n", title, text)
	}
	name, surname, _, _ := n.ticket.Passenger.Fields()
	what := w.ticket + " " + n.done(w)
	switch n.action {
	case booking.MoveRun:
		what = w.timeless
	case booking.CancelRun:
		what = strings.ToLower(w.notRun) + "; " + what
	}
	fmt.Fprintf(&b, "%s %s, %s.\n", words.Tidy(name), words.Tidy(surname), what)
	switch n.action {
	case booking.CancelRun:
		b.WriteString(w.runCanceled + n.why(w) + "\n")
	case booking.MoveRun:
		b.WriteString(w.moved + n.why(w) + "\n")
	}
	b.WriteString("\n")
	for i := range n.legs {
		l := &n.legs[i]
		if i > 0 {
			before := &n.legs[i-1]
			wait := l.Run.Dep(l.From).Sub(before.Run.Arr(before.To))
			b.WriteString("\n")
			how := fmt.Sprintf("%d:%02d", int(wait.Hours()), int(wait.Minutes())%60)
			if wait < 0 {
				how = w.missed
			}
			line(w.change, n.city(l, l.From, w)+", "+how)
			b.WriteString("\n")
		}
		line(w.carrier, l.Run.Form.Company.Name)
		line(w.route, n.route(l, w))
		line(w.departure, localTime(l.Run.Dep(l.From), l, l.From)+", "+n.place(l, l.From, w))
		line(w.arrival, localTime(l.Run.Arr(l.To), l, l.To)+", "+n.place(l, l.To, w))
		line(w.seat, strconv.Itoa(int(l.Seat)))
	}
	b.WriteString("\n")
	line(w.price, n.money(n.ticket.Price()))
	if refund := n.comesBack(w, ""); refund != "" {
		b.WriteString(refund + "\n")
	}
	line(w.ticketID, n.ticket.ID.String())
	line(w.bookingID, n.booking.ID.String())
	return b.String()
}

// city names the city at a position of a run.
func (n *news) city(l *booking.Leg, position int16, w *wording) string {
	sold := &l.Run.Form.Stops[position].City
	if i, ok := n.names.CityByID(sold.ID); ok {
		return n.names.Cities[i].Names.Or(sold.Name, w.language)
	}
	return sold.Name
}

// place names the stop at a position of a run: the city, unless the stop's name says it, the stop, and the
// platform.
func (n *news) place(l *booking.Leg, position int16, w *wording) string {
	sold := &l.Run.Form.Stops[position].Stop
	stop := sold.Place
	if i, ok := n.names.StopByID(sold.ID); ok {
		stop = n.names.Stops[i].Names.Or(sold.Place, w.language)
	}
	list := []string{stop}
	city := n.city(l, position, w)
	if !strings.HasPrefix(stop, city) {
		list = []string{city, stop}
	}
	if sold.Platform != "" {
		list = append(list, w.platform+" "+sold.Platform)
	}
	return strings.Join(list, ", ")
}

// route names the route of a leg.
func (n *news) route(l *booking.Leg, w *wording) string {
	if trip, ok := n.names.TripByID(l.Run.Form.Trip); ok && n.names.Route(trip).ID == l.Run.Form.Route.ID {
		return n.names.RouteName(trip, w.language)
	}
	return l.Run.Form.Route.Name
}
