package legacy

import (
	"fmt"
	"net/http"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/api/partner"
	"waybill/server/api/search"
	"waybill/server/frame/resource"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// The legacy interface, /rest/offers and /rest/orders (interface, Versioning; decision legacy.calls), on its
// way out: other requests and answers around the same searches and decisions as v2.

const guideLink = `<` + web.GuidePath + `>; rel="deprecation"; type="text/html", <` + web.GuidePath +
	`>; rel="sunset"; type="text/html"`

// Partner wraps a handler of a legacy route. Every answer says since when the interface is deprecated and
// when it goes (RFC 9745, RFC 8594); a stranger gets 403; who has been quiet for long enough 410. All other
// calls count.
func (s *Adapter) Partner(h web.PartnerHandler) http.HandlerFunc {
	answer := web.Identified(s.Core, web.ErrForbidden,
		func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
			if err := s.partner.UseLegacy(w, p); err != nil {
				return err
			}
			s.Counts.CountLegacy(r.Pattern)
			return h(w, r, p)
		}, web.APIKey, web.ByKey, nil)
	// Also those who are refused are told that it is on its way out.
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Deprecation", fmt.Sprintf("@%d", s.Deprecated.Unix()))
		h.Set("Sunset", s.Deprecated.Add(auth.LegacyWindow).UTC().Format(http.TimeFormat))
		h.Set("Link", guideLink)
		answer(w, r)
	}
}

// legacyDate refuses a malformed departureDate as the legacy interface did (interface, Changes from legacy).
func legacyDate(r *http.Request) error {
	day := web.NewQuery(r).Text("departureDate")
	if _, err := schedule.ParseDay(day); err != nil && day != "" {
		return web.ErrLegacyDate
	}
	return nil
}

// NoRoute answers what is no legacy route but lies where they do.
func (s *Adapter) NoRoute(w http.ResponseWriter, r *http.Request, _ *auth.Partner) error {
	return s.NotRouted(w, r)
}

// NoPath answers a path that is not clean but lies where the legacy interface's do.
func (s *Adapter) NoPath(http.ResponseWriter, *http.Request, *auth.Partner) error {
	return web.ErrNotFound
}

// GetOffers answers GET /rest/offers.
func (s *Adapter) GetOffers(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	if err := legacyDate(r); err != nil {
		return err
	}
	// The same search as in /v2, whose parameter has another name.
	list, err := s.search.FindOffers(r, p, "passengersQty")
	return web.Show(w, err, func(w *wire.Writer) {
		w.String("source", schedule.OwnSource)
		wire.Each(w, "results", list, func(f search.Found) {
			s.search.WriteOffer(w, &f, p, true)
		})
	})
}

// IgnoredFields are members that the legacy create took and v2 refuses.
var IgnoredFields = []string{"price", "seats", "paymentRecipient", "invoice", "sessionId", "octobusRaceId",
	"blaBlaCarRaceId", "source"}

// PostOrders answers POST /rest/orders.
func (s *Adapter) PostOrders(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	in, err := web.Document(w, r)
	if err != nil {
		return err
	}
	b, now, seq, err := s.partner.Create(w, r, p, partner.ReadNewBooking(in, IgnoredFields),
		new(partner.Attempt))
	if err != nil {
		return err
	}
	web.Wrote(w, seq)
	web.Send(w, http.StatusOK, func(w *wire.Writer) {
		w.Object("")
		wire.Each(w, "data", b.Tickets, func(t booking.Ticket) {
			s.resources.Ticket(w, "", b, &t, now, resource.LegacyOrder)
		})
		w.EndObject()
	})
	return nil
}

// writeOrder writes a ticket as the legacy interface shows it.
func (s *Adapter) writeOrder(w *wire.Writer, o booking.Order, now time.Time) {
	s.resources.Ticket(w, "", o.Booking, o.Ticket, now, resource.LegacyOrder)
}

// ListOrders answers GET /rest/orders.
func (s *Adapter) ListOrders(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	if err := legacyDate(r); err != nil {
		return err
	}
	q := web.NewQuery(r)
	leaves := q.OptionalDay("departureDate")
	created := q.OptionalDay("createdAt")
	return web.ShowPage(s.Core, w, q, "orders", web.MaxBookings,
		func(st ledger.State, skip, take int) (func() ([]booking.Order, int), uint64) {
			orders := st.Bookings.Orders(p.ID, leaves, created)
			list := func() ([]booking.Order, int) { return orders.Page(skip, take) }
			return list, st.PartnerLine(p.ID)
		}, s.writeOrder)
}

// GetOrder answers GET /rest/orders/{id}.
func (s *Adapter) GetOrder(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, t, now, err := s.partner.ViewTicket(r, p)
	return web.Show(w, err, func(w *wire.Writer) {
		s.resources.Ticket(w, "order", b, t, now, resource.LegacyOrder)
	})
}

// GetRefundRules answers GET /rest/orders/{id}/refund-rules.
func (s *Adapter) GetRefundRules(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	_, t, _, err := s.partner.ViewTicket(r, p)
	return web.Show(w, err, func(w *wire.Writer) {
		partner.WriteOrderRules(w, []booking.Ticket{*t})
	})
}

// patches are what PATCH /rest/orders can do; a carrier's statuses were the backoffice's (interface,
// Versioning).
var patches = map[string]booking.Action{
	"paymentStatus Paid":   booking.Pay,
	"paymentStatus Booked": booking.Book,
	"status Canceled":      booking.Cancel,
}

const carrierRule = " is not migrated: carriers set it in the backoffice; see the migration guide"

// PatchOrders answers PATCH /rest/orders, which pays, books or cancels tickets of any bookings.
func (s *Adapter) PatchOrders(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	// What to do is read before it is known whose tickets they are: 400 comes before 404 here.
	in, err := web.Document(w, r)
	if err != nil {
		return err
	}
	sel := booking.Selection{Partner: p.ID}
	action, err := readPatch(in, &sel)
	if err != nil {
		return err
	}
	var orders []booking.Order
	var now time.Time
	// The tickets may be of several bookings: all are changed, or none.
	try := new(partner.Attempt)
	seq, err := s.partner.Perform(w, r, sel, action, try, func(st ledger.State, at time.Time) {
		orders, _ = st.Bookings.Select(sel) // no ticket is ever forgotten
		now = at
	})
	if err != nil {
		return err
	}
	web.Wrote(w, seq)
	web.Send(w, http.StatusOK, func(w *wire.Writer) {
		w.Object("")
		wire.Each(w, "data", orders, func(o booking.Order) {
			s.writeOrder(w, o, now)
		})
		w.EndObject()
	})
	return nil
}

// readPatch reads what to do with which tickets. Its error lists everything wrong with the body.
func readPatch(in *wire.Reader, sel *booking.Selection) (booking.Action, error) {
	var actions []booking.Action
	var carriers []web.Complaint // the carrier's values, which are not set here
	what := func(member, values string) wire.Field {
		return wire.May(member, func() {
			in.Text(func(value string) bool {
				action, ok := patches[member+" "+value]
				_, carrier := booking.ParseCarrier(value)
				if ok {
					actions = append(actions, action)
				} else if carrier {
					message := member + " " + value + carrierRule
					carriers = append(carriers,
						web.Complain("VALIDATION_ERROR", message, func(w *wire.Writer) {
							w.String("field", member)
							w.String("migrationGuide", web.GuidePath)
						}))
				}
				return ok || carrier
			}, "be "+values)
		})
	}
	in.Fields(
		wire.Must("ordersIds", func() {
			sel.Tickets = partner.ReadIDs(in)
		}),
		what("paymentStatus", "Paid or Booked"),
		what("status", "Canceled"),
	)
	in.End()
	if len(in.Problems) == 0 && len(actions)+len(carriers) != 1 {
		in.Reject("must have paymentStatus or status")
	}
	wrong := web.ComplaintsOf(in)
	for _, e := range carriers {
		wrong.Add(e)
	}
	if err := wrong.Err(); err != nil {
		return 0, err
	}
	return actions[0], nil
}
