package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/wire"
	"waybill/store"
)

// LogFilter says what of the journal to show.
type LogFilter struct {
	Booking, Ticket string     // their ids
	At              *time.Time // only what had happened by then, and what the booking looked like
}

// LogStyle says how to show it.
type LogStyle struct {
	JSON   bool            // an object for each line
	Follow <-chan struct{} // unless nil, further lines are shown as they come, until it is closed
}

// story tells a journal in words, or as much of it as a filter shows.
type story struct {
	*State
	LogFilter
	out  io.Writer
	json bool

	tickets []booking.ID // told of besides those in the booking: the one asked for, those that ever moved into or out of it
	end     uint64       // the last line of it
	last    uint64       // the last line that was read
	told    time.Time    // what time alone did by then is told

	following bool // lines come as they are written: told only rises
}

// logged is a line of the log as an object.
type logged struct {
	Time    time.Time `json:"time"`
	Seq     uint64    `json:"seq,omitempty"`
	Type    string    `json:"type,omitempty"`
	Derived bool      `json:"derived,omitempty"` // time alone did it: no line of the journal says so
	Text    string    `json:"text"`
	By      *By       `json:"by,omitempty"`
}

// Log writes the journal as readable history: a line for each event. For a booking or a ticket it also tells
// what time alone did, which no line of the journal says; with At it ends in the booking as it stood. A
// booking or ticket that no line tells of is an error.
func Log(fsys store.FS, live bool, f LogFilter, style LogStyle, out io.Writer) error {
	s := &story{State: newState(), LogFilter: f, out: out, json: style.JSON, end: math.MaxUint64}
	id, _ := booking.ParseID(f.Booking)
	if ticket, ok := booking.ParseID(f.Ticket); ok {
		s.tickets = append(s.tickets, ticket)
	}
	if f != (LogFilter{}) {
		if err := s.lookAhead(fsys, live, id); err != nil {
			return err
		}
	}
	decode := newJournal().decode
	if err := readEventsWith(decode, fsys, live, s.line); err != nil {
		return err
	}
	if style.Follow != nil {
		return s.follow(fsys, decode, style.Follow)
	}
	if f.At == nil {
		return s.derive(s.Clock.at(time.Now()))
	}
	if err := s.derive(*f.At); err != nil || f.Booking == "" {
		return err
	}
	return s.asItStood(id)
}

// lookAhead finds where the story ends, and which tickets will be moved, which is known at the journal's end
// only. A line of before the test clock was set may be later than those after it. What is wrong with the
// journal is told after what is before it.
func (s *story) lookAhead(fsys store.FS, live bool, id booking.ID) error {
	s.end = 0
	if s.At == nil {
		s.end = math.MaxUint64
	}
	known := s.Booking == "" && s.Ticket == ""
	damaged := readEvents(fsys, live, func(l *store.Line, e Event) error {
		known = known || s.Booking != "" && bytes.Contains(l.Data, []byte(s.Booking)) ||
			s.Ticket != "" && bytes.Contains(l.Data, []byte(s.Ticket))
		if s.At != nil && l.Time.After(*s.At) {
			return nil
		}
		s.end = max(s.end, l.Seq)
		if m, ok := e.(*booking.Moved); ok && (m.From == id || m.To == id) {
			s.tickets = append(s.tickets, m.Ticket)
		}
		return nil
	})
	if !known && damaged == nil {
		return fmt.Errorf("no line of the journal tells of %s", cmp.Or(s.Booking, s.Ticket))
	}
	return nil
}

// followEvery is how often the journal is looked at for further lines.
const followEvery = 200 * time.Millisecond

// follow tells further lines as they come, until stop is closed. Each is held against its neighbours.
func (s *story) follow(fsys store.FS, decode decoder, stop <-chan struct{}) error {
	lines := store.NewLines(fsys)
	s.following = true
	for {
		if s.Booking != "" || s.Ticket != "" {
			// A line of this moment may still be on its way.
			if err := s.derive(s.Clock.at(time.Now().Add(-followEvery))); err != nil {
				return err
			}
		}
		err := lines.Read([]uint64{s.last + 1}, func(l *store.Line) error { return decoded(decode, l, s.line) })
		switch {
		case err == nil:
			continue
		case !errors.Is(err, store.ErrNoLine):
			return err
		}
		select {
		case <-stop:
			return nil
		case <-time.After(followEvery):
		}
	}
}

// asItStood shows the booking at the end of the story.
func (s *story) asItStood(id booking.ID) error {
	b := s.Bookings.Any(id)
	if b == nil {
		return s.write(logged{Time: *s.At, Text: "there was no booking " + s.Booking}, "there was no booking "+s.Booking)
	}
	var w wire.Writer
	writeBooking(&w, "", b, *s.At)
	_, err := fmt.Fprintf(s.out, "%s\n", w.B)
	return err
}

const logTime = "2006-01-02 15:04:05.000"

// write tells a line: as an object, or as the text for people.
func (s *story) write(x logged, text string) error {
	if s.json {
		return json.NewEncoder(s.out).Encode(x)
	}
	_, err := io.WriteString(s.out, text+"\n")
	return err
}

// line tells a line, after what time did before it.
func (s *story) line(l *store.Line, e Event) error {
	s.last = l.Seq
	if l.Seq > s.end {
		return nil
	}
	if err := s.derive(l.Time); err != nil {
		return err
	}
	if e != nil {
		apply(s.State, l.Stamp, e)
	}
	if !s.shows(l.Data, e) {
		return nil
	}
	x := logged{Time: l.Time, Seq: l.Seq, Type: l.Type, Text: s.tell(e, l), By: readBy(l.Data)}
	by := ""
	if x.By != nil {
		by = "; by " + x.By.String()
	}
	return s.write(x, fmt.Sprintf("%s  #%d  %s  %s%s", l.Time.Format(logTime), l.Seq, l.Type, x.Text, by))
}

// shows tells whether a line is part of the story: it names the booking or one of the tickets, or erased
// them.
func (s *story) shows(data []byte, e Event) bool {
	names := func(id string, members ...string) bool {
		return id != "" && slices.ContainsFunc(members, func(m string) bool {
			return bytes.Contains(data, fmt.Appendf(nil, "%q:%q", m, id))
		})
	}
	if s.Booking == "" && s.Ticket == "" || names(s.Booking, "booking", "from") ||
		slices.ContainsFunc(s.tickets, func(id booking.ID) bool { return names(id.String(), "ticket", "id") }) {
		return true
	}
	erased, ok := e.(interface{ tickets() []booking.ID })
	return ok && slices.ContainsFunc(erased.tickets(), func(id booking.ID) bool {
		b, _ := s.Bookings.AnyTicket(id)
		return slices.Contains(s.tickets, id) || b.ID.String() == s.Booking
	})
}

// derive tells what time alone did to the story's booking and tickets, up to an instant.
func (s *story) derive(to time.Time) error {
	var list []logged
	add := func(at time.Time, what string) { list = append(list, logged{Time: at, Derived: true, Text: what}) }
	passes := func(at time.Time) bool { return at.After(s.told) && !at.After(to) }
	tickets := slices.Clone(s.tickets)
	id, _ := booking.ParseID(s.Booking)
	if b := s.Bookings.Any(id); b != nil {
		for i := range b.Tickets {
			if id := b.Tickets[i].ID; !slices.Contains(tickets, id) {
				tickets = append(tickets, id)
			}
		}
		d := b.Departure()
		for _, at := range []time.Time{d.Add(-8 * time.Hour), d, d.Add(24 * time.Hour)} {
			if now := b.Status(at); passes(at) && now != b.Status(at.Add(-time.Millisecond)) {
				add(at, fmt.Sprintf("booking %s is %s", b.ID, now))
			}
		}
	}
	for _, id := range tickets {
		if _, t := s.Bookings.AnyTicket(id); t != nil && passes(t.Due()) && t.PhaseAt(t.Due()) == booking.Uncompleted {
			add(t.Due(), s.ticket(id, t.Due())+": 20 minutes without payment")
		}
	}
	slices.SortStableFunc(list, func(a, b logged) int { return a.Time.Compare(b.Time) })
	for _, x := range list {
		if err := s.write(x, x.Time.Format(logTime)+"  (derived)  "+x.Text); err != nil {
			return err
		}
	}
	if !s.following || to.After(s.told) { // else a test clock may have been set to the past
		s.told = to
	}
	return nil
}

func (s *State) partner(id booking.ID) string {
	return fmt.Sprintf("partner %q", s.Partners.ByID(auth.ID(id)).Name)
}

// ticket says how a ticket stands at an instant.
func (s *State) ticket(id booking.ID, now time.Time) string {
	b, t := s.Bookings.AnyTicket(id)
	status, payment := t.Status(now)
	back := ""
	if p := t.PhaseAt(now); p == booking.Uncompleted || p == booking.Canceled || p == booking.Refunded {
		back = " given back"
	}
	return fmt.Sprintf("ticket %s of booking %s is %s/%s, seat %s%s", id, b.ID, status, payment, labels(t.Itinerary()), back)
}

// tell says in words what a line's event did, after it was applied.
func (s *State) tell(e Event, l *store.Line) string {
	switch e := e.(type) {
	case *booking.Created:
		return s.partner(e.Partner) + " makes " + s.tellCreated(e)
	case *booking.Asked:
		return s.tellSettled(&e.Settled, l.Time, "the provider is asked to "+e.Action.String())
	case *booking.Refused:
		what := "the provider refuses to "
		if e.Unknown {
			what = "no answer of the provider decides whether to "
		}
		if e.Reason != "" {
			what = "an operator answers in the provider's place, and refuses to "
		}
		return s.tellSettled(&booking.Settled{Ticket: e.Ticket, Request: e.Request, Reason: e.Reason}, l.Time, what+e.Action.String())
	case *booking.TicketPaid:
		return s.tellSettled(&e.Settled, l.Time, "paid")
	case *booking.TicketBooked:
		return s.tellSettled(&e.Settled, l.Time, "booked")
	case *booking.TicketsCanceled:
		return s.partner(s.Bookings.Any(e.Booking).Partner) + " cancels: " + s.tellCanceled(e, l.Time)
	case *booking.Moved:
		return fmt.Sprintf("ticket move: %s, no longer of booking %s", s.ticket(e.Ticket, l.Time), e.From)
	case *booking.TicketsUncompleted:
		return fmt.Sprintf("noted: %s of booking %s%sUncompleted from %s on",
			Counted(len(e.Tickets), "ticket"), e.Booking, were(len(e.Tickets)), e.At.UTC().Format(logTime))
	case *booking.CarrierSet:
		return "ticket status, by the carrier: " + s.ticket(e.Ticket, l.Time)
	case *auth.KeyAdded:
		return fmt.Sprintf("partner add: %q (%s) has a new key, whose hash is %s; companies, if limited: %q", e.Name, e.Partner, e.Hash, e.Companies)
	case *auth.KeysRevoked:
		return fmt.Sprintf("partner revoke: the keys with the hashes %s of %s", e.Hashes, s.partner(booking.ID(e.Partner)))
	case *auth.LegacyUsed:
		return s.partner(booking.ID(e.Partner)) + " calls the legacy interface, for the first time on this day"
	case *auth.UserAdded:
		return fmt.Sprintf("user add: the new user %s is %s of company %q%s",
			e.User, e.Access.Role, e.Access.Company.Slug, tellLink(e.Link))
	case *auth.AccessGiven:
		return fmt.Sprintf("user add: user %s is %s of company %q%s",
			e.User, e.Access.Role, e.Access.Company.Slug, tellLink(e.Link))
	case *auth.UserRemoved:
		return fmt.Sprintf("user remove: user %s is gone, and signed out", e.User)
	case *auth.SessionStarted:
		return fmt.Sprintf("user %s signs in for company %q: session %s%s", e.User, e.Company, e.Session, tellLink(e.Link))
	case *auth.SessionRefreshed:
		return fmt.Sprintf("session %s is refreshed, and lasts until %s", e.Session, e.Until.Format(time.RFC3339))
	case *auth.SessionEnded:
		return fmt.Sprintf("session %s ends: %s", e.Session, e.Reason)
	case *PersonalErased:
		return fmt.Sprintf("forget: the personal data of %s is erased, from the lines %d: %s", Counted(len(e.tickets()), "ticket"), e.Lines, e.Reason)
	case *PassengersForgotten:
		return fmt.Sprintf("forget: the passengers of %s are forgotten, whose lines are named later: %s", Counted(len(e.Passengers), "ticket"), e.Reason)
	case *KeysRotated:
		return "key rotate: offers are signed with a new key"
	case *TimetableImported:
		return fmt.Sprintf("import: the timetable %q is in force: %s, %s, %s, %s skipped; SHA-256 %s", e.Feed,
			Counted(e.Cities, "city"), Counted(e.Routes, "route"), Counted(e.Trips, "trip"), Counted(e.Skipped, "row"), e.Hash)
	case *ClockSet:
		return fmt.Sprintf("the clock is now %v ahead of the machine's", time.Duration(e.OffsetMs)*time.Millisecond)
	}
	// The data, without JSON's punctuation.
	return strings.NewReplacer(`":`, " ", `{`, "", `}`, "", `"`, "", `,`, ", ").Replace(string(withoutBy(l.Data)))
}

func (s *State) tellSettled(e *booking.Settled, now time.Time, what string) string {
	b, _ := s.Bookings.AnyTicket(e.Ticket)
	if e.Seats != nil {
		what += " with a seat anew"
	}
	why := ""
	if e.Reason != "" {
		why = ", an operator answered in the provider's place: " + e.Reason
	}
	return fmt.Sprintf("%s for %s: %s; request %s%s", what, s.partner(b.Partner), s.ticket(e.Ticket, now), e.Request, why)
}

func (s *State) tellCreated(e *booking.Created) string {
	var b strings.Builder
	fmt.Fprintf(&b, "booking %s, passengers: %d", e.ID, len(e.Tickets))
	if len(e.Passengers) == 0 {
		b.WriteString(", whose names are erased")
	}
	for _, l := range e.Legs {
		r := s.Bookings.RunByID(l.Run)
		from, to := &r.Form.Stops[l.From], &r.Form.Stops[l.To]
		leaves := r.Dep(l.From).In(time.FixedZone("", int(r.Offsets[l.From])))
		fmt.Fprintf(&b, "; trip %s of %s, %q (%s) to %q (%s), leaves %s, %s %s each", r.Form.Trip, r.Day,
			from.City.Name, from.Stop.ID, to.City.Name, to.Stop.ID, leaves.Format("2006-01-02 15:04 -07:00"), hundredths(l.Amount), e.Currency)
	}
	for _, t := range e.Tickets {
		fmt.Fprintf(&b, "; ticket %s seat %s", t.ID, strings.Trim(fmt.Sprint(t.Seats), "[]"))
	}
	return b.String() + "; request " + e.Request
}

func (s *State) tellCanceled(e *booking.TicketsCanceled, now time.Time) string {
	var b strings.Builder
	for _, x := range e.Tickets {
		_, t := s.Bookings.AnyTicket(x.ID)
		b.WriteString(s.ticket(x.ID, now))
		if x.Refunded {
			fmt.Fprintf(&b, ", refunded %s of %s %s", hundredths(x.Refund), hundredths(t.Price()), t.Currency)
		} else {
			b.WriteString(", nothing to refund")
		}
		if x.Grace {
			b.WriteString(" (within 20 minutes of its creation: all of it)")
		}
		for _, term := range x.Terms {
			fmt.Fprintf(&b, " (rule %s: %s %%)", cmp.Or(term.Rule, "none"), hundredths(term.Percent))
		}
		b.WriteString("; ")
	}
	return b.String() + "request " + e.Request
}

// tellLink says whom a user is linked to by an event; "" where by none.
func tellLink(l *auth.Link) string {
	if l == nil {
		return ""
	}
	return fmt.Sprintf("; linked to the subject with the hash %s of %s", l.Subject, cmp.Or(l.Issuer, "the first issuer that shows it"))
}
