package server_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// checkAnswer holds for whatever is asked: JSON, the envelope for errors, never a 500.
func checkAnswer(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	var a struct {
		Data   json.RawMessage
		Errors []struct {
			Message, ErrorCode string
			Details            any
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%v: %q", err, w.Body)
	}
	switch {
	case w.Code >= 500:
		t.Fatalf("status %d: %s", w.Code, w.Body)
	case w.Code >= 400 && (len(a.Errors) == 0 || a.Errors[0].Message == "" || a.Errors[0].ErrorCode == ""):
		t.Fatalf("status %d without the envelope: %s", w.Code, w.Body)
	case w.Code < 400 && a.Data == nil:
		t.Fatalf("status %d without data: %s", w.Code, w.Body)
	}
}

func FuzzQuery(f *testing.F) {
	for _, q := range []string{
		"departureCitySlug=kyiv&arrivalCitySlug=lviv&date=2026-11-21&days=2", "skip=null&take=&name=%ff",
		"departureDate=2026-11-21&departureCityId=kyiv&arrivalCityId=lviv&passengers=2",
		"a=%zz", ";", "date=0000-00-00",
		"departureCitySlug=kyiv&arrivalCitySlug=lviv&date=9999-12-31&days=14",
		"departureCitySlug=kyiv&arrivalCitySlug=lviv&date=0001-01-01",
	} {
		f.Add(q)
	}
	s, key := rig.Demo(f, server.Config{MaxTransfers: 1})
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/v2/offers/schedule", "/v2/offers", "/v2/bookings", "/v2/cities"} {
			r := httptest.NewRequest("GET", path, nil)
			r.URL.RawQuery = query
			r.Header.Set("x-api-key", key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			checkAnswer(t, w)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, p := range []string{"/v2/cities/kyiv", "/v2/stops/%2e%2e",
		"/v2/bookings/AAAAAAAAAAAAAAAAAAAAAA/pay", "//", "/v2/bookings/ü", "/v2/tickets/\x00"} {
		f.Add(p, "POST")
	}
	s, key := rig.Demo(f, server.Config{})
	f.Fuzz(func(t *testing.T, path, method string) {
		r := httptest.NewRequest("GET", "/", strings.NewReader("{}"))
		r.URL = &url.URL{Path: path}
		if r.Method = method; method == "HEAD" {
			return // has no body to check
		}
		r.Header.Set("x-api-key", key)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		checkAnswer(t, w)
	})
}

func FuzzBody(f *testing.F) {
	f.Add(rig.BookingBody("token", 2))
	f.Add(`{"ticketIds":["x"],"orderIds":[]}`)
	f.Add(`{"offerId":"\u0000","currency":"UAH","passengers":[{"firstName":"a","lastName":"b","phones":[{"phone":"12345"}]}]}`)
	s, key := rig.Demo(f, server.Config{})
	token := rig.Offer(f, s, key, rig.Bukovel)
	b := rig.Call(f, s, key, "POST", "/v2/bookings", rig.BookingBody(token, 1)).Data.Booking.ID
	f.Fuzz(func(t *testing.T, body string) {
		body = strings.ReplaceAll(body, "token", token)
		for _, path := range []string{"/v2/bookings", "/v2/bookings/" + b + "/book"} {
			r := httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("x-api-key", key)
			w := httptest.NewRecorder()
			s.ServeHTTP(w, r)
			checkAnswer(t, w)
		}
	})
}
