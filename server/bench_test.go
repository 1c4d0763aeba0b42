package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/frame/resource"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// benchmark serves one request over and over.
func benchmark(b *testing.B, s *server.Server, key, target string) {
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
	s, key := rig.Demo(b, server.Config{})
	benchmark(b, s, key,
		"/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=14&passengers=2")
}

func BenchmarkScheduleWithChanges(b *testing.B) {
	s, key := rig.Demo(b, server.Config{MaxTransfers: 1})
	benchmark(b, s, key,
		"/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=14&passengers=2")
}

func BenchmarkReadBooking(b *testing.B) {
	s, key := rig.Demo(b, server.Config{})
	made := rig.Call(b, s, key, "POST", "/v2/bookings", rig.BookingBody(rig.Offer(b, s, key, rig.Bukovel), 2))
	benchmark(b, s, key, "/v2/bookings/"+made.Data.Booking.ID)
}

func BenchmarkOffers(b *testing.B) {
	s, key := rig.Demo(b, server.Config{})
	benchmark(b, s, key,
		"/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25&passengers=2")
}

func BenchmarkCreate(b *testing.B) {
	s, key := rig.Demo(b, server.Config{})
	rig.Import(b, s,
		rig.FeedWith(b,
			map[string][][2]string{"waybill_buses.txt": {{"bus-zor-11,zorevia,51,",
				"bus-zor-11,zorevia,1000,"}}}))
	var bodies []string
	for day := range 28 {
		q := fmt.Sprintf("/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate=2027-02-%02d", day+1)
		bodies = append(bodies, rig.BookingBody(rig.Call(b, s, key, "GET", q, "").Data.Offers[0].ID, 2))
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

// BenchmarkWriteBooking is of a booking for two as an answer has it, without HTTP.
func BenchmarkWriteBooking(b *testing.B) {
	st, apply := ledger.NewReplay()
	j := ledger.NewCodec()
	for _, l := range rig.SoldLines(b)[:1] {
		e, err := j.Decode(l.Type, l.Data, l.Personal)
		if err != nil {
			b.Fatal(err)
		}
		if err := apply(l, e); err != nil {
			b.Fatal(err)
		}
	}
	sold := st.Bookings.Freeze().At(0)
	res := resource.NewWriter()
	var w wire.Writer
	b.ReportAllocs()
	for b.Loop() {
		w = wire.Writer{B: w.B[:0]}
		res.Booking(&w, "booking", sold, rig.Start)
	}
	b.SetBytes(int64(len(w.B)))
}

// A server without a test clock has no bench in the way of its requests.
func TestNoBenchWithoutATestClock(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	if h := s.Handler(); h != http.Handler(s) {
		t.Errorf("a %T answers", h)
	}
	if s.ProviderRoom().For(t.Context()) != nil {
		t.Error("somebody is asked about tickets")
	}
}

// BenchmarkHandler shows what the bench costs, and that only a server with a test clock pays it.
func BenchmarkHandler(b *testing.B) {
	for _, c := range []struct {
		name  string
		clock bool
	}{{"production", false}, {"test clock", true}} {
		b.Run(c.name, func(b *testing.B) {
			lab := rig.NoClock()
			if c.clock {
				lab = rig.TestClock()
			}
			s, err := server.Open(server.Config{Dir: b.TempDir(), Lab: lab})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			h := s.Handler()
			for b.Loop() {
				h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/v2/cities/kyiv", nil))
			}
		})
	}
}
