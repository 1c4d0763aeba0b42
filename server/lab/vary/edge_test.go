package vary_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/lab/vary"
)

// Decision bench.vary: what a server answers follows from the request and the seed, also after a restart; a
// repetition under a key gets the first answer.
func TestTheSameRequestGetsTheSameAnswer(t *testing.T) {
	x := start(t, 3, true)
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`, x.offer(), travellers)
	made := x.hear("POST booking", "POST", "/v2/bookings", body, "Idempotency-Key", "one")
	booking := "/v2/bookings/" + at(made, "data", "booking", "id").(string)
	x.hear("POST pay", "POST", booking+"/pay", "", "Idempotency-Key", "two")
	x.hear("POST pay again", "POST", booking+"/pay", "", "Idempotency-Key", "three")
	read := x.ask("GET", booking, "").Body.String()
	for range 2 {
		if got := x.ask("GET", booking, "").Body.String(); got != read {
			t.Errorf("it is read as\n%s\nand before as\n%s", got, read)
		}
		for i, again := range [][]string{
			{"/v2/bookings", body, "one"},
			{booking + "/pay", "", "two"},
			{booking + "/pay", "", "three"},
		} {
			w := x.ask("POST", again[0], again[1], "Idempotency-Key", again[2])
			first := x.heard[i]
			if w.Code != first.status || w.Body.String() != first.body {
				t.Errorf("%s again: %d %s\nfirst %d %s", first.asked, w.Code, w.Body, first.status,
					first.body)
			}
			if w.Header().Get("Idempotent-Replayed") != "true" {
				t.Errorf("%s again was done again", first.asked)
			}
		}
		if err := x.s.Close(); err != nil {
			t.Fatal(err)
		}
		x.open(0, true)
	}
}

// Decision bench.vary: the directory's seed chooses, and 1 where it has none.
func TestTheSeedChooses(t *testing.T) {
	seen := map[string]bool{}
	for seed, number := range map[uint64]uint64{0: 1, 1: 1, 2: 2} {
		x := start(t, seed, true)
		got := x.ask("GET", "/v2/cities", "").Body.String()
		if err := x.s.Close(); err != nil {
			t.Fatal(err)
		}
		x.open(0, false)
		plain := x.ask("GET", "/v2/cities", "").Body.Bytes()
		if want := string(vary.New(number).Answer(plain)); got != want {
			t.Errorf("seed %d: %s, want %s", seed, got, want)
		}
		seen[got] = true
	}
	if len(seen) != 2 {
		t.Errorf("two seeds have %d answers", len(seen))
	}
}

// Decision bench.vary: the tag of an answer is that of its bytes, and HEAD has the headers of GET.
func TestTagsAndLengthsAreOfWhatIsSent(t *testing.T) {
	plain := start(t, 2, false)
	x := start(t, 2, true)
	const target = "/v2/cities/kyiv"
	w := x.ask("GET", target, "", "Accept-Encoding", "gzip")
	length := fmt.Sprint(w.Body.Len())
	tag := w.Header().Get("Etag")
	if w.Header().Get("Content-Length") != length || w.Header().Get("Content-Encoding") != "" ||
		tag != web.TagOf(w.Body.Bytes()) {
		t.Errorf("%v: %s", w.Header(), w.Body)
	}
	other := plain.ask("GET", target, "").Header().Get("Etag")
	for known, status := range map[string]int{
		tag:             304,
		`"x", W/` + tag: 304,
		"*":             304,
		other:           200,
	} {
		w := x.ask("GET", target, "", "If-None-Match", known)
		bare := w.Body.Len() == 0 && w.Header()["Content-Length"] == nil && w.Header()["Content-Type"] == nil
		if w.Code != status || bare != (status == 304) || w.Header().Get("Etag") != tag {
			t.Errorf("If-None-Match %s: %d %v %s", known, w.Code, w.Header(), w.Body)
		}
	}
	site := httptest.NewServer(x.s.Handler())
	defer site.Close()
	resp, err := http.Head(site.URL + target)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.Header.Get("Content-Length") != length || resp.Header.Get("Etag") != tag {
		t.Errorf("HEAD: %v, want %s bytes", resp.Header, length)
	}
}

// Decision bench.vary: an id comes back with its suffix, or without one, as a paper shows it; never with
// another.
func TestSuffixesAreTakenOff(t *testing.T) {
	x := start(t, 2, true)
	body := fmt.Sprintf(`{"offerId":%q,"currency":"UAH","passengers":%s}`, x.offer(), travellers)
	made := x.hear("POST booking", "POST", "/v2/bookings", body)
	id := at(made, "data", "booking", "id").(string)
	for given, status := range map[string]int{
		id:                                   200,
		id[:22]:                              200,
		fmt.Sprintf("%%%X", id[:1]) + id[1:]: 200,
		id + "x":                             404,
		id[:22] + "x" + id[23:]:              404,
		strings.ToLower(id[:22]) + id[22:]:   404,
	} {
		if w := x.ask("GET", "/v2/bookings/"+given, ""); w.Code != status {
			t.Errorf("%s: %d, want %d", given, w.Code, status)
		}
	}
}

// shown returns an id as a variation shows it.
func shown(t *testing.T, v *vary.Variation, id string) string {
	t.Helper()
	text := string(v.Answer(fmt.Appendf(nil, `{"bookingId":%q}`, id)))
	return at(decode(t, text), "bookingId").(string)
}

// A suffix has 1 to 24 characters, and is taken off in each place where an id may stand. Nothing else of a
// request is changed.
func TestWhatIsTakenOffARequest(t *testing.T) {
	v := vary.New(5)
	lengths := map[int]bool{}
	var long string
	for n := range 1000 {
		id := fmt.Sprintf("id%019dA", n)
		long = shown(t, v, id)
		lengths[len(long)-len(id)] = true
		if !regexp.MustCompile(`^` + id + `[A-Za-z0-9_~-]+$`).MatchString(long) {
			t.Fatal(long)
		}
	}
	if len(lengths) != 24 || lengths[0] || lengths[25] {
		t.Errorf("suffixes have %d lengths", len(lengths))
	}
	bare := long[:22]
	large := `{"ticketIds":["` + long + `"]}` + strings.Repeat(" ", web.MaxBody)
	for _, c := range []struct{ target, body, wantTarget, wantBody string }{
		{"/v2/bookings/" + long + "/pay?x=1", "", "/v2/bookings/" + bare + "/pay?x=1", ""},
		{"/v2/tickets/" + long, "", "/v2/tickets/" + bare, ""},
		{"/v2/reports/company/orders/" + long + "/download", "", "/v2/reports/company/orders/" + bare + "/download", ""},
		{"/rest/orders/" + long, "", "/rest/orders/" + bare, ""},
		{"/v2/events?bookingId=" + long + "&after=3", "", "/v2/events?bookingId=" + bare + "&after=3", ""},
		{"/v2/cities/" + long + "?name=" + long, "", "/v2/cities/" + long + "?name=" + long, ""},
		{"/v2/bookings/a%2Fb/%7e", "", "/v2/bookings/a%2Fb/%7e", ""},
		{"/", `{"ticketIds": ["` + long + `" ,"x"],"orderIds":["` + long + `"]}`,
			"/", `{"ticketIds": ["` + bare + `" ,"x"],"orderIds":["` + bare + `"]}`},
		{"/", `{"ordersIds":["` + long + `"],"status":`, "/", `{"ordersIds":["` + bare + `"],"status":`},
		{"/", `{"firstName":"` + long + `","ticketIds":7}`, "/", `{"firstName":"` + long + `","ticketIds":7}`},
		{"/", large, "/", large},
	} {
		r := httptest.NewRequest("POST", c.target, strings.NewReader(c.body))
		got := v.Request(r)
		body, err := io.ReadAll(got.Body)
		if err != nil || got.URL.String() != c.wantTarget || string(body) != c.wantBody {
			t.Errorf("%s %.99s became %s %.99s (%v), want %s %.99s", c.target, c.body, got.URL, body, err,
				c.wantTarget, c.wantBody)
		}
		if r.URL.String() != c.target {
			t.Errorf("%s itself became %s", c.target, r.URL)
		}
	}
}

// The member that nobody knows has a name that the document has nowhere, in an answer or a request.
func TestNobodyKnowsTheUnknownMember(t *testing.T) {
	document, err := os.ReadFile(rig.File("server/docs/openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	v := vary.New(1)
	names := map[string]bool{}
	for n := range 500 {
		var object map[string]any
		text := v.Answer(fmt.Appendf(nil, `{"id":"%d"}`, n))
		if err := json.Unmarshal(text, &object); err != nil || len(object) != 2 {
			t.Fatalf("%v: %s", err, text)
		}
		for name := range object {
			names[name] = true
		}
	}
	delete(names, "id")
	for name := range names {
		if strings.Contains(string(document), `"`+name+`":`) {
			t.Errorf("the document has %s", name)
		}
	}
	if len(names) < 10 {
		t.Errorf("there are %d names", len(names))
	}
}

// An answer that is no JSON stays as it is.
func TestWhatIsNoJSONStays(t *testing.T) {
	for _, text := range []string{"", "orderId,bookingId\n", `{"data":`} {
		if got := string(vary.New(1).Answer([]byte(text))); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
