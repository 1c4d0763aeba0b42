package server

import (
	"encoding/base64"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/report"
	"waybill/schedule"
	"waybill/server/wire"
	"waybill/store"
)

// journal reads lines and snapshots. What was sold earlier is named by later
// ones, so it keeps the forms it has seen.
type journal struct {
	forms map[string]*schedule.Form
}

func newJournal() *journal { return &journal{map[string]*schedule.Form{}} }

// kind is a type of journal line: what it is called, how it is written and
// read, and what it does to the state.
type kind struct {
	name  string
	is    func(*Event) bool
	code  func(*journal, *coder, *Event, *coder) // the last is of the personal part
	apply func(*State, time.Time, *Event)
}

// of makes the kind of the events that a field of Event holds, whose members code describes.
func of[T any](name string, field func(*Event) **T, code func(*journal, *coder, *T, *coder), apply func(*State, time.Time, *T)) kind {
	return whole(name, field, func(j *journal, c *coder, e *T, personal *coder) {
		c.object("", func() {
			code(j, c, e, personal)
			if c.optional("personal", false) { // the store's hash of the personal part
				c.r.Member("personal")
				c.r.Skip()
			}
		})
	}, apply)
}

// plain makes the kind of events that are rare enough for encoding/json. One
// with a personal part gives a pointer to it.
func plain[T any](name string, field func(*Event) **T, apply func(*State, time.Time, *T)) kind {
	return whole(name, field, func(_ *journal, c *coder, e *T, personal *coder) {
		c.json("", e)
		if p, ok := any(e).(interface{ PersonalPart() any }); ok {
			personal.json("", p.PersonalPart())
		}
	}, apply)
}

func whole[T any](name string, field func(*Event) **T, code func(*journal, *coder, *T, *coder), apply func(*State, time.Time, *T)) kind {
	return kind{
		name: name,
		is:   func(e *Event) bool { return *field(e) != nil },
		code: func(j *journal, c *coder, e *Event, personal *coder) {
			at := field(e)
			if *at == nil {
				*at = new(T)
			}
			code(j, c, *at, personal)
		},
		apply: func(s *State, now time.Time, e *Event) { apply(s, now, *field(e)) },
	}
}

// kinds are all types of lines.
var kinds = []kind{
	of("booking.created", func(e *Event) **booking.Created { return &e.Created }, codeCreated,
		func(s *State, now time.Time, e *booking.Created) { s.Bookings.ApplyCreated(now, e) }),
	of("ticket.paid", func(e *Event) **booking.Settled { return &e.Paid }, codeSettled,
		func(s *State, now time.Time, e *booking.Settled) { s.Bookings.ApplySettled(now, e, booking.Pay) }),
	of("ticket.booked", func(e *Event) **booking.Settled { return &e.Booked }, codeSettled,
		func(s *State, now time.Time, e *booking.Settled) { s.Bookings.ApplySettled(now, e, booking.Book) }),
	plain("tickets.canceled", func(e *Event) **booking.TicketsCanceled { return &e.Canceled },
		func(s *State, now time.Time, e *booking.TicketsCanceled) { s.Bookings.ApplyCanceled(now, e) }),
	plain("ticket.asked", func(e *Event) **booking.Asked { return &e.Asked },
		func(s *State, now time.Time, e *booking.Asked) { s.Bookings.ApplyAsked(now, e) }),
	plain("ticket.refused", func(e *Event) **booking.Refused { return &e.Refused },
		func(s *State, now time.Time, e *booking.Refused) { s.Bookings.ApplyRefused(now, e) }),
	plain("ticket.moved", func(e *Event) **booking.Moved { return &e.Moved },
		func(s *State, now time.Time, e *booking.Moved) { s.Bookings.ApplyMoved(now, e) }),
	plain("ticket.carrier", func(e *Event) **booking.CarrierSet { return &e.CarrierSet },
		func(s *State, now time.Time, e *booking.CarrierSet) { s.Bookings.ApplyCarrierSet(now, e) }),
	plain("partner.key_added", func(e *Event) **auth.KeyAdded { return &e.KeyAdded },
		func(s *State, now time.Time, e *auth.KeyAdded) { s.Partners.ApplyKeyAdded(now, e) }),
	plain("partner.revoked", func(e *Event) **auth.KeysRevoked { return &e.KeysRevoked },
		func(s *State, now time.Time, e *auth.KeysRevoked) { s.Partners.ApplyKeysRevoked(now, e) }),
	plain("timetable.imported", func(e *Event) **TimetableImported { return &e.TimetableImported }, applyTimetableImported),
	plain("clock.set", func(e *Event) **ClockSet { return &e.ClockSet },
		func(s *State, _ time.Time, e *ClockSet) { s.Clock = Clock{!e.Real, e.OffsetMs} }),
	plain("user.added", func(e *Event) **auth.UserAdded { return &e.UserAdded },
		func(s *State, now time.Time, e *auth.UserAdded) { s.Accounts.ApplyUserAdded(now, e) }),
	plain("user.access_given", func(e *Event) **auth.AccessGiven { return &e.AccessGiven },
		func(s *State, now time.Time, e *auth.AccessGiven) { s.Accounts.ApplyAccessGiven(now, e) }),
	plain("user.removed", func(e *Event) **auth.UserRemoved { return &e.UserRemoved },
		func(s *State, now time.Time, e *auth.UserRemoved) { s.Accounts.ApplyUserRemoved(now, e) }),
	plain("session.started", func(e *Event) **auth.SessionStarted { return &e.SessionStarted },
		func(s *State, now time.Time, e *auth.SessionStarted) { s.Accounts.ApplySessionStarted(now, e) }),
	plain("session.refreshed", func(e *Event) **auth.SessionRefreshed { return &e.SessionRefreshed },
		func(s *State, now time.Time, e *auth.SessionRefreshed) { s.Accounts.ApplySessionRefreshed(now, e) }),
	plain("session.ended", func(e *Event) **auth.SessionEnded { return &e.SessionEnded },
		func(s *State, now time.Time, e *auth.SessionEnded) { s.Accounts.ApplySessionEnded(now, e) }),
	plain("report.ordered", func(e *Event) **report.Ordered { return &e.ReportOrdered },
		func(s *State, now time.Time, e *report.Ordered) { s.Reports.ApplyOrdered(now, e) }),
	plain("report.completed", func(e *Event) **report.Completed { return &e.ReportCompleted },
		func(s *State, now time.Time, e *report.Completed) { s.Reports.ApplyCompleted(now, e) }),
	plain("report.downloaded", func(e *Event) **report.Downloaded { return &e.ReportDownloaded },
		func(s *State, now time.Time, e *report.Downloaded) { s.Reports.ApplyDownloaded(now, e) }),
	plain("geolocation.set", func(e *Event) **GeolocationSet { return &e.GeolocationSet },
		func(s *State, _ time.Time, e *GeolocationSet) { s.Geolocation[e.Object] = e.On }),
}

// kindOf gives the kind of an event.
func kindOf(e *Event) *kind {
	for i := range kinds {
		if kinds[i].is(e) {
			return &kinds[i]
		}
	}
	panic("server: an event with no pointer set")
}

// encode appends an event's data and personal part.
func (j *journal) encode(e Event, data, personal []byte) (name string, d, p []byte) {
	k := kindOf(&e)
	c, own := coder{w: &wire.Writer{B: data}}, coder{w: &wire.Writer{B: personal}}
	k.code(j, &c, &e, &own)
	return k.name, c.w.B, own.w.B
}

// decode reads what encode wrote. An unknown kind is store.ErrNewer.
func (j *journal) decode(name string, data, personal []byte) (e Event, err error) {
	for i := range kinds {
		if kinds[i].name != name {
			continue
		}
		c, own := coder{r: wire.NewReader(data)}, coder{r: wire.NewReader(personal)}
		kinds[i].code(j, &c, &e, &own)
		c.r.End()
		own.r.End()
		if err = c.r.Err(); err == nil {
			err = own.r.Err()
		}
		return e, err
	}
	return e, store.ErrNewer
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
	personal.object("", func() {
		if personal.optional("erased", false) {
			var when string
			personal.string("erased", &when)
			return
		}
		id(personal, "salt", &e.Salt)
		list(personal, "passengers", &e.Passengers, func(p *booking.Passenger) { codePassenger(personal, "", p) })
	})
}

func codePassenger(c *coder, name string, p *booking.Passenger) {
	first, last, email, phones := p.Fields()
	c.object(name, func() {
		c.string("firstName", &first)
		c.string("lastName", &last)
		c.string("email", &email)
		c.strings("phones", &phones)
	})
	if !c.writing() {
		*p = booking.NewPassenger(first, last, email, phones)
	}
}

// codeSeats are the seats of a ticket, by leg; they are left out where they stay the same.
func codeSeats(c *coder, seats *[]int16) {
	if c.optional("seats", *seats != nil) {
		list(c, "seats", seats, func(s *int16) { number(c, "", s) })
	}
}

// form is what was sold, in the form it was sold in.
func (j *journal) form(c *coder, name string, f **schedule.Form) {
	var data []byte
	if c.writing() {
		data = (*f).Encode()
	}
	c.raw(name, &data)
	if c.writing() || c.r.Err() != nil {
		return
	}
	var err error
	if *f, err = schedule.DecodeForm(data); err != nil {
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

func codeSettled(_ *journal, c *coder, e *booking.Settled, _ *coder) {
	id(c, "ticket", &e.Ticket)
	id(c, "booking", &e.Booking)
	codeSeats(c, &e.Seats)
	c.string("request", &e.Request)
}
