package server

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/docs"
	"waybill/server/ledger"
	"waybill/server/wire"
)

// The legacy interface, /rest/offers and /rest/orders (interface, Versioning; contract §11), on its way out:
// other requests and answers around the same searches and decisions as v2.

const (
	guidePath = "/docs/migration"
	guideLink = `<` + guidePath + `>; rel="deprecation"; type="text/html", <` + guidePath + `>; rel="sunset"; type="text/html"`
)

// legacy wraps a handler of a legacy route. Every answer says since when the interface is deprecated and when
// it goes (RFC 9745, RFC 8594); a stranger gets 403; who has been quiet for long enough 410. All other calls
// count.
func (s *Server) legacy(h func(http.ResponseWriter, *http.Request, *auth.Partner) error) http.HandlerFunc {
	answer := known(s, errForbidden, func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		_, err := s.st.Update(func(st *ledger.State, now time.Time) ([]ledger.Entry, error) {
			e, err := st.Partners.UseLegacy(now, s.deprecated, p.ID)
			if e == nil {
				return nil, err
			}
			return ledger.Entries(e), nil
		}, nil)
		if err != nil {
			return err
		}
		s.counts.routes[r.Pattern].legacy.Add(1)
		return h(w, r, p)
	}, apiKey, byKey)
	return func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Deprecation", fmt.Sprintf("@%d", s.deprecated.Unix()))
		h.Set("Sunset", s.deprecated.Add(auth.LegacyWindow).UTC().Format(http.TimeFormat))
		h.Set("Link", guideLink)
		answer(w, r)
	}
}

// legacyDate refuses a malformed departureDate as the legacy interface did (interface, Changes from legacy).
func legacyDate(r *http.Request) error {
	day := newQuery(r).text("departureDate")
	if _, err := schedule.ParseDay(day); err != nil && day != "" {
		return errLegacyDate
	}
	return nil
}

var errLegacyDate = fail(http.StatusInternalServerError, "INTERNAL", "departureDate must be a date as in 2026-11-20")

// noLegacyRoute answers what is no legacy route but lies where they do.
func (s *Server) noLegacyRoute(w http.ResponseWriter, r *http.Request, _ *auth.Partner) error {
	return s.noRoute(w, r)
}

// getLegacyOffers answers GET /rest/offers.
func (s *Server) getLegacyOffers(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	if err := legacyDate(r); err != nil {
		return err
	}
	list, err := s.findOffers(r, p, "passengersQty")
	return show(w, err, func(w *wire.Writer) {
		w.String("source", schedule.OwnSource)
		wire.Each(w, "results", list, func(f found) { s.writeOffer(w, &f, p, true) })
	})
}

// ParseLegacySince reads -legacy-since; "" is the zero time.
func ParseLegacySince(text string) (since time.Time, err error) {
	if text != "" {
		since, err = time.Parse(time.RFC3339, text)
		if err != nil || since.Year() < 1970 || since.Year() > maxYear {
			err = fmt.Errorf("-legacy-since %q is not an instant as in 2026-11-20T08:30:00Z, of the years 1970 to %d", text, maxYear)
		}
	}
	return since, err
}

// legacyFields are members that the legacy create took and v2 refuses.
var legacyFields = []string{"price", "seats", "paymentRecipient", "invoice", "sessionId", "octobusRaceId", "blaBlaCarRaceId", "source"}

// postLegacyOrders answers POST /rest/orders.
func (s *Server) postLegacyOrders(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	in, err := document(w, r)
	if err != nil {
		return err
	}
	b, now, seq, err := s.create(requestID(r), p, readNewBooking(in, legacyFields), new(attempt))
	if err != nil {
		return err
	}
	wrote(w, seq)
	send(w, http.StatusOK, func(w *wire.Writer) {
		w.Object("")
		wire.Each(w, "data", b.Tickets, func(t booking.Ticket) { writeTicket(w, "", b, &t, now, legacyOrder) })
		w.EndObject()
	})
	return nil
}

func writeLegacyOrder(w *wire.Writer, o booking.Order, now time.Time) {
	writeTicket(w, "", o.Booking, o.Ticket, now, legacyOrder)
}

// listLegacyOrders answers GET /rest/orders.
func (s *Server) listLegacyOrders(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	if err := legacyDate(r); err != nil {
		return err
	}
	q := newQuery(r)
	leaves, created := q.optionalDay("departureDate"), q.optionalDay("createdAt")
	return showPage(s, w, q, "orders", maxBookings, func(st *ledger.State, skip, take int) ([]booking.Order, int) {
		return st.Bookings.Orders(booking.ID(p.ID), leaves, created, skip, take)
	}, writeLegacyOrder)
}

// getLegacyOrder answers GET /rest/orders/{id}.
func (s *Server) getLegacyOrder(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	b, t, now, err := s.viewTicket(r, p)
	return show(w, err, func(w *wire.Writer) { writeTicket(w, "order", b, t, now, legacyOrder) })
}

// getLegacyRefundRules answers GET /rest/orders/{id}/refund-rules.
func (s *Server) getLegacyRefundRules(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	_, t, _, err := s.viewTicket(r, p)
	return show(w, err, func(w *wire.Writer) { writeOrderRules(w, []booking.Ticket{*t}) })
}

// patches are what PATCH /rest/orders can do; a carrier's statuses were the backoffice's (interface,
// Versioning).
var patches = map[string]booking.Action{"paymentStatus Paid": booking.Pay, "paymentStatus Booked": booking.Book, "status Canceled": booking.Cancel}

const carrierRule = " is not migrated: the carrier's statuses are set in the backoffice; see the migration guide"

// patchLegacyOrders answers PATCH /rest/orders, which pays, books or cancels tickets of any bookings.
func (s *Server) patchLegacyOrders(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	in, err := document(w, r)
	if err != nil {
		return err
	}
	sel := booking.Selection{Partner: booking.ID(p.ID)}
	action, err := readPatch(in, &sel)
	if err != nil {
		return err
	}
	var orders []booking.Order
	var now time.Time
	seq, err := s.perform(r, sel, action, new(attempt), func(st *ledger.State, at time.Time) {
		orders, _ = st.Bookings.Select(sel) // no ticket is ever forgotten
		now = at
	})
	if err != nil {
		return err
	}
	wrote(w, seq)
	send(w, http.StatusOK, func(w *wire.Writer) {
		w.Object("")
		wire.Each(w, "data", orders, func(o booking.Order) { writeLegacyOrder(w, o, now) })
		w.EndObject()
	})
	return nil
}

// readPatch reads what to do with which tickets. Its error lists everything wrong with the body.
func readPatch(in *wire.Reader, sel *booking.Selection) (booking.Action, error) {
	var actions []booking.Action
	var carriers []entry // the carrier's values, which are not set here
	what := func(member, values string) wire.Field {
		return wire.May(member, func() {
			in.Text(func(value string) bool {
				action, ok := patches[member+" "+value]
				_, carrier := booking.ParseCarrier(value)
				if ok {
					actions = append(actions, action)
				} else if carrier {
					var at wire.Writer
					at.Record("", "field", member, "migrationGuide", guidePath)
					carriers = append(carriers, entry{member + " " + value + carrierRule, "VALIDATION_ERROR", at.B})
				}
				return ok || carrier
			}, "be "+values)
		})
	}
	in.Fields(
		wire.Must("ordersIds", func() { sel.Tickets = readIDs(in) }),
		what("paymentStatus", "Paid or Booked"),
		what("status", "Canceled"),
	)
	in.End()
	if len(in.Problems) == 0 && len(actions)+len(carriers) != 1 {
		in.Reject("must have one of paymentStatus and status")
	}
	wrong := complaintsOf(in)
	for _, e := range carriers {
		wrong.add(e)
	}
	if err := wrong.err(); err != nil {
		return 0, err
	}
	return actions[0], nil
}

// The migration guide, /docs/migration: self-contained, without scripts or outside addresses.

var (
	style, _ = docs.Files.ReadFile("style.css")
	styleSum = sha256.Sum256(style)

	// guidePolicy lets the page show nothing but itself, the one style sheet and the one icon that it
	// carries.
	guidePolicy = "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(styleSum[:]) +
		"'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

	variables = regexp.MustCompile(`\$([A-Z]+)`)
)

// A migration is a row of the table that maps legacy calls to v2 (interface, Versioning). A test plays the
// examples.
type migration struct {
	Old, New      string // method and path; New is "" where nothing took its place
	Operation     string // of New, in the document
	What          string // tells rows of the same Old apart
	Change        string // what a client has to do besides
	Before, After example
}

// example is a call and what is answered; … stands for what is left out.
type example struct {
	Method, Path, Body string
	Status             int
	Answer             string
}

var migrations = sync.OnceValue(func() (list []migration) {
	text, _ := docs.Files.ReadFile("migration.json")
	if err := json.Unmarshal(text, &list); err != nil {
		panic(err)
	}
	for i := range list {
		for _, o := range readReference().Operations {
			if o.Method+" "+o.Path == list[i].New {
				list[i].Operation = o.ID
			}
		}
	}
	return list
})

// getMigrationGuide answers GET /docs/migration.
func (s *Server) getMigrationGuide(w http.ResponseWriter, _ *http.Request) error {
	return sendPage(w, referencePages, "migration.html", map[string]any{
		"Migrations": migrations(),
		"Since":      s.deprecated.UTC().Format(time.RFC1123),
		"Until":      s.deprecated.Add(auth.LegacyWindow).UTC().Format(time.RFC1123),
		"Ignored":    legacyFields,
		"Version":    readReference().At("info", "version").Text(),
	})
}
