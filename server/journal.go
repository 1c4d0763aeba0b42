package server

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/server/wire"
	"waybill/store"
)

// State is everything the server remembers: a field per package that does.
type State struct {
	Clock    Clock
	Partners *auth.Partners
	Bookings *booking.State
	Accounts *auth.Accounts
	Reports  *report.State
	// Geolocation is what users have set of FMS objects, by id.
	Geolocation map[string]bool
	// TimetableHash names the timetable in force by its content; "" is none yet.
	TimetableHash string
	Feeds         map[booking.ID]*feed // by partner
	Retries       retries
	Outbox        outbox

	// timetable is the value the hash names. It is kept beside the journal, not
	// in it: after a replay it is nil until Open has loaded it.
	timetable *schedule.Timetable
}

// Clock is the directory's test clock (contract §2).
type Clock struct {
	Set      bool  `json:"set"`
	OffsetMs int64 `json:"offsetMs"` // milliseconds ahead of the machine's clock
	// Began is where it was started, if nothing had been sold before: the directory's creation by its own clock.
	Began time.Time `json:"began,omitzero"`
}

// at gives the directory's time at a time of the machine's clock.
func (c Clock) at(now time.Time) time.Time {
	return now.Add(time.Duration(c.OffsetMs) * time.Millisecond)
}

func newState() *State {
	return &State{
		Partners: auth.NewPartners(), Bookings: booking.NewState(), Accounts: auth.NewAccounts(),
		Reports: report.NewState(), Geolocation: map[string]bool{}, Feeds: map[booking.ID]*feed{},
		Retries: retries{known: map[retryKey]*retry{}, open: map[retryKey]*retry{}}, Outbox: outbox{messages: map[string]*message{}, byTicket: map[booking.ID]map[string]bool{}},
	}
}

// Event is one change of the state: a pointer to a type that [kinds] lists.
type Event any

// ClockSet says that the directory's clock was started, moved, or, with Real, given up.
type ClockSet struct {
	Real     bool      `json:"real"`
	OffsetMs int64     `json:"offsetMs"`
	Began    time.Time `json:"began,omitzero"` // see Clock
}

// TimetableImported says which timetable is in force from then on.
type TimetableImported struct {
	Hash    string `json:"sha256"`
	Feed    string `json:"feed"` // what it was called
	Cities  int    `json:"cities"`
	Routes  int    `json:"routes"`
	Trips   int    `json:"trips"`
	Skipped int    `json:"skipped"`

	loaded *schedule.Timetable // nil in a replay
}

func applyTimetableImported(s *State, _ time.Time, e *TimetableImported) {
	s.TimetableHash = e.Hash
	if e.loaded != nil {
		s.timetable = e.loaded
	}
}

// apply changes the state as the event says.
func apply(s *State, stamp store.Stamp, e Event) {
	e = plainEvent(e)
	kindOf(e).apply(s, stamp.Time, e)
	follow(s, stamp, e)
}

// check tells whether an event may follow the state, without what decided it.
func check(s *State, stamp store.Stamp, e Event) error {
	switch e := e.(type) {
	case *booking.Created:
		return s.Bookings.CheckCreated(stamp.Time, e)
	case *booking.TicketPaid:
		return s.Bookings.CheckSettled(stamp.Time, &e.Settled, booking.Pay)
	case *booking.TicketBooked:
		return s.Bookings.CheckSettled(stamp.Time, &e.Settled, booking.Book)
	case *booking.Asked:
		return s.Bookings.CheckSettled(stamp.Time, &e.Settled, e.Action)
	case *booking.TicketsCanceled:
		return s.Bookings.CheckCanceled(stamp.Time, e)
	case *booking.TicketsUncompleted:
		return s.Bookings.CheckUncompleted(stamp.Time, e)
	}
	return nil
}

// journal reads lines and snapshots. What was sold earlier is named by later ones, so it keeps the forms it has seen.
type journal struct {
	forms map[string]*schedule.Form
}

func newJournal() *journal { return &journal{map[string]*schedule.Form{}} }

// kind is a type of journal line: what it is called, how it is written and read, and what it does to the state.
type kind struct {
	name  string
	event reflect.Type                          // *T
	code  func(*journal, *coder, Event, *coder) // the last is of the personal part
	apply func(*State, time.Time, Event)
}

// of makes the kind of the events *T, whose members code describes and which change the part of the state that in gives.
func of[T, S any](name string, code func(*journal, *coder, *T, *coder), in func(*State) S, apply func(S, time.Time, *T)) kind {
	k := plain(name, in, apply)
	k.code = func(j *journal, c *coder, e Event, personal *coder) {
		c.object("", func() {
			code(j, c, e.(*T), personal)
			if c.optional("by", false) { // see readBy
				c.r.Member("by")
				c.r.Skip()
			}
			if c.optional("personal", false) { // the store's hash of the personal part
				c.r.Member("personal")
				c.r.Skip()
			}
		})
	}
	return k
}

// plain makes the kind of events that are rare enough for encoding/json. One
// with a personal part gives a pointer to it.
func plain[T, S any](name string, in func(*State) S, apply func(S, time.Time, *T)) kind {
	return kind{
		name:  name,
		event: reflect.TypeFor[*T](),
		code: func(_ *journal, c *coder, e Event, personal *coder) {
			c.json("", e)
			if p, ok := e.(interface{ PersonalPart() any }); ok {
				if part := p.PersonalPart(); part != nil {
					personal.json("", part)
				}
			}
		},
		apply: func(s *State, now time.Time, e Event) { apply(in(s), now, e.(*T)) },
	}
}

func inBookings(s *State) *booking.State { return s.Bookings }
func inPartners(s *State) *auth.Partners { return s.Partners }
func inAccounts(s *State) *auth.Accounts { return s.Accounts }
func inReports(s *State) *report.State   { return s.Reports }
func inAll(s *State) *State              { return s }

// kinds are all types of lines.
var kinds = []kind{
	of("booking.created", codeCreated, inBookings, (*booking.State).ApplyCreated),
	of("ticket.paid", codePaid, inBookings, (*booking.State).ApplyPaid),
	of("ticket.booked", codeBooked, inBookings, (*booking.State).ApplyBooked),
	plain("tickets.canceled", inBookings, (*booking.State).ApplyCanceled),
	plain("ticket.asked", inBookings, (*booking.State).ApplyAsked),
	plain("ticket.refused", inBookings, (*booking.State).ApplyRefused),
	plain("tickets.uncompleted", inBookings, (*booking.State).ApplyUncompleted),
	plain("ticket.moved", inBookings, (*booking.State).ApplyMoved),
	plain("ticket.carrier", inBookings, (*booking.State).ApplyCarrierSet),
	plain("partner.key_added", inPartners, (*auth.Partners).ApplyKeyAdded),
	plain("partner.revoked", inPartners, (*auth.Partners).ApplyKeysRevoked),
	plain("partner.legacy_used", inPartners, (*auth.Partners).ApplyLegacyUsed),
	plain("user.added", inAccounts, (*auth.Accounts).ApplyUserAdded),
	plain("user.access_given", inAccounts, (*auth.Accounts).ApplyAccessGiven),
	plain("user.removed", inAccounts, (*auth.Accounts).ApplyUserRemoved),
	plain("session.started", inAccounts, (*auth.Accounts).ApplySessionStarted),
	plain("session.refreshed", inAccounts, (*auth.Accounts).ApplySessionRefreshed),
	plain("session.ended", inAccounts, (*auth.Accounts).ApplySessionEnded),
	plain("report.ordered", inReports, (*report.State).ApplyOrdered),
	plain("report.completed", inReports, (*report.State).ApplyCompleted),
	plain("report.downloaded", inReports, (*report.State).ApplyDownloaded),
	plain("timetable.imported", inAll, applyTimetableImported),
	plain("request.answered", inAll, func(*State, time.Time, *Answered) {}),
	plain("outbox.sent", inAll, applySent),
	plain("outbox.parked", inAll, applyParked),
	plain("outbox.retried", inAll, applyRetried),
	plain(store.KindErased, inAll, applyPersonalErased),
	plain(kindForgotten, inAll, applyForgotten),
	plain("keys.rotated", inAll, func(*State, time.Time, *KeysRotated) {}),
	plain("geolocation.set", inAll, func(s *State, _ time.Time, e *GeolocationSet) { s.Geolocation[e.Object] = e.On }),
	plain("clock.set", inAll, func(s *State, _ time.Time, e *ClockSet) {
		s.Clock = Clock{!e.Real, e.OffsetMs, cmp.Or(e.Began, s.Clock.Began)}
	}),
}

// kindOf gives the kind of an event.
func kindOf(e Event) *kind {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.event == reflect.TypeOf(e) })
	if i < 0 {
		panic(fmt.Sprintf("server: %T is not an event", e))
	}
	return &kinds[i]
}

// encode appends an event's data and personal part.
func (j *journal) encode(e Event, data, personal []byte) (name string, d, p []byte) {
	k := kindOf(plainEvent(e))
	c, own := coder{w: &wire.Writer{B: data}}, coder{w: &wire.Writer{B: personal}}
	k.code(j, &c, plainEvent(e), &own)
	if a, ok := e.(*attributed); ok {
		c.w.B = appendBy(c.w.B, a.by)
	}
	return k.name, c.w.B, own.w.B
}

// decode reads what encode wrote. An unknown kind is store.ErrNewer.
func (j *journal) decode(name string, data, personal []byte) (e Event, err error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.name == name })
	if i < 0 {
		return nil, store.ErrNewer
	}
	c, own := coder{r: wire.NewReader(data)}, coder{r: wire.NewReader(personal)}
	e = reflect.New(kinds[i].event.Elem()).Interface()
	kinds[i].code(j, &c, e, &own)
	c.r.End()
	own.r.End()
	return e, cmp.Or(c.r.Err(), own.r.Err())
}

func writeID(w *wire.Writer, name string, id booking.ID) {
	w.Key(name)
	w.B = append(w.B, '"')
	w.B = base64.RawURLEncoding.AppendEncode(w.B, id[:])
	w.B = append(w.B, '"')
}

func codeCreated(j *journal, c *coder, e *booking.Created, personal *coder) {
	id(c, "booking", &e.ID)
	id(c, "partner", &e.Partner)
	c.string("request", &e.Request)
	c.string("currency", &e.Currency)
	if c.optional("forms", len(e.Forms) > 0) {
		list(c, "forms", &e.Forms, func(f **schedule.Form) { j.form(c, "", f) })
	}
	if c.optional("runs", len(e.Runs) > 0) {
		list(c, "runs", &e.Runs, func(r **booking.Run) { j.run(c, "", r) })
	}
	list(c, "legs", &e.Legs, func(l *booking.SoldLeg) {
		c.object("", func() {
			text(c, "run", &l.Run, booking.RunID.String, booking.ParseRunID)
			number(c, "from", &l.From)
			number(c, "to", &l.To)
			number(c, "amount", &l.Amount)
			number(c, "discount", &l.Discount)
		})
	})
	list(c, "tickets", &e.Tickets, func(t *booking.NewTicket) {
		c.object("", func() {
			id(c, "id", &t.ID)
			codeSeats(c, &t.Seats)
		})
	})
	codeRetry(c, &e.Retry)
	personal.object("", func() {
		if personal.optional("erased", false) {
			var when string
			personal.string("erased", &when)
			return
		}
		id(personal, "salt", &e.Salt)
		list(personal, "passengers", &e.Passengers, func(p *booking.Passenger) { codePassenger(personal, "", p) })
		if personal.optional("reply", e.Retry != nil) {
			reply := ""
			if personal.writing() {
				reply = string(e.Retry.Reply())
			}
			personal.string("reply", &reply)
		}
	})
}

func codePassenger(c *coder, name string, p *booking.Passenger) {
	if c.writing() {
		first, last, email, phones := p.Fields()
		c.object(name, func() {
			c.w.Texts("firstName", first, "lastName", last, "email", email)
			c.w.Strings("phones", phones)
		})
		return
	}
	read := func(name string) []byte {
		c.r.Member(name)
		return c.r.Bytes()
	}
	c.object(name, func() {
		first, last, email := read("firstName"), read("lastName"), read("email")
		var room [4][]byte
		phones := room[:0]
		list(c, "phones", &phones, func(phone *[]byte) { *phone = read("") })
		*p = booking.NewPassenger(first, last, email, phones)
	})
}

// codeSeats are the seats of a ticket, by leg; they are left out where they stay the same.
func codeSeats(c *coder, seats *[]int16) {
	if c.optional("seats", *seats != nil) {
		list(c, "seats", seats, func(s *int16) { number(c, "", s) })
	}
}

// form is what was sold, in the form it was sold in.
func (j *journal) form(c *coder, name string, f **schedule.Form) {
	if c.writing() {
		c.w.Raw(name, (*f).Encode())
		return
	}
	c.r.Member(name)
	var err error
	if *f, err = schedule.DecodeForm(c.r.Raw()); err != nil {
		c.r.Reject(err.Error())
		return
	}
	j.forms[(*f).Key()] = *f
}

// run is a run; its id follows from the rest.
func (j *journal) run(c *coder, name string, r **booking.Run) {
	var x booking.Run
	form := ""
	if c.writing() {
		x, form = **r, (*r).Form.Key()
	}
	c.object(name, func() {
		c.string("form", &form)
		text(c, "date", &x.Day, schedule.Day.String, func(s string) (schedule.Day, bool) {
			d, err := schedule.ParseDay(s)
			return d, err == nil
		})
		number(c, "start", &x.Start)
		list(c, "offsets", &x.Offsets, func(o *int32) { number(c, "", o) })
	})
	if c.writing() {
		return
	}
	f := j.forms[form]
	if f == nil || len(x.Offsets) != len(f.Stops) {
		c.r.Reject("a run names a form that is not known")
		f = new(schedule.Form)
	}
	*r = booking.NewRun(f, x.Day, x.Start, x.Offsets)
}

func codePaid(_ *journal, c *coder, e *booking.TicketPaid, _ *coder)     { codeSettled(c, &e.Settled) }
func codeBooked(_ *journal, c *coder, e *booking.TicketBooked, _ *coder) { codeSettled(c, &e.Settled) }

func codeSettled(c *coder, e *booking.Settled) {
	id(c, "ticket", &e.Ticket)
	id(c, "booking", &e.Booking)
	codeSeats(c, &e.Seats)
	c.string("request", &e.Request)
	if c.optional("reason", e.Reason != "") {
		c.string("reason", &e.Reason)
	}
	codeRetry(c, &e.Retry)
	if c.optional("sends", len(e.Sends) > 0) {
		list(c, "sends", &e.Sends, func(to *string) { c.string("", to) })
	}
}
