package server

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"net/http"
	"regexp"
	"time"

	"waybill/auth"
)

// The pages under /docs: self-contained, without scripts or outside addresses.

//go:embed docs
var docs embed.FS

var (
	style, _ = docs.ReadFile("docs/style.css")
	pages    = template.Must(template.New("").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(style) },
		// In single quotes a shell leaves variables alone: they stand between two such strings.
		"quoted": func(s string) string { return "'" + variables.ReplaceAllString(s, `'$$$1'`) + "'" },
	}).ParseFS(docs, "docs/*.html"))

	variables = regexp.MustCompile(`\$([A-Z]+)`)

	// contentPolicy lets a page show nothing but itself and the one style sheet it carries.
	contentPolicy = "default-src 'none'; style-src 'sha256-" + sumOf(style) + "'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// page answers with a page of /docs.
func (s *Server) page(w http.ResponseWriter, name string, data any) error {
	var out bytes.Buffer
	if err := pages.ExecuteTemplate(&out, name, data); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", contentPolicy)
	_, err := w.Write(out.Bytes())
	return err
}

// A migration is a row of the interface's table that maps legacy calls to v2 (interface, Versioning), with an example of
// each. A test plays the examples.
type migration struct {
	Old, New      string // method and path; New is "" where nothing took its place
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

const (
	exampleOffers    = "departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=$DATE"
	examplePassenger = `"currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`
)

var migrations = []migration{
	{"GET /rest/offers", "GET /v2/offers", "", "passengersQty is called passengers, results offers; each offer tells when it expires; a malformed departureDate is 400, was 500.",
		example{"GET", "/rest/offers?" + exampleOffers + "&passengersQty=1", "", 200, `{"data":{"source":"Service","results":[{"id":"…","source":"Service","seatsLeft":49}]}}`},
		example{"GET", "/v2/offers?" + exampleOffers + "&passengers=1", "", 200, `{"data":{"offers":[{"id":"…","source":"Service","seatsLeft":49,"expiresAt":"…"}],"source":"Service"}}`}},
	{"POST /rest/orders", "POST /v2/bookings", "", "The answer is 201 with one booking, not 200 with tickets; the seat stands in the slice. price, seats, paymentRecipient, invoice, sessionId, octobusRaceId, blaBlaCarRaceId and source are refused: leave them out.",
		example{"POST", "/rest/orders", `{"offerId":"$OFFER","seats":1,` + examplePassenger, 200, `{"data":[{"id":"…","bookingId":"…","slices":[{"id":"…"}],"seat":{"id":"…","label":"1"}}]}`},
		example{"POST", "/v2/bookings", `{"offerId":"$OFFER",` + examplePassenger, 201, `{"data":{"booking":{"id":"…","paymentRequiredBy":"…","tickets":[{"id":"…","bookingId":"…","slices":[{"id":"…","seat":{"id":"…","label":"1"}}]}]}}}`}},
	{"GET /rest/orders", "GET /v2/bookings", "", "Bookings are listed, and counted, instead of tickets; there is no createdAt filter.",
		example{"GET", "/rest/orders?take=1", "", 200, `{"data":{"orders":[{"id":"…","bookingId":"…"}],"total":1}}`},
		example{"GET", "/v2/bookings?take=1", "", 200, `{"data":{"bookings":[{"id":"…","tickets":[{"id":"…","bookingId":"…"}]}],"total":1}}`}},
	{"GET /rest/orders/{id}", "GET /v2/bookings/{id}", "", "The id is a booking's: the bookingId of the ticket. A single ticket is GET /v2/tickets/{id}.",
		example{"GET", "/rest/orders/$TICKET", "", 200, `{"data":{"order":{"id":"…","bookingId":"…","status":"Processing"}}}`},
		example{"GET", "/v2/bookings/$BOOKING", "", 200, `{"data":{"booking":{"id":"…","status":"Upcoming","tickets":[{"id":"…","status":"Processing"}]}}}`}},
	{"GET /rest/orders/{id}/refund-rules", "GET /v2/bookings/{id}/refund-rules", "", "The id is a booking's; the rules of each of its tickets are answered.",
		example{"GET", "/rest/orders/$TICKET/refund-rules", "", 200, `{"data":{"refundRules":[{"orderId":"…","rules":[{"id":"…","hours":48,"amount":90}]}]}}`},
		example{"GET", "/v2/bookings/$BOOKING/refund-rules", "", 200, `{"data":{"refundRules":[{"orderId":"…","rules":[{"id":"…","hours":48,"amount":90}]}]}}`}},
	{"PATCH /rest/orders", "POST /v2/bookings/{id}/pay", "with paymentStatus Paid", "One call for each booking; without ticketIds all its tickets are paid.",
		example{"PATCH", "/rest/orders", `{"ordersIds":["$TICKET"],"paymentStatus":"Paid"}`, 200, `{"data":[{"id":"…","paymentStatus":"Paid"}]}`},
		example{"POST", "/v2/bookings/$BOOKING/pay", `{"ticketIds":["$TICKET"]}`, 200, `{"data":{"booking":{"tickets":[{"id":"…","paymentStatus":"Paid"}]}}}`}},
	{"PATCH /rest/orders", "POST /v2/bookings/{id}/book", "with paymentStatus Booked", "One call for each booking; without ticketIds all its tickets are booked.",
		example{"PATCH", "/rest/orders", `{"ordersIds":["$TICKET"],"paymentStatus":"Booked"}`, 200, `{"data":[{"id":"…","paymentStatus":"Booked"}]}`},
		example{"POST", "/v2/bookings/$BOOKING/book", "", 200, `{"data":{"booking":{"tickets":[{"id":"…","paymentStatus":"Booked"}]}}}`}},
	{"PATCH /rest/orders", "POST /v2/bookings/{id}/cancel", "with status Canceled", "One call for each booking; without ticketIds all its tickets are canceled. A refunded ticket tells its refundAmount.",
		example{"PATCH", "/rest/orders", `{"ordersIds":["$TICKET"],"status":"Canceled"}`, 200, `{"data":[{"id":"…","status":"Canceled"}]}`},
		example{"POST", "/v2/bookings/$BOOKING/cancel", `{"ticketIds":["$TICKET"]}`, 200, `{"data":{"booking":{"status":"Canceled","tickets":[{"id":"…","status":"Canceled"}]}}}`}},
	{"PATCH /rest/orders", "", "with Confirmed, NotConfirmed or Prepaid", "Not migrated: these are the carrier's, and are set in the backoffice (waybill ticket status). What the carrier said is read in the ticket's status.",
		example{"PATCH", "/rest/orders", `{"ordersIds":["$TICKET"],"status":"Confirmed"}`, 400, `{"errors":[{"message":"…","errorCode":"VALIDATION_ERROR","details":{"field":"status","migrationGuide":"/docs/migration"}}]}`},
		example{"GET", "/v2/tickets/$TICKET", "", 200, `{"data":{"ticket":{"id":"…","status":"Processing"}}}`}},
}

// getMigrationGuide answers GET /docs/migration.
func (s *Server) getMigrationGuide(w http.ResponseWriter, _ *http.Request) error {
	return s.page(w, "migration.html", map[string]any{
		"Migrations": migrations,
		"Since":      s.deprecated.UTC().Format(time.RFC1123),
		"Until":      s.deprecated.Add(auth.LegacyWindow).UTC().Format(time.RFC1123),
		"Ignored":    legacyFields,
	})
}
