package bench_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// playSeeded plays a script of requests on a new directory with a frozen clock and a seed, and returns every
// byte of every answer, and of the journal.
func playSeeded(t *testing.T, number uint64, idle time.Duration) (answers, journal string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	s, err := server.Open(server.Config{
		Dir:          dir,
		FS:           rig.Unsynced(dir),
		Lab:          rig.StillFromStart(seed.New(number)),
		MaxTransfers: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewServer(s.Handler())
	defer front.Close()
	var all bytes.Buffer
	do := func(key, method, path, body string, header ...string) string {
		r, err := http.NewRequest(method, front.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "waybill.example" // else the port would be in the cookies' names
		r.Header.Set("x-api-key", key)
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var answer bytes.Buffer
		fmt.Fprintf(&answer, "%s %s: %s\n", method, path, resp.Status)
		resp.Header.Write(&answer)
		answer.ReadFrom(resp.Body)
		all.Write(answer.Bytes())
		time.Sleep(idle)
		return answer.String()
	}
	find := func(pattern, in string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(in)
		if m == nil {
			t.Fatalf("no %s in %s", pattern, in)
		}
		return m[1]
	}
	rig.ImportDemo(t, s)
	key, err := s.Admin.AddPartner("anna", nil)
	if err != nil {
		t.Fatal(err)
	}
	person := auth.Person{Email: "olena@example.com", FirstName: "Olena", LastName: "Pchilka"}
	rig.AddUser(t, s, admin.Self(), person, "correct horse", "zorevia-lines", "ADMIN")
	if idle > 0 { // a probe between requests changes nothing
		front.Client().Get(front.URL + "/readyz")
	}
	offers := "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-25"
	offer := find(`"offers":\[\{"id":"([^"]+)"`, do(key, "GET", offers, ""))
	body := strings.ReplaceAll(rig.BookingBody(offer, 3), `"Ukrainka"`,
		`"Ukrainka","email":"lesia@example.com"`)
	booked := do(key, "POST", "/v2/bookings", body, "Idempotency-Key", "one")
	id := find(`"booking":\{"id":"([^"]+)"`, booked)
	do(key, "GET", "/checkpoint", "")
	do(key, "POST", "/v2/bookings/"+id+"/pay", "", "Idempotency-Key", "two")
	do(key, "GET", "/checkpoint", "")
	do(key, "GET", "/v2/events?wait=1", "")
	do(key, "POST", "/test/clock", `{"advance":"19m59.999s"}`)
	do(key, "POST", "/v2/bookings", body)
	do(key, "POST", "/test/clock", `{"advance":"1ms"}`)
	do(key, "POST", "/v2/bookings", body)
	do(key, "POST", "/test/clock", `{"advance":"20m"}`)
	do(key, "GET", "/v2/bookings", "")
	do(key, "POST", "/v2/bookings/"+id+"/cancel", "")
	token := new(bytes.Buffer)
	act := &admin.Act{
		By:   ledger.By{UID: 1000, User: "olena"},
		Form: map[string][]string{"email": {person.Email}},
		Out:  token,
	}
	if err := s.Admin.Do("idtoken", act); err != nil {
		t.Fatal(err)
	}
	login := do("", "POST", "/v2/auth/idp/login", `{"idToken":"`+strings.TrimSpace(token.String())+`"}`)
	cookie := "waybill_access=" + find(`waybill_access=([^;]+)`, login)
	month := `{"startDate":"2026-11-01T00:00:00Z","endDate":"2026-12-01T00:00:00Z"}`
	do("", "POST", "/v2/reports/company/orders", month, "Cookie", cookie)
	do("", "GET", "/v2/reports/company/orders", "", "Cookie", cookie)
	do(key, "GET", "/checkpoint", "")
	front.Close()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(dir + "/journal/*.jsonl")
	var lines []byte
	for _, name := range append(files, dir+"/FORMAT", dir+"/checkpoint.pub") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, b...)
	}
	return all.String(), string(lines)
}

// Decisions clock.frozen, seed.streams: the same requests in the same order on a frozen clock give the same
// bytes.
func TestASeedGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	answers, journal := playSeeded(t, 42, 0)
	again, sameJournal := playSeeded(t, 42, 30*time.Millisecond)
	diff(t, "answers", answers, again)
	diff(t, "journal", journal, sameJournal)
	if !strings.Contains(answers, `"status":"Completed"`) {
		t.Error("the report is not written when the list is asked for")
	}
	if !strings.Contains(journal, "outbox.sent") {
		t.Error("no message was sent")
	}
	other, otherJournal := playSeeded(t, 43, 0)
	if other == answers || otherJournal == journal {
		t.Error("another seed gives the same bytes")
	}
}

// diff reports the first line in which two texts differ.
func diff(t *testing.T, what, a, b string) {
	t.Helper()
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			t.Errorf("%s: line %d:\n%s\n%s", what, i+1, x[i], y[i])
			return
		}
	}
	if len(x) != len(y) {
		t.Errorf("%s: %d lines and %d", what, len(x), len(y))
	}
}
