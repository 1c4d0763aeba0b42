package partner

import (
	"errors"
	"net/http"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/schedule/ids"
	"waybill/server/api/search"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/live"
)

// NewBooking is the body of POST /v2/bookings, with its problems.
type NewBooking struct {
	offerID, currency string
	passengers        []booking.Passenger
	wrong             web.Complaints
}

// PostBooking answers POST /v2/bookings.
func (s *Seller) PostBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner, try *Attempt) error {
	in, err := web.Document(w, r)
	if err != nil {
		return err
	}
	b, now, seq, err := s.Create(w, r, p, ReadNewBooking(in, nil), try)
	if err == nil {
		web.Wrote(w, seq)
		web.Send(w, http.StatusCreated, s.bookingReply(&b, &now))
	}
	return err
}

// bookingReply returns a function that writes the reply of a request that changes a booking. It takes
// pointers, as booking and instant are only known once the update has set them.
func (s *Seller) bookingReply(b **booking.Booking, now *time.Time) func(*wire.Writer) {
	return func(w *wire.Writer) {
		s.resources.BookingReply(w, *b, *now)
	}
}

// ReadNewBooking reads the body strictly and lists everything wrong with it; ignored members may have any
// value.
func ReadNewBooking(r *wire.Reader, ignored []string) *NewBooking {
	in := new(NewBooking)
	fields := []wire.Field{
		wire.Must("offerId", func() {
			in.offerID = r.Text(web.NotEmpty, "not be empty")
		}),
		wire.Must("currency", func() {
			in.currency = r.Text(schedule.IsCurrency, "be three capital letters")
		}),
		wire.Must("passengers", func() {
			some := r.ArrayOf(web.MaxPassengersBooked, func(int) {
				in.passengers = append(in.passengers, readPassenger(r))
			})
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
	in.wrong = web.ComplaintsOf(r)
	return in
}

// Create sells what a request asks for. It returns the booking, the instant, and the number of its line.
func (s *Seller) Create(w http.ResponseWriter, r *http.Request, p *auth.Partner, in *NewBooking,
	try *Attempt) (b *booking.Booking, now time.Time, seq uint64, err error) {
	try.willAnswer(http.StatusCreated, s.bookingReply(&b, &now))
	if _, err = s.Store.Glance(func(_ ledger.State, at time.Time) {
		now = at
	}); err != nil {
		return nil, now, 0, err
	}
	// All but the seats is looked up without the lock.
	sale, err := s.prepare(in, p, s.Timetable.Load(), now)
	if err != nil {
		return nil, now, 0, err
	}
	e := &booking.Created{
		ID:         s.NewID(),
		Partner:    p.ID,
		Request:    web.RequestID(r),
		Passengers: in.passengers,
		Salt:       s.NewID(),
	}
	// A ticket for each passenger. Their seats are decided under the lock.
	for range in.passengers {
		e.Tickets = append(e.Tickets, booking.NewTicket{ID: s.NewID()})
	}
	seq, err = s.Update(w, func(st ledger.State, at time.Time) ([]ledger.Entry, error) {
		// If an import or a change of a run came in between, the offer is looked up again, under the lock.
		// Without the lock each new try could come too late.
		if st.Timetable() != sale.Timetable {
			again, err := s.prepare(in, p, st.Timetable(), at)
			if err != nil {
				return nil, err
			}
			sale = again
		}
		created, err := st.Bookings.Create(at, sale, e)
		if errors.Is(err, booking.ErrExpired) {
			return nil, offerExpired(in.wrong)
		}
		return []ledger.Entry{{
			Event:       created,
			Idempotency: try.last,
		}}, err
	}, func(st ledger.State, at time.Time) {
		b = st.Bookings.Booking(e.Partner, e.ID)
		now = at
	})
	return b, now, seq, err
}

// offerExpired returns the answer to a request whose offer has expired, with the request's other problems.
func offerExpired(wrong web.Complaints) error {
	wrong.AddFirst(web.ProblemCode("OFFER_EXPIRED", "offerId", "Offer expired"))
	return wrong.Err()
}

// prepare looks up in a timetable the ride that the offer of a request sells at an instant, and returns all
// that is wrong with the request. An offer of a
// company that the partner may not sell is answered like one that was never made. The answer lists the
// problem of the offer first, then those of the body, then that of the currency.
func (s *Seller) prepare(in *NewBooking, p *auth.Partner, tt *schedule.Timetable,
	now time.Time) (*booking.Sale, error) {
	wrong := in.wrong
	if in.offerID == "" {
		return nil, wrong.Err()
	}
	// The token names the ride and the price that were offered. These are sold, or nothing is.
	o, err := s.search.ReadOffer(in.offerID, p.ID, now)
	var legs []schedule.Leg
	for i := 0; err == nil && i < len(o.Legs); i++ {
		if l, ok := tt.Resolve(o.Legs[i]); ok {
			legs = append(legs, l)
			// The partner may have been limited since the offer was made.
			if !search.Sells(p, tt.Company(l.Trip)) {
				err = auth.ErrMalformed
			}
		}
	}
	switch {
	case errors.Is(err, search.ErrOfferExpired):
		return nil, offerExpired(wrong)
	case err != nil:
		wrong.AddFirst(web.Problem("offerId", "is not an offer that this server made for this partner"))
		return nil, wrong.Err()
	}
	fare, ok := o.Fare(in.currency)
	switch {
	case !ok && in.currency != "":
		wrong.Add(web.Problem("currency", "must be a currency in which the offer is sold"))
		return nil, wrong.Err()
	// Problems of the request come before a ride that the timetable no longer has.
	case len(wrong.List) > 0:
		return nil, wrong.Err()
	case len(legs) < len(o.Legs): // one of them no longer runs as it was offered
		return nil, &booking.NotSold{Code: booking.Changed}
	}
	return booking.NewSale(tt, legs, fare.Amounts[:len(legs)], in.currency, o.Expires), nil
}

// readPassenger reads a passenger of POST /v2/bookings.
func readPassenger(r *wire.Reader) booking.Passenger {
	var first, last, email string
	var phones []string
	r.Fields(
		wire.Must("firstName", func() {
			first = r.Text(web.ValidName, web.NameRule)
		}),
		wire.Must("lastName", func() {
			last = r.Text(web.ValidName, web.NameRule)
		}),
		wire.May("email", func() {
			email = web.ReadEmail(r)
		}),
		wire.May("phones", func() {
			r.ArrayOf(web.MaxPhones, func(int) {
				r.Fields(wire.Must("phone", func() {
					phones = append(phones, web.ReadPhone(r))
				}))
			})
		}),
	)
	return booking.NewPassenger(first, last, email, phones)
}

// ListBookings answers GET /v2/bookings.
func (s *Seller) ListBookings(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	q := web.NewQuery(r)
	only := q.OptionalDay("departureDate")
	return web.ShowPage(s.Core, w, q, "bookings", web.MaxBookings,
		func(st ledger.State, skip, take int) (func() ([]*booking.Booking, int), uint64) {
			return web.Page(st.Bookings.List(p.ID, only, skip, take)), st.PartnerLine(p.ID)
		}, func(w *wire.Writer, b *booking.Booking, now time.Time) {
			s.resources.Booking(w, "", b, now)
		})
}

// view finds the booking that a request's path names, and the instant.
func (s *Seller) view(r *http.Request, p *auth.Partner) (b *booking.Booking, now time.Time, err error) {
	// Another partner's booking is answered as if it were not there.
	id := ids.Of(r.PathValue("id"))
	err = s.Store.ViewOn(func(st ledger.State, at time.Time) uint64 {
		b = st.Bookings.Booking(p.ID, id)
		now = at
		return restsOn(st, b)
	})
	if err == nil && b == nil {
		err = web.ErrNotFound
	}
	return b, now, err
}

// restsOn returns the line that a booking's answer rests on; that there is none rests on every line.
func restsOn(st ledger.State, b *booking.Booking) uint64 {
	if b == nil {
		return live.All
	}
	return st.BookingLine(b)
}

// GetBooking answers GET /v2/bookings/{id}.
func (s *Seller) GetBooking(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, now, err := s.view(r, p)
	return web.Show(w, err, func(w *wire.Writer) {
		s.resources.Booking(w, "booking", b, now)
	})
}

// GetRefundRules answers GET /v2/bookings/{id}/refund-rules.
func (s *Seller) GetRefundRules(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, _, err := s.view(r, p)
	return web.Show(w, err, func(w *wire.Writer) {
		WriteOrderRules(w, b.Tickets)
	})
}

// WriteOrderRules writes the refund rules of each ticket.
func WriteOrderRules(w *wire.Writer, tickets []booking.Ticket) {
	wire.Each(w, "refundRules", tickets, func(t booking.Ticket) {
		w.Object("")
		w.ID("orderId", t.ID)
		legs := t.Itinerary()
		wire.Each(w, "rules", legs, func(l booking.Leg) {
			resource.WriteRules(w, l.Run.Form)
		})
		// A journey with a change has the rules of two routes.
		if len(legs) > 1 { // each leg's share of the price follows its own rules
			w.Array("legs")
			for i, l := range legs {
				w.Object("")
				w.String("sliceId", resource.SliceID(t.ID.String(), i))
				w.Hundredths("amount", l.Amount)
				w.Array("rules")
				resource.WriteRules(w, l.Run.Form)
				w.EndArray()
				w.EndObject()
			}
			w.EndArray()
		}
		w.EndObject()
	})
}

// ViewTicket finds the ticket that a request's path names, its booking, and the instant.
func (s *Seller) ViewTicket(r *http.Request,
	p *auth.Partner) (b *booking.Booking, t *booking.Ticket, now time.Time, err error) {
	err = s.Store.ViewOn(func(st ledger.State, at time.Time) uint64 {
		b, t = st.Bookings.Ticket(p.ID, ids.Of(r.PathValue("id")))
		now = at
		return restsOn(st, b)
	})
	if err == nil && t == nil {
		err = web.ErrNotFound
	}
	return b, t, now, err
}

// GetTicket answers GET /v2/tickets/{id}.
func (s *Seller) GetTicket(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, t, now, err := s.ViewTicket(r, p)
	return web.Show(w, err, func(w *wire.Writer) {
		s.resources.Ticket(w, "ticket", b, t, now, resource.ByItself)
	})
}
