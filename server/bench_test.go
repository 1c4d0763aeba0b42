package server

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
)

// benchmark serves one request over and over.
func benchmark(b *testing.B, s *Server, key, target string) {
	r := httptest.NewRequest("GET", target, nil)
	r.Header.Set("x-api-key", key)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, r); w.Code != 200 {
			b.Fatalf("status %d: %s", w.Code, w.Body)
		}
	}
}

func BenchmarkSchedule(b *testing.B) {
	s, key := demoServer(b, Config{})
	benchmark(b, s, key, "/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=14&passengers=2")
}

func BenchmarkScheduleWithChanges(b *testing.B) {
	s, key := demoServer(b, Config{MaxTransfers: 1})
	benchmark(b, s, key, "/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=14&passengers=2")
}

func BenchmarkReadBooking(b *testing.B) {
	s, key := demoServer(b, Config{})
	made := call(b, s, key, "POST", "/v2/bookings", bookingBody(anOffer(b, s, key, bukovel), 2))
	benchmark(b, s, key, "/v2/bookings/"+made.Data.Booking.ID)
}

func BenchmarkOffers(b *testing.B) {
	s, key := demoServer(b, Config{})
	benchmark(b, s, key, "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25&passengers=2")
}

func BenchmarkCreate(b *testing.B) {
	s, key := demoServer(b, Config{})
	importFeed(b, s, feedWith(b, map[string][][2]string{"waybill_buses.txt": {{"bus-zor-11,zorevia,51,", "bus-zor-11,zorevia,1000,"}}}))
	var bodies []string
	for day := range 28 {
		q := fmt.Sprintf("/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate=2027-02-%02d", day+1)
		bodies = append(bodies, bookingBody(call(b, s, key, "GET", q, "").Data.Offers[0].ID, 2))
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			r := httptest.NewRequest("POST", "/v2/bookings", strings.NewReader(bodies[i%len(bodies)]))
			r.Header.Set("x-api-key", key)
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != 201 && w.Code != 409 {
				b.Errorf("status %d: %s", w.Code, w.Body)
			}
		}
	})
}
