//go:build !race

package server_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// A request takes so many allocations, and a few more at most: they are what a garbage collection is paid
// for. With the race detector the runtime takes more.
func TestAllocationsOfARequest(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	offer := rig.Call(t, s, key, "GET", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw"+
		"&departureDate=2026-12-02", "").Data.Offers[0].ID
	made := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 2))
	for _, c := range []struct {
		what, method, target, body string
		runs                       int
		most                       float64
	}{
		{"a booking is read", "GET", "/v2/bookings/" + made.Data.Booking.ID, "", 200, 40},
		{"a ticket is read", "GET", "/v2/tickets/" + made.Data.Booking.Tickets[0].ID, "", 200, 37},
		{"departures are searched", "GET", "/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv" +
			"&date=2026-11-21&days=14&passengers=2", "", 200, 95},
		{"a seat is sold", "POST", "/v2/bookings", rig.BookingBody(offer, 1), 20, 125},
	} {
		status := 0
		n := testing.AllocsPerRun(c.runs, func() {
			r := httptest.NewRequest(c.method, c.target, strings.NewReader(c.body))
			r.Header.Set("X-Api-Key", key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			status = w.Code
		})
		if n > c.most || status >= 300 {
			t.Errorf("%s: status %d, %v allocations, at most %v", c.what, status, n, c.most)
		}
	}
}
