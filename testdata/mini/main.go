// Mini is a small server of the bus booking interface. It keeps everything in memory.
package main

import (
	"cmp"
	"crypto/ed25519"
	"crypto/rand"
	"flag"
	"fmt"
	"log"
	"net/http"
	"sync"
	"time"
)

// A Server has all that changes, behind one mutex.
type Server struct {
	mutex    sync.Mutex
	clock    Clock
	opened   time.Time
	key      ed25519.PrivateKey  // signs offers and ID tokens
	partners map[string]*Partner // by key
	bookings []*Booking          // the newest first
	tickets  map[string]*Ticket  // by id
	riders   map[Run][]*Ticket   // who has, or had, seats on a run
	user     *User
	sessions map[string]time.Time // when they began, by access token
	reports  []*Report            // the newest first
}

// routes are there from their stage on.
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
	now := time.Now()
	if *start != "" && *start != "now" {
		now = must(time.Parse(time.RFC3339, *start))
	}
	s := &Server{opened: now, partners: map[string]*Partner{},
		tickets: map[string]*Ticket{}, riders: map[Run][]*Ticket{}, sessions: map[string]time.Time{}}
	s.clock.isTest = *start != ""
	s.clock.set(now, *frozen && s.clock.isTest)
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

// openAccounts makes two partners, and a user of the first company of the feed, and prints what they show.
func (s *Server) openAccounts() {
	for _, name := range []string{"KEY", "KEY2"} {
		key := rand.Text()
		s.partners[key] = &Partner{name, s.opened}
		fmt.Printf("%s=%s\n", name, key)
	}
	_, s.key, _ = ed25519.GenerateKey(nil)
	password, salt, fms := rand.Text(), rand.Text(), ""
	s.user = &User{rand.Text(), "demo@example.com", salt, hashPassword(password, salt), feed.firstCompany}
	for _, bus := range feed.buses {
		if bus["agency_id"] == s.user.company["agency_id"] {
			fms = cmp.Or(fms, bus["fms_object_id"])
		}
	}
	token := s.sign(object{"iss": issuer, "aud": audience, "sub": s.user.id, "email": s.user.email,
		"email_verified": true, "iat": s.opened.Unix(), "exp": s.opened.AddDate(10, 0, 0).Unix()})
	fmt.Printf("EMAIL=%s\nPASSWORD=%s\nCOMPANY=%s\nFMS=%s\nID_TOKEN=%s\n", s.user.email, password,
		s.user.company["agency_id"], fms, token)
}
