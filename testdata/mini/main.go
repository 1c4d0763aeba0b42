// Mini is a small server of the bus booking interface, written from the pages alone, and to be read. It keeps
// everything in memory. The sections that comments name are those of the interface: "Limits", "Ticket".
//
// A request goes through the files like this:
//
//	main.go    has a table of all routes: from which stage on each is there, and who may call it
//	web.go     reads and checks what was sent, and collects all that is wrong with it
//	stageN.go  does what the route is for, and makes a view of it, which is what the answer shows
//	web.go     writes the view as JSON, or else the errors
//
// What there is to sell comes from a timetable, a GTFS feed, which feed.go reads once, and which never changes.
// journeys.go finds the ways from a city to another in it, and what they cost.
//
// A search shows journeys, each with a signed token that holds it (stages 2 and 3). Who comes back with the
// token within 20 minutes gets a booking: a ticket with a seat for each passenger (4). Tickets are paid or
// booked (5), or lose their seats after 20 minutes (6). They can be canceled, and what was paid is given back
// by rules (7). A company sees its sales in reports (8). Clients from before v2 find all this in its old form (9).
//
// Four ideas keep it short. All that changes is in one Server behind one mutex: no request sees half of what
// another one does. What is wrong ends a request by a panic with the answer, which web.go catches. All is
// checked before anything is changed. And what follows from the time alone, as that a ticket has lapsed, is
// not stored, but asked for with the time of the request.
package main

import (
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
	key      []byte              // signs offers, ID tokens and links
	partners map[string]*Partner // by their keys
	bookings []*Booking          // the newest first
	tickets  []*Ticket           // those of the newest booking first
	user     *User
	sessions map[string]time.Time // when they began, by their access tokens
	reports  []*Report            // the newest first
}

// A route is there from its stage on. Before all else its guard refuses those who may not call it.
type route struct {
	stage   int
	pattern string // method and path
	guard   func(*Request)
	handle  func(*Request) answer
}

// routes are the Summary of Endpoints: the guards are its column Auth. Those of stage 9 are in Versioning.
func (s *Server) routes() []route {
	return []route{
		{1, "GET /v2/cities", anybody, s.listCities},
		{1, "GET /v2/cities/{slug}", anybody, s.showCity},
		{1, "GET /v2/stops/{id}", anybody, s.showStop},
		{2, "GET /v2/offers/schedule", anybody, s.showSchedule},
		{3, "GET /v2/offers", s.needsKey, s.searchOffers},
		{4, "POST /v2/bookings", s.needsKey, s.createBooking},
		{4, "GET /v2/bookings", s.needsKey, s.listBookings},
		{4, "GET /v2/bookings/{id}", s.needsKey, s.showBooking},
		{4, "GET /v2/bookings/{id}/refund-rules", s.needsKey, s.showRefundRules},
		{4, "GET /v2/tickets/{id}", s.needsKey, s.showTicket},
		{5, "POST /v2/bookings/{id}/pay", s.needsKey, s.acting(pay)},
		{5, "POST /v2/bookings/{id}/book", s.needsKey, s.acting(book)},
		{6, "GET /test/clock", s.needsTestClock, s.showClock},
		{6, "POST /test/clock", s.needsTestClock, s.moveClock},
		{7, "POST /v2/bookings/{id}/cancel", s.needsKey, s.acting(cancel)},
		{8, "POST /v2/auth/pre-login", anybody, s.preLogin},
		{8, "POST /v2/auth/idp/login", anybody, s.login},
		{8, "POST /v2/reports/company/orders", s.needsSession, s.orderReport},
		{8, "GET /v2/reports/company/orders", s.needsSession, s.listReports},
		{8, "GET /v2/reports/company/orders/{id}/download", s.needsSession, s.linkReport},
		{8, "GET /v2/reports/files/{token}", anybody, s.downloadReport},
		{8, "PATCH /v2/geolocation/fms-objects/{id}", s.needsSession, s.setGeolocation},
		{9, "GET /rest/offers", s.needsLegacyKey, s.legacyOffers},
		{9, "POST /rest/orders", s.needsLegacyKey, s.legacyCreate},
		{9, "GET /rest/orders", s.needsLegacyKey, s.legacyList},
		{9, "PATCH /rest/orders", s.needsLegacyKey, s.legacyPatch},
		{9, "GET /rest/orders/{id}", s.needsLegacyKey, s.legacyShow},
		{9, "GET /rest/orders/{id}/refund-rules", s.needsLegacyKey, s.legacyRules},
	}
}

func main() {
	addr := flag.String("addr", "127.0.0.1:9000", "the address to listen on")
	dir := flag.String("feed", "../demo", "the directory of the GTFS feed")
	start := flag.String("test-clock", "", "serve a clock that can be moved, starting at now or an instant")
	frozen := flag.Bool("frozen", false, "have that clock stand still until it is moved")
	stage := flag.Int("stage", 9, "the stage of the interface that is served, with those before it")
	flag.Parse()

	readFeed(*dir)
	now, isTest := time.Now(), *start != ""
	if isTest && *start != "now" {
		now = must(time.Parse(time.RFC3339, *start))
	}
	s := &Server{opened: now, partners: map[string]*Partner{}, sessions: map[string]time.Time{}}
	s.clock.isTest = isTest
	s.clock.show(now, isTest && *frozen)
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

// openAccounts makes two partners, and a user of the first company of the feed, and prints what they need.
func (s *Server) openAccounts() {
	for _, name := range []string{"KEY", "KEY2"} {
		key := rand.Text()
		s.partners[key] = &Partner{name, s.opened}
		fmt.Printf("%s=%s\n", name, key)
	}
	s.key = []byte(rand.Text())
	password, salt, fms := rand.Text(), rand.Text(), ""
	s.user = &User{"demo@example.com", salt, hashPassword(password, salt), feed.firstCompany}
	for id, bus := range feed.fmsObjects {
		if id != "" && bus["agency_id"] == s.user.company["agency_id"] {
			fms = id
		}
	}
	until := s.opened.AddDate(10, 0, 0)
	idToken := s.sign(IDToken{issuer, audience, s.user.email, until.Unix()})
	fmt.Printf("EMAIL=%s\nPASSWORD=%s\n", s.user.email, password)
	fmt.Printf("COMPANY=%s\nFMS=%s\nID_TOKEN=%s\n", s.user.company["agency_id"], fms, idToken)
}
