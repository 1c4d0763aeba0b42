package ledger

import (
	"fmt"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// bookingKinds are the lines of bookings and their tickets.
var bookingKinds = []anyKind{
	&kind[booking.Created]{
		name:  "booking.created",
		apply: applyCreated,
		code:  codeCreated,
		check: checked((*booking.State).CheckCreated),
		booking: func(e *booking.Created) ids.ID {
			return e.ID
		},
		events: func(e *booking.Created) []FeedEvent { return []FeedEvent{{Booking: e.ID}} },
	},
	&kind[booking.TicketAsked]{
		name:  "ticket.asked",
		apply: sold(booking.Recorder.ApplyAsked),
		code:  codeAsked,
		check: checked((*booking.State).CheckAsked),
		booking: func(e *booking.TicketAsked) ids.ID {
			return e.Booking
		},
		after: func(s State, _ journal.Stamp, e *booking.TicketAsked) {
			delete(s.KeyedRequests.askedFor, e.Ticket)
		},
	},
	&kind[booking.Refused]{
		name:  "ticket.refused",
		apply: sold(booking.Recorder.ApplyRefused),
		check: checked((*booking.State).CheckRefused),
		booking: func(e *booking.Refused) ids.ID {
			return e.Booking
		},
		after: func(s State, _ journal.Stamp, e *booking.Refused) {
			s.KeyedRequests.forgetAsked(s.Bookings, e.Ticket)
		},
	},
	settledKind("ticket.paid", booking.Pay, booking.Recorder.ApplyPaid,
		func(e *booking.TicketPaid) *booking.Settled { return &e.Settled }),
	settledKind("ticket.booked", booking.Book, booking.Recorder.ApplyBooked,
		func(e *booking.TicketBooked) *booking.Settled { return &e.Settled }),
	&kind[booking.TicketsCanceled]{
		name:  "tickets.canceled",
		apply: sold(booking.Recorder.ApplyCanceled),
		check: checked((*booking.State).CheckCanceled),
		booking: func(e *booking.TicketsCanceled) ids.ID {
			return e.Booking
		},
		events: canceledEvents,
		after: func(s State, at journal.Stamp, e *booking.TicketsCanceled) {
			var sends []toSend
			for _, t := range e.Tickets {
				s.KeyedRequests.forgetAsked(s.Bookings, t.ID)
				sends = append(sends, toSend{t.ID, t.Sends})
			}
			s.Outbox.add(at, booking.Cancel, "", sends)
		},
	},
	&kind[booking.TicketsUncompleted]{
		name:  "tickets.uncompleted",
		apply: sold(booking.Recorder.ApplyUncompleted),
		check: checked((*booking.State).CheckUncompleted),
		booking: func(e *booking.TicketsUncompleted) ids.ID {
			return e.Booking
		},
		events: uncompletedEvents,
	},
	&kind[booking.Moved]{
		name:  "ticket.moved",
		apply: sold(booking.Recorder.ApplyMoved),
		check: checked((*booking.State).CheckMoved),
		bookings: func(_ State, e *booking.Moved) []ids.ID {
			return []ids.ID{e.From, e.To}
		},
		partner: func(s State, e *booking.Moved) ids.ID {
			return s.PartnerOf(e.To)
		},
		events: func(e *booking.Moved) []FeedEvent {
			return []FeedEvent{{Booking: e.To, Ticket: &e.Ticket, From: &e.From}}
		},
	},
	&kind[booking.CarrierSet]{
		name:  "ticket.carrier",
		apply: sold(booking.Recorder.ApplyCarrierSet),
		check: checked((*booking.State).CheckCarrierSet),
		booking: func(e *booking.CarrierSet) ids.ID {
			return e.Booking
		},
		events: func(e *booking.CarrierSet) []FeedEvent {
			return []FeedEvent{{Type: "ticket.status", Booking: e.Booking, Ticket: &e.Ticket}}
		},
	},
	&kind[Answered]{
		name:  "request.answered",
		apply: nothing[Answered],
		partner: func(_ State, e *Answered) ids.ID {
			return e.Partner
		},
	},
}

// settledKind is the kind of a line that says that a ticket was paid or booked, after the provider confirmed
// it or without a provider. Both events have the fields that of returns.
func settledKind[T any](name string, action booking.Action,
	apply func(booking.Recorder, booking.Line, *T) error, of func(*T) *booking.Settled) anyKind {
	return &kind[T]{
		name:  name,
		apply: sold(apply),
		code: func(_ *Codec, l *lineCoder, e *T) {
			codeSettled(l, of(e))
		},
		check: func(s State, now time.Time, e *T) error {
			return s.Bookings.CheckSettled(now, of(e), action)
		},
		booking: func(e *T) ids.ID {
			return of(e).Booking
		},
		events: func(e *T) []FeedEvent {
			return []FeedEvent{{Booking: of(e).Booking, Ticket: &of(e).Ticket}}
		},
		after: func(s State, at journal.Stamp, e *T) {
			s.settled(at, of(e), action)
		},
	}
}

// settled drops the question to the provider, and adds the messages to the passenger.
func (s State) settled(at journal.Stamp, e *booking.Settled, action booking.Action) {
	s.KeyedRequests.forgetAsked(s.Bookings, e.Ticket)
	s.Outbox.add(at, action, "", []toSend{{e.Ticket, e.Sends}})
}

// applyCreated adds a booking of a partner, who must be there.
func applyCreated(s State, at journal.Stamp, e *booking.Created) error {
	if s.Partners.ByID(e.Partner) == nil {
		return fmt.Errorf("booking %s is of partner %s, which does not exist", e.ID, e.Partner)
	}
	return s.inner.bookings.ApplyCreated(booking.Line(at), e)
}

// codeCreated codes a booking: the forms and runs that are sold for the first time, the legs that all
// tickets share, and the tickets. Names are in the personal part.
func codeCreated(codec *Codec, l *lineCoder, e *booking.Created) {
	c := &l.data
	wire.ID(c, "booking", &e.ID)
	wire.ID(c, "partner", &e.Partner)
	c.String("request", &e.Request)
	wire.Text(c, "currency", &e.Currency, strings.Clone, parseCurrency)
	wire.Optional(c, "forms", &e.Forms, func(f **schedule.Form) {
		codec.form(c, "", f)
	})
	wire.Optional(c, "runs", &e.Runs, func(r **booking.Run) {
		l.missing = !codec.run(c, "", r) || l.missing
	})
	wire.List(c, "legs", &e.Legs, func(leg *booking.SoldLeg) {
		codeSoldLeg(c, leg)
	})
	wire.List(c, "tickets", &e.Tickets, func(t *booking.NewTicket) {
		c.Open("")
		wire.ID(c, "id", &t.ID)
		wire.List(c, "seats", &t.Seats, codeSeat(c))
		c.Close()
	})
	// The hash of the request stands with the names that it is of.
	hash := ""
	if x := l.entry.Idempotency; x != nil {
		hash = x.Hash
		without := *x
		without.Hash = ""
		l.entry.Idempotency = &without
	}
	l.codeIdempotency()
	l.personal.Open("")
	codePassengers(l, e, &hash)
	l.personal.Close()
	switch x := l.entry.Idempotency; {
	case x == nil && hash != "":
		l.personal.R.Reject("has the hash of a request without a key")
	case x != nil && x.Hash != "":
		l.data.R.Reject("has the hash of a request with names")
	case x != nil:
		x.Hash = hash
	}
}

// codeSoldLeg codes a leg that all tickets share.
func codeSoldLeg(c *wire.Coder, l *booking.SoldLeg) {
	c.Open("")
	wire.Text(c, "run", &l.Run, ids.RunID.String, ids.ParseRun)
	wire.Number(c, "from", &l.From)
	wire.Number(c, "to", &l.To)
	wire.Number(c, "amount", &l.Amount)
	if !c.Writing() && (l.Amount < 0 || l.Amount > schedule.MaxAmount) {
		c.R.Reject("costs more than any fare")
	}
	wire.Number(c, "discount", &l.Discount)
	c.Close()
}

// codePassengers codes the personal part of a booking: its passengers, and the hash of its request where that
// had an Idempotency-Key.
func codePassengers(l *lineCoder, e *booking.Created, hash *string) {
	c := &l.personal
	if c.Optional("erased", false) {
		var when string
		c.String("erased", &when)
		return
	}
	wire.ID(c, "salt", &e.Salt)
	if !c.Writing() {
		e.Passengers = make([]booking.Passenger, 0, len(e.Tickets))
	}
	wire.List(c, "passengers", &e.Passengers, func(p *booking.Passenger) {
		codePassenger(c, "", p)
	})
	if c.Optional("hash", *hash != "") {
		c.String("hash", hash)
	}
}

// codePassenger codes a passenger. When reading it copies nothing twice, as there are millions.
func codePassenger(c *wire.Coder, name string, p *booking.Passenger) {
	if c.Writing() {
		first, last, email, phones := p.Fields()
		c.Object(name, func() {
			c.W.Texts("firstName", first, "lastName", last, "email", email)
			c.W.Strings("phones", phones)
		})
		return
	}
	read := func(name string) []byte {
		c.R.Member(name)
		return c.R.Bytes()
	}
	c.Object(name, func() {
		first := read("firstName")
		last := read("lastName")
		email := read("email")
		var room [4][]byte
		phones := room[:0]
		c.R.Member("phones")
		c.R.Literal("[")
		for c.R.More() {
			phones = append(phones, read(""))
		}
		*p = booking.NewPassenger(first, last, email, phones)
	})
}

// codeSeats codes the seats of a ticket, by leg; they are left out where they stay the same.
func codeSeats(c *wire.Coder, seats *[]int16) { wire.Optional(c, "seats", seats, codeSeat(c)) }

// codeSeat codes the label of a seat.
func codeSeat(c *wire.Coder) func(*int16) {
	return func(s *int16) {
		wire.Number(c, "", s)
	}
}

// form codes a form in which tickets are sold.
func (c *Codec) form(to *wire.Coder, name string, f **schedule.Form) {
	if to.Writing() {
		to.W.Raw(name, (*f).Encode())
		return
	}
	to.R.Member(name)
	read, err := schedule.DecodeForm(to.R.Raw())
	*f = read
	if err != nil {
		to.R.Reject(err.Error())
		return
	}
	c.learn(read)
}

// run codes a run; its id follows from the rest. What is read may name a form that is not known, which run
// reports.
func (c *Codec) run(to *wire.Coder, name string, r **booking.Run) (known bool) {
	var x booking.Run
	form := ""
	if to.Writing() {
		x = **r
		form = x.Form.Key()
	}
	to.Object(name, func() {
		to.String("form", &form)
		wire.Text(to, "date", &x.Day, schedule.Day.String, parseDay)
		wire.Number(to, "start", &x.Start)
		if !to.Writing() && !schedule.IsStart(x.Start) {
			to.R.Reject("starts on no day " + schedule.InYears)
		}
		wire.List(to, "offsets", &x.Offsets, func(o *int32) {
			wire.Number(to, "", o)
		})
	})
	if to.Writing() {
		return true
	}
	f := c.known(form)
	known = f != nil && len(x.Offsets) == len(f.Stops)
	if !known {
		f = new(schedule.Form)
	}
	*r = booking.NewRun(f, x.Day, x.Start, x.Offsets)
	return known
}

// parseDay reads a day of any year as wire.Text wants it.
func parseDay(text string) (schedule.Day, bool) {
	day, err := time.Parse(time.DateOnly, text)
	return schedule.DayOf(day), err == nil
}

// codeSettled codes a ticket that was paid or booked.
func codeSettled(l *lineCoder, e *booking.Settled) {
	c := &l.data
	wire.ID(c, "ticket", &e.Ticket)
	wire.ID(c, "booking", &e.Booking)
	codeSeats(c, &e.Seats)
	c.String("request", &e.Request)
	codeReason(c, &e.Reason)
	l.codeIdempotency()
	wire.Optional(c, "sends", &e.Sends, func(to *string) {
		c.String("", to)
	})
}

// codeAsked codes a ticket that the provider is about to be asked about.
func codeAsked(_ *Codec, l *lineCoder, e *booking.TicketAsked) {
	c := &l.data
	wire.ID(c, "booking", &e.Booking)
	wire.ID(c, "ticket", &e.Ticket)
	codeSeats(c, &e.Seats)
	c.String("request", &e.Request)
	l.codeIdempotency()
	wire.Text(c, "action", &e.Action, booking.Action.String, parseAction)
	wire.ID(c, "key", &e.Key)
}

// codeReason codes the reason of an operator who answered in the provider's place.
func codeReason(c *wire.Coder, reason *string) {
	if c.Optional("reason", *reason != "") {
		c.String("reason", reason)
	}
}

// parseCurrency reads a currency as wire.Text wants it.
func parseCurrency(text string) (string, bool) { return text, schedule.IsCurrency(text) }

// parseAction reads what the provider is asked about, as wire.Text wants it.
func parseAction(text string) (booking.Action, bool) {
	var a booking.Action
	err := a.UnmarshalText([]byte(text))
	return a, err == nil && (a == booking.Pay || a == booking.Book)
}

// Unnoticed returns the notice that the payment window of a ticket is over, where the journal does not have
// it yet. It precedes any other line about the ticket.
func (s State) Unnoticed(now time.Time, ticket ids.ID) []Entry {
	return Entries(s.Bookings.Unnoticed(now, []ids.ID{ticket})...)
}

// Cancel decides to cancel tickets, by a request of their partner or for a reason by an operator. The notice
// that a ticket's window is over comes before, and its own line names the messages to send: neither can be
// there without the other.
func (s State) Cancel(now time.Time, sel booking.Selection, request, reason string, phones bool) (
	entries []Entry, err error) {
	list, err := s.Bookings.Cancel(now, sel, request)
	for _, e := range list {
		e.Reason = reason
		for i := range e.Tickets {
			t := &e.Tickets[i]
			t.Sends = s.Bookings.Contacts(t.ID, phones)
			entries = append(entries, s.Unnoticed(now, t.ID)...)
		}
		entries = append(entries, Entry{Event: e})
	}
	return entries, err
}
