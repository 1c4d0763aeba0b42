package server

import (
	"errors"
	"net/http"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/wire"
)

// newBooking is the body of POST /v2/bookings.
type newBooking struct {
	offerID, currency string
	passengers        []booking.Passenger
}

// postBooking answers POST /v2/bookings.
func (s *Server) postBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, err := body(w, r)
	if err != nil {
		return err
	}
	in, wrong := readNewBooking(b)
	sale, wrong, err := s.prepare(in, wrong, p)
	if err == nil {
		err = invalid(wrong)
	}
	if err != nil {
		return err
	}
	return s.create(w, r, p, in, sale, func(b *booking.Booking, now time.Time, seq uint64) error {
		wrote(w, seq)
		return reply(w, http.StatusCreated, func(w *wire.Writer) { writeBooking(w, "booking", b, now) })
	})
}

// errTimetable tells that the timetable was replaced between looking up and selling.
var errTimetable = errors.New("server: the timetable was replaced")

// prepare looks up what the offer of a request sells. A problem with the offer
// or the currency is added to those found in the body.
func (s *Server) prepare(in *newBooking, wrong []entry, p *auth.Partner) (*booking.Sale, []entry, error) {
	if in.offerID == "" {
		return nil, wrong, nil
	}
	var now time.Time
	if _, err := s.st.Glance(func(_ *State, at time.Time) { now = at }); err != nil {
		return nil, nil, err
	}
	o, err := s.readOffer(in.offerID, p.ID, now)
	tt := s.timetable.Load()
	var legs []schedule.Leg
	gone := false
	if err == nil {
		allowed := companies(tt, p)
		for _, ref := range o.legs {
			l, ok := tt.Resolve(ref)
			if gone = gone || !ok; ok && allowed != nil && !allowed[tt.Route(l.Trip).Company] {
				err = auth.ErrMalformed
			}
			legs = append(legs, l)
		}
	}
	switch {
	case errors.Is(err, errExpired):
		return nil, slices.Insert(wrong, 0, problemCode("OFFER_EXPIRED", "offerId", "Offer expired")), nil
	case err != nil:
		return nil, slices.Insert(wrong, 0, problem("offerId", "is not an offer of this server for this partner")), nil
	}
	fare, ok := o.fare(in.currency)
	if !ok && in.currency != "" {
		wrong = append(wrong, problem("currency", "must be one that the offer is sold in"))
	}
	if len(wrong) > 0 {
		return nil, wrong, nil
	}
	if gone {
		return nil, nil, &booking.SoldOut{Left: 0}
	}
	return booking.NewSale(tt, legs, fare.amounts[:len(legs)], in.currency, o.expires), nil, nil
}

// create sells: done answers with the booking.
func (s *Server) create(w http.ResponseWriter, r *http.Request, p *auth.Partner, in *newBooking, sale *booking.Sale, done func(*booking.Booking, time.Time, uint64) error) error {
	e := &booking.Created{ID: s.newID(), Partner: booking.ID(p.ID), Request: requestID(r), Passengers: in.passengers, Salt: s.newID()}
	for range in.passengers {
		e.Tickets = append(e.Tickets, booking.NewTicket{ID: s.newID()})
	}
	var made *booking.Booking
	var now time.Time
	seq, err := s.st.Update(func(st *State, at time.Time) ([]Event, error) {
		if st.timetable != sale.Timetable {
			return nil, errTimetable
		}
		created, err := st.Bookings.Create(at, sale, e)
		if err != nil {
			return nil, err
		}
		return []Event{created}, nil
	}, func(st *State, at time.Time) {
		made, now = st.Bookings.Booking(e.Partner, e.ID), at
	})
	if errors.Is(err, errTimetable) || errors.Is(err, booking.ErrExpired) { // look again at what it says
		sale, wrong, err := s.prepare(in, nil, p)
		if err == nil {
			err = invalid(wrong)
		}
		if err != nil {
			return err
		}
		return s.create(w, r, p, in, sale, done)
	}
	if err != nil {
		return err
	}
	return done(made, now, seq)
}

// readNewBooking reads the body strictly and lists everything wrong with it.
func readNewBooking(b []byte) (*newBooking, []entry) {
	in, r := new(newBooking), wire.NewReader(b)
	r.Fields(
		wire.Must("offerId", func() { in.offerID = r.Text(notEmpty, "not be empty") }),
		wire.Must("currency", func() { in.currency = r.Text(isCurrency, "be three capital letters") }),
		wire.Must("passengers", func() {
			if r.Array(func(int) { in.passengers = append(in.passengers, readPassenger(r)) }) && len(in.passengers) == 0 {
				r.Reject("must have at least one passenger")
			}
		}),
	)
	r.End()
	return in, problems(r)
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
			r.Array(func(int) {
				r.Fields(wire.Must("phone", func() { phones = append(phones, r.Text(validPhone, phoneRule)) }))
			})
		}),
	)
	return booking.NewPassenger(first, last, email, phones)
}

const (
	maxName   = 100 // characters
	nameRule  = "have 1 to 100 characters, none of them a control character"
	phoneRule = "be a phone number: 5 to 15 digits, with + before and spaces, dashes, dots or brackets between if you like"
)

func isCurrency(s string) bool {
	return len(s) == 3 && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}

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
	var day *schedule.Day
	if d, ok := q.day("departureDate"); ok {
		day = &d
	}
	const most = 50
	take, skip := q.page(most)
	if err := q.err(); err != nil {
		return err
	}
	var page []*booking.Booking
	var total int
	var now time.Time
	err := s.st.View(func(st *State, at time.Time) {
		page, total = st.Bookings.List(booking.ID(p.ID), day, skip, take)
		now = at
	})
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, func(w *wire.Writer) {
		wire.Each(w, "bookings", page, func(b *booking.Booking) { writeBooking(w, "", b, now) })
		w.Int("total", int64(total))
	})
}

// view finds the booking that a request's path names, and the instant.
func (s *Server) view(r *http.Request, p *auth.Partner) (b *booking.Booking, now time.Time, err error) {
	id, ok := booking.ParseID(r.PathValue("id"))
	err = s.st.View(func(st *State, at time.Time) { b, now = st.Bookings.Booking(booking.ID(p.ID), id), at })
	if err == nil && (!ok || b == nil) {
		err = errNotFound
	}
	return b, now, err
}

// getBooking answers GET /v2/bookings/{id}.
func (s *Server) getBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, now, err := s.view(r, p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, func(w *wire.Writer) { writeBooking(w, "booking", b, now) })
}

// getRefundRules answers GET /v2/bookings/{id}/refund-rules.
func (s *Server) getRefundRules(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, _, err := s.view(r, p)
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, func(w *wire.Writer) {
		w.Array("refundRules")
		for i := range b.Tickets {
			t := &b.Tickets[i]
			w.Object("")
			writeID(w, "orderId", t.ID)
			wire.Each(w, "rules", t.Itinerary(), func(l booking.Leg) { writeRules(w, l.Run.Form) })
			w.EndObject()
		}
		w.EndArray()
	})
}

// getTicket answers GET /v2/tickets/{id}.
func (s *Server) getTicket(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	id, ok := booking.ParseID(r.PathValue("id"))
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	err := s.st.View(func(st *State, at time.Time) {
		b, t = st.Bookings.Ticket(booking.ID(p.ID), id)
		now = at
	})
	if err != nil {
		return err
	}
	if !ok || t == nil {
		return errNotFound
	}
	return reply(w, http.StatusOK, func(w *wire.Writer) { writeTicket(w, "ticket", b, t, now, false) })
}
