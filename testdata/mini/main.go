// Mini is a small server of the bus booking interface, written from the pages alone, and to be read. It keeps
// everything in memory. A request goes through the files like this:
//
//	main.go    has a table of all routes: from which stage on each is there, and who may call it
//	web.go     reads and checks what was sent, and collects all that is wrong with it
//	stageN.go  does what the route is for, and makes a view of it, which is what the answer shows
//	web.go     writes the view as JSON, or else the errors
//
// What there is to sell comes from a timetable, a GTFS feed, which feed.go reads once, and never changes.
// journeys.go finds the ways from a city to another in it, and what they cost. A search shows journeys, each
// with a signed token that holds it (stages 2 and 3). Who comes back with the token within 20 minutes gets a
// booking: a ticket with a seat for each passenger (4). Tickets are paid or booked (5), or lose their seats
// after 20 minutes (6). They can be canceled, and what was paid is given back by rules (7). A company sees
// its sales in reports (8). Clients from before v2 find all this in its old form (9).
//
// Four ideas keep it short. All that changes is in one Server behind one mutex: no request sees half of what
// another one does. What is wrong ends a request by a panic with the answer, which web.go catches. All is
// checked before anything is changed. And what follows from the time alone is not stored, but asked for.
//
// Comments name the section of the interface that a rule is from. Two kinds of functions need none: that of a
// route, whose section is that of the route, and one like cityView, which shows a City.
package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"
)

// A Server has all that changes.
type Server struct {
	mutex    sync.Mutex
	clock    Clock
	opened   time.Time
	key      ed25519.PrivateKey  // signs offers, ID tokens and links
	partners map[string]*Partner // by their keys
	bookings []*Booking          // the newest first
	tickets  []*Ticket           // those of the newest booking first
	user     *User
	sessions map[string]time.Time // when they began, by their access tokens
	reports  []*Report            // the newest first
}

// routes are the Summary of Endpoints, with its column Auth. Those of stage 9 are in Versioning.
var routes = []route{
	{1, "GET /v2/cities", anybody, listCities},
	{1, "GET /v2/cities/{slug}", anybody, showCity},
	{1, "GET /v2/stops/{id}", anybody, showStop},
	{2, "GET /v2/offers/schedule", anybody, showSchedule},
	{3, "GET /v2/offers", needsKey, searchOffers},
	{4, "POST /v2/bookings", needsKey, createBooking},
	{4, "GET /v2/bookings", needsKey, listBookings},
	{4, "GET /v2/bookings/{id}", needsKey, showBooking},
	{4, "GET /v2/bookings/{id}/refund-rules", needsKey, showRefundRules},
	{4, "GET /v2/tickets/{id}", needsKey, showTicket},
	{5, "POST /v2/bookings/{id}/pay", needsKey, payBooking},
	{5, "POST /v2/bookings/{id}/book", needsKey, bookBooking},
	{6, "GET /test/clock", needsTestClock, showClock},
	{6, "POST /test/clock", needsTestClock, moveClock},
	{7, "POST /v2/bookings/{id}/cancel", needsKey, cancelBooking},
	{8, "POST /v2/auth/pre-login", anybody, preLogin},
	{8, "POST /v2/auth/idp/login", anybody, login},
	{8, "POST /v2/reports/company/orders", needsSession, orderReport},
	{8, "GET /v2/reports/company/orders", needsSession, listReports},
	{8, "GET /v2/reports/company/orders/{id}/download", needsSession, linkReport},
	{8, "GET /v2/reports/files/{token}", anybody, downloadReport},
	{8, "PATCH /v2/geolocation/fms-objects/{id}", needsSession, setGeolocation},
	{9, "GET /rest/offers", needsLegacyKey, legacyOffers},
	{9, "POST /rest/orders", needsLegacyKey, legacyCreate},
	{9, "GET /rest/orders", needsLegacyKey, legacyList},
	{9, "PATCH /rest/orders", needsLegacyKey, legacyPatch},
	{9, "GET /rest/orders/{id}", needsLegacyKey, legacyShow},
	{9, "GET /rest/orders/{id}/refund-rules", needsLegacyKey, legacyRules},
	{0, "/", anybody, func(*Request) answer { return notFound }}, // all else, and other methods
}

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "the address to listen on")
	dir := flag.String("feed", "../demo", "the directory of the GTFS feed")
	start := flag.String("test-clock", "", "serve with a clock that can be moved; it starts at now or "+
		"an instant")
	frozen := flag.Bool("frozen", false, "stop that clock until it is moved")
	stage := flag.Int("stage", 9, "serve this stage of the interface and the stages before it")
	flag.Parse()
	readFeed(*dir)
	now, isTest := time.Now(), *start != ""
	if isTest && *start != "now" {
		now = must(time.Parse(time.RFC3339, *start))
	}
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	s := &Server{opened: now, key: key}
	s.clock = Clock{isTest, isTest && *frozen, now, time.Now()}
	s.openAccounts()
	log.Fatal(http.ListenAndServe(*addr, s.handler(*stage)))
}

// must ends a start that cannot succeed.
func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

// openAccounts makes two partners, and a user of the feed's first company, and prints what they sign in with.
func (s *Server) openAccounts() {
	s.partners, s.sessions = map[string]*Partner{}, map[string]time.Time{}
	for _, name := range []string{"KEY", "KEY2"} {
		key := rand.Text()
		s.partners[key] = &Partner{name, s.opened}
		fmt.Printf("%s=%s\n", name, key)
	}
	company, password, salt, fms := feed.firstCompany, rand.Text(), rand.Text(), ""
	s.user = &User{"demo@example.com", salt, hashPassword(password, salt), company}
	for id, bus := range feed.fmsObjects {
		if id != "" && bus["agency_id"] == company["agency_id"] {
			fms = id
		}
	}
	token := Token{Kind: serviceItself, For: s.user.email, Email: s.user.email, IsVerified: true}
	idToken := s.sign(token, s.opened.AddDate(10, 0, 0))
	fmt.Printf("EMAIL=%s\nPASSWORD=%s\nCOMPANY=%s\n", s.user.email, password, company["agency_id"])
	fmt.Printf("FMS=%s\nID_TOKEN=%s\n", fms, idToken)
}
