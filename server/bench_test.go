package server

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/server/frame/resource"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store"
	"waybill/store/durable"
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
	benchmark(b, s, key,
		"/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=14&passengers=2")
}

func BenchmarkScheduleWithChanges(b *testing.B) {
	s, key := demoServer(b, Config{MaxTransfers: 1})
	benchmark(b, s, key,
		"/v2/offers/schedule?departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=14&passengers=2")
}

func BenchmarkReadBooking(b *testing.B) {
	s, key := demoServer(b, Config{})
	made := call(b, s, key, "POST", "/v2/bookings", bookingBody(anOffer(b, s, key, bukovel), 2))
	benchmark(b, s, key, "/v2/bookings/"+made.Data.Booking.ID)
}

func BenchmarkOffers(b *testing.B) {
	s, key := demoServer(b, Config{})
	benchmark(b, s, key,
		"/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25&passengers=2")
}

func BenchmarkCreate(b *testing.B) {
	s, key := demoServer(b, Config{})
	importFeed(b, s,
		feedWith(b,
			map[string][][2]string{"waybill_buses.txt": {{"bus-zor-11,zorevia,51,",
				"bus-zor-11,zorevia,1000,"}}}))
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

// soldLines returns the lines of 200 bookings for two, on a bus of 1,000 seats.
func soldLines(b testing.TB) (lines []*store.Line) {
	dir := b.TempDir()
	s, key := demoServer(b, Config{Dir: dir})
	importFeed(b, s,
		feedWith(b,
			map[string][][2]string{"waybill_buses.txt": {{"bus-zor-11,zorevia,51,",
				"bus-zor-11,zorevia,1000,"}}}))
	q := "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate=2027-02-02"
	body := bookingBody(call(b, s, key, "GET", q, "").Data.Offers[0].ID, 2)
	for range 200 {
		call(b, s, key, "POST", "/v2/bookings", body)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	_, err := store.Read(durable.Dir(dir), false, func(_ store.Place, l *store.Line) error {
		if l.Type == "booking.created" {
			sold := *l
			sold.Data, sold.Personal = bytes.Clone(l.Data), bytes.Clone(l.Personal)
			lines = append(lines, &sold)
		}
		return nil
	})
	if err != nil || len(lines) != 200 {
		b.Fatal(len(lines), err)
	}
	return lines
}

// BenchmarkLine is per line of a booking for two: written, read, and read and applied, as a start does.
func BenchmarkLine(b *testing.B) {
	lines := soldLines(b)
	replay := func(b *testing.B, do func(*ledger.Keeper, store.Stamp, ledger.Entry)) {
		b.ReportAllocs()
		for b.Loop() {
			j := ledger.NewCodec()
			st := ledger.NewKeeper()
			for _, l := range lines {
				e, err := j.Decode(l.Type, l.Data, l.Personal)
				if err != nil {
					b.Fatal(err)
				}
				do(st, store.Stamp{Seq: l.Seq, Time: l.Time}, e)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(lines)), "ns/line")
	}
	b.Run("decode", func(b *testing.B) { replay(b, func(*ledger.Keeper, store.Stamp, ledger.Entry) {}) })
	b.Run("decode-apply", func(b *testing.B) { replay(b, (*ledger.Keeper).Apply) })
	b.Run("encode", func(b *testing.B) {
		j := ledger.NewCodec()
		last := lines[1]
		if _, err := j.Decode(lines[0].Type, lines[0].Data, lines[0].Personal); err != nil {
			// it has form and run
			b.Fatal(err)
		}
		e, err := j.Decode(last.Type, last.Data, last.Personal)
		if err != nil {
			b.Fatal(err)
		}
		var data, personal []byte
		b.ReportAllocs()
		for b.Loop() {
			_, data, personal = j.Encode(e, data[:0], personal[:0])
		}
		b.SetBytes(int64(len(data) + len(personal)))
	})
}

// BenchmarkWriteBooking is of a booking for two as an answer has it, without HTTP.
func BenchmarkWriteBooking(b *testing.B) {
	st := ledger.NewKeeper()
	j := ledger.NewCodec()
	for _, l := range soldLines(b)[:1] {
		e, err := j.Decode(l.Type, l.Data, l.Personal)
		if err != nil {
			b.Fatal(err)
		}
		st.Apply(store.Stamp{Seq: l.Seq, Time: l.Time}, e)
	}
	sold := st.Bookings.Freeze().At(0)
	res := resource.NewWriter()
	var w wire.Writer
	b.ReportAllocs()
	for b.Loop() {
		w = wire.Writer{B: w.B[:0]}
		res.Booking(&w, "booking", sold, scriptStart)
	}
	b.SetBytes(int64(len(w.B)))
}
