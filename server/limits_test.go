package server_test

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// Decision bodies.type: a body of exactly 256 KiB is taken, one byte more is 413.
func TestABodyOf256KiBIsTakenAndOneByteMoreIsNot(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	whole := rig.BookingBody(rig.Offer(t, s, key, rig.Bukovel), 1)
	const limit = 262144
	for size, want := range map[int]int{limit: 201, limit + 1: 413} {
		a := rig.Call(t, s, key, "POST", "/v2/bookings", whole+strings.Repeat(" ", size-len(whole)))
		if a.Status != want || want == 413 && a.Errors[0].ErrorCode != "BODY_TOO_LARGE" {
			t.Errorf("%d bytes: %+v, want %d", size, a, want)
		}
	}
}

// Decision bookings.passengers: firstName and lastName have 1–100 characters, not bytes; email and phones are
// valid when given.
func TestAPassengersFieldsAtTheirLimits(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
	for _, test := range []struct {
		field, value string
		status       int
	}{
		{"firstName", strings.Repeat("a", 100), 201},
		{"firstName", strings.Repeat("a", 101), 400},
		{"firstName", strings.Repeat("Ї", 100), 201},
		{"firstName", strings.Repeat("Ї", 101), 400},
		{"firstName", strings.Repeat("𝒜", 100), 201},
		{"firstName", strings.Repeat("𝒜", 101), 400},
		{"lastName", strings.Repeat("a", 100), 201},
		{"lastName", strings.Repeat("a", 101), 400},
		{"phone", "1234", 400},
		{"phone", "12345", 201},
		{"phone", "+1234", 400},
		{"phone", "123456789012345", 201},
		{"phone", "1234567890123456", 400},
		{"phone", "+(123) 456-789-012.345", 201},
		{"phone", "+(123) 456-789-012.3456", 400},
		{"email", "lesia@example", 400},
		{"email", "lesia@example.", 400},
		{"email", "lesia@.example", 400},
		{"email", "lesia.ukrainka@example", 400},
		{"email", "lesia@example.ua", 201},
	} {
		values := map[string]string{
			"firstName": "Lesia",
			"lastName":  "Ukrainka",
			"phone":     "12345",
			"email":     "lesia@example.com",
		}
		values[test.field] = test.value
		body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":[{"firstName":%q,"lastName":%q,"email":%q,"phones":[{"phone":%q}]}]}`,
			offer, values["firstName"], values["lastName"], values["email"], values["phone"])
		a := rig.Call(t, s, key, "POST", "/v2/bookings", body)
		if a.Status != test.status || a.Status == 400 && len(a.Errors) != 1 {
			t.Errorf("%s %q: %+v, want %d", test.field, test.value, a, test.status)
		}
	}
}

// Decision answers.headers: the caller's X-Request-Id comes back if it is at most 128 characters of
// A-Za-z0-9._-, else one of ours.
func TestARequestIDAtItsLimits(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	for id, kept := range map[string]bool{
		strings.Repeat("a", 128): true,
		strings.Repeat("a", 129): false,
		"azAZ09._-":              true,
		"":                       false,
		"a b":                    false,
		"a/b":                    false,
		"a:b":                    false,
		"a@b":                    false,
		"a[b":                    false,
		"a`b":                    false,
		"a{b":                    false,
		"a,b":                    false,
		"aé":                     false,
		"a\tb":                   false,
	} {
		r := httptest.NewRequest("GET", "/livez", nil)
		r.Header.Set("X-Request-Id", id)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if got := w.Header().Get("X-Request-Id"); got == "" || (got == id) != kept {
			t.Errorf("the request id %q came back as %q", id, got)
		}
	}
	r := httptest.NewRequest("GET", "/livez", nil)
	r.Header["X-Request-Id"] = []string{"a", "a"}
	w := httptest.NewRecorder()
	if s.ServeHTTP(w, r); w.Header().Get("X-Request-Id") == "a" {
		t.Error("a request id that was given twice came back")
	}
}
