package partner_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/lab/rig"
)

// refusedFor sends a body and returns the messages of the 400 that answers it, and how many bytes the
// answer has.
func refusedFor(t *testing.T, s *server.Server, key, target, body string) (messages []string, size int) {
	t.Helper()
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	var answer struct{ Errors []struct{ Message string } }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 400 {
		t.Fatalf("%s: status %d, %v: %.200s", target, w.Code, err, w.Body)
	}
	for _, e := range answer.Errors {
		messages = append(messages, e.Message)
	}
	return messages, w.Body.Len()
}

// Decision errors.listed: a 400 lists at most 100 problems in at most 64 KiB; the last entry says how many
// more there are.
func TestProblemsOfA400AreBounded(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	missing := func(passengers int) string {
		return `{"offerId":"x","currency":"UAH","passengers":[` + strings.Repeat("{},", passengers-1) + "{}]}"
	}
	numbers := func(n int) string { return `{"ticketIds":[` + strings.Repeat("1,", n-1) + "1]}" }
	wide := func() string { // members that the body must not have, each name as long as it can be
		var members []string
		for i := range 60 {
			members = append(members, fmt.Sprintf(`"%d%s":1`, i, strings.Repeat(`\u0001`, 600)))
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	booking := "/v2/bookings/" + rig.NewBookingID(t, s, key) + "/pay"
	for _, c := range []struct {
		name, target, body string
		entries            int
		last               string
	}{
		{"exactly as many as fit", booking, numbers(100), 100, "ticketIds[99] must be a string"},
		{"one more", booking, numbers(101), 100, "and 2 more problems"},
		{"a thousand ids", booking, numbers(1000), 100, "and 901 more problems"},
		// two each, and the offer
		{"passengers without names", "/v2/bookings", missing(100), 100, "and 102 more problems"},
		{"long names", "/v2/auth/pre-login", wide(), 0, "more problems"},
	} {
		t.Run(c.name, func(t *testing.T) {
			messages, size := refusedFor(t, s, key, c.target, c.body)
			if c.entries > 0 && len(messages) != c.entries || len(messages) > 100 {
				t.Errorf("%d entries, want %d", len(messages), c.entries)
			}
			if last := messages[len(messages)-1]; !strings.HasSuffix(last, c.last) {
				t.Errorf("the last entry is %q, want %q", last, c.last)
			}
			if size > 64<<10 {
				t.Errorf("the answer has %d bytes", size)
			}
		})
	}
}

// Decision errors.listed: the work that a bad body makes grows no faster than the body. Twice as many
// problems allocate about twice as much, not four times.
func TestProblemsAreNotComparedPairwise(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	booking := rig.NewBookingID(t, s, key)
	cost := func(n int) float64 {
		body := `{"ticketIds":[` + strings.Repeat("1,", n-1) + "1]}"
		return testing.AllocsPerRun(3, func() {
			rig.Call(t, s, key, "POST", "/v2/bookings/"+booking+"/pay", body)
		})
	}
	if few, many := cost(10_000), cost(100_000); many > 2*few {
		t.Errorf("10,000 problems take %v allocations, 100,000 take %v", few, many)
	}
}
