package server

import (
	"errors"
	"net/http"
	"net/mail"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/ledger"
	"waybill/server/wire"
)

// newBooking is the body of POST /v2/bookings, and what is wrong with it.
type newBooking struct {
	offerID, currency string
	passengers        []booking.Passenger
	wrong             complaints
}

// postBooking answers POST /v2/bookings.
func (s *Server) postBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner, try *attempt) error {
	in, err := document(w, r)
	if err != nil {
		return err
	}
	b, now, seq, err := s.create(requestID(r), p, readNewBooking(in, nil), try)
	if err == nil {
		wrote(w, seq)
		send(w, http.StatusCreated, oneBooking(&b, &now))
	}
	return err
}

// oneBooking writes the reply of who changes a booking, which is known by the time that it is written.
func oneBooking(b **booking.Booking, now *time.Time) func(*wire.Writer) {
	return func(w *wire.Writer) {
		writeReply(w, func(w *wire.Writer) { writeBooking(w, "booking", *b, *now) })
	}
}

// readNewBooking reads the body strictly and lists everything wrong with it; ignored members may have any value.
func readNewBooking(r *wire.Reader, ignored []string) *newBooking {
	in := new(newBooking)
	fields := []wire.Field{
		wire.Must("offerId", func() { in.offerID = r.Text(notEmpty, "not be empty") }),
		wire.Must("currency", func() { in.currency = r.Text(schedule.IsCurrency, "be three capital letters") }),
		wire.Must("passengers", func() {
			some := r.ArrayOf(maxPassengersBooked, func(int) { in.passengers = append(in.passengers, readPassenger(r)) })
			if some && len(in.passengers) == 0 {
				r.Reject("must have at least one passenger")
			}
		}),
	}
	for _, name := range ignored {
		fields = append(fields, wire.May(name, r.Skip))
	}
	r.Fields(fields...)
	r.End()
	in.wrong = complaintsOf(r)
	return in
}

// create sells what a request asks for. It gives the booking, the instant, and the number of its line.
func (s *Server) create(request string, p *auth.Partner, in *newBooking, try *attempt) (b *booking.Booking, now time.Time, seq uint64, err error) {
	try.answered(http.StatusCreated, oneBooking(&b, &now))
	const tries = 3 // an import between a look-up and its decision makes another necessary
	for range tries {
		sale, err := s.prepare(in, p)
		if err != nil {
			return nil, now, 0, err
		}
		e := &booking.Created{ID: s.newID(), Partner: booking.ID(p.ID), Request: request, Passengers: in.passengers, Salt: s.newID()}
		for range in.passengers {
			e.Tickets = append(e.Tickets, booking.NewTicket{ID: s.newID()})
		}
		seq, err = s.st.Update(func(st *ledger.State, at time.Time) ([]ledger.Entry, error) {
			if st.Timetable != sale.Timetable {
				return nil, booking.ErrExpired // it was looked up in another timetable
			}
			created, err := st.Bookings.Create(at, sale, e)
			return []ledger.Entry{{Event: created, Idempotency: try.last}}, err
		}, func(st *ledger.State, at time.Time) { b, now = st.Bookings.Booking(e.Partner, e.ID), at })
		if !errors.Is(err, booking.ErrExpired) {
			return b, now, seq, err
		}
	}
	return nil, now, 0, errChanging
}

// prepare looks up what the offer of a request sells. What is wrong with the
// offer comes before all that is wrong with the body, and with the currency after it.
func (s *Server) prepare(in *newBooking, p *auth.Partner) (*booking.Sale, error) {
	wrong := in.wrong
	if in.offerID == "" {
		return nil, wrong.err()
	}
	var now time.Time
	if _, err := s.st.Glance(func(_ *ledger.State, at time.Time) { now = at }); err != nil {
		return nil, err
	}
	tt := s.timetable.Load()
	o, err := s.readOffer(in.offerID, p.ID, now)
	var legs []schedule.Leg
	for i := 0; err == nil && i < len(o.legs); i++ {
		if l, ok := tt.Resolve(o.legs[i]); ok {
			legs = append(legs, l)
			if !sells(p, tt.Company(l.Trip)) {
				err = auth.ErrMalformed
			}
		}
	}
	switch {
	case errors.Is(err, errExpired):
		wrong.addFirst(problemCode("OFFER_EXPIRED", "offerId", "Offer expired"))
		return nil, wrong.err()
	case err != nil:
		wrong.addFirst(problem("offerId", "is not an offer of this server for this partner"))
		return nil, wrong.err()
	}
	fare, ok := o.fare(in.currency)
	switch {
	case !ok && in.currency != "":
		wrong.add(problem("currency", "must be one that the offer is sold in"))
		return nil, wrong.err()
	case len(wrong.list) > 0:
		return nil, wrong.err()
	case len(legs) < len(o.legs): // one of them no longer runs as it was offered
		return nil, &booking.SoldOut{Code: booking.Changed}
	}
	return booking.NewSale(tt, legs, fare.amounts[:len(legs)], in.currency, o.expires), nil
}

// readPassenger reads a passenger of POST /v2/bookings.
func readPassenger(r *wire.Reader) booking.Passenger {
	var first, last, email string
	var phones []string
	r.Fields(
		wire.Must("firstName", func() { first = r.Text(validName, nameRule) }),
		wire.Must("lastName", func() { last = r.Text(validName, nameRule) }),
		wire.May("email", func() { email = r.Text(ValidEmail, "be an e-mail address") }),
		wire.May("phones", func() {
			r.ArrayOf(maxPhones, func(int) {
				r.Fields(wire.Must("phone", func() { phones = append(phones, r.Text(validPhone, phoneRule)) }))
			})
		}),
	)
	return booking.NewPassenger(first, last, email, phones)
}

const (
	nameRule  = "have 1 to 100 characters, none of them a control character"
	phoneRule = "be a phone number: 5 to 15 digits, with + before and spaces, dashes, dots or brackets between if you like"
)

func notEmpty(s string) bool { return s != "" }

// validName tells whether s may be a person's name: there is something to see.
func validName(s string) bool {
	seen := strings.ContainsFunc(s, func(r rune) bool { return unicode.IsGraphic(r) && !unicode.IsSpace(r) })
	return seen && utf8.RuneCountInString(s) <= maxName && !hasControl(s)
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// ValidEmail tells whether s is a bare e-mail address at a domain with a dot.
func ValidEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	_, domain, _ := strings.Cut(s, "@")
	return err == nil && a.Address == s && len(s) <= 254 && !hasControl(s) && strings.Contains(strings.Trim(domain, "."), ".")
}

func validPhone(s string) bool {
	digits := 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '+' && i == 0:
		case digits > 0 && strings.ContainsRune(" -.()", c), c == '(':
		default:
			return false
		}
	}
	return digits >= 5 && digits <= 15 && len(s) <= 40
}

// listBookings answers GET /v2/bookings.
func (s *Server) listBookings(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	q := newQuery(r)
	only := q.optionalDay("departureDate")
	return showPage(s, w, q, "bookings", maxBookings, func(st *ledger.State, skip, take int) ([]*booking.Booking, int) {
		return st.Bookings.List(booking.ID(p.ID), only, skip, take)
	}, func(w *wire.Writer, b *booking.Booking, now time.Time) { writeBooking(w, "", b, now) })
}

// parseID reads an id. What is no id of ours is the id of nothing: the zero ID.
func parseID(text string) booking.ID {
	if id, ok := booking.ParseID(text); ok {
		return id
	}
	return booking.ID{}
}

// view finds the booking that a request's path names, and the instant.
func (s *Server) view(r *http.Request, p *auth.Partner) (b *booking.Booking, now time.Time, err error) {
	id := parseID(r.PathValue("id"))
	err = s.st.View(func(st *ledger.State, at time.Time) { b, now = st.Bookings.Booking(booking.ID(p.ID), id), at })
	if err == nil && b == nil {
		err = errNotFound
	}
	return b, now, err
}

// getBooking answers GET /v2/bookings/{id}.
func (s *Server) getBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, now, err := s.view(r, p)
	return show(w, err, func(w *wire.Writer) { writeBooking(w, "booking", b, now) })
}

// getRefundRules answers GET /v2/bookings/{id}/refund-rules.
func (s *Server) getRefundRules(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, _, err := s.view(r, p)
	return show(w, err, func(w *wire.Writer) { writeOrderRules(w, b.Tickets) })
}

// writeOrderRules writes the refund rules of each ticket.
func writeOrderRules(w *wire.Writer, tickets []booking.Ticket) {
	wire.Each(w, "refundRules", tickets, func(t booking.Ticket) {
		w.Object("")
		w.ID("orderId", t.ID)
		legs := t.Itinerary()
		wire.Each(w, "rules", legs, func(l booking.Leg) { writeRules(w, l.Run.Form) })
		if len(legs) > 1 { // each leg's share of the price follows its own rules
			w.Array("legs")
			for i, l := range legs {
				w.Object("")
				w.String("sliceId", sliceID(t.ID.String(), i))
				w.Hundredths("amount", l.Amount)
				w.Array("rules")
				writeRules(w, l.Run.Form)
				w.EndArray()
				w.EndObject()
			}
			w.EndArray()
		}
		w.EndObject()
	})
}

// viewTicket finds the ticket that a request's path names, its booking, and the instant.
func (s *Server) viewTicket(r *http.Request, p *auth.Partner) (b *booking.Booking, t *booking.Ticket, now time.Time, err error) {
	err = s.st.View(func(st *ledger.State, at time.Time) {
		b, t = st.Bookings.Ticket(booking.ID(p.ID), parseID(r.PathValue("id")))
		now = at
	})
	if err == nil && t == nil {
		err = errNotFound
	}
	return b, t, now, err
}

// getTicket answers GET /v2/tickets/{id}.
func (s *Server) getTicket(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, t, now, err := s.viewTicket(r, p)
	return show(w, err, func(w *wire.Writer) { writeTicket(w, "ticket", b, t, now, byItself) })
}
