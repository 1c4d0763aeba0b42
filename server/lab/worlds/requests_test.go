package worlds

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// kept is a request as a world remembers it.
type kept struct {
	Method, Path, Query string
	Headers             map[string][]string
	Body                *string
	Status              int
}

// requests returns what a world remembers of its requests, those that a query selects.
func (x *control) requests(name, query string) (list []kept) {
	x.t.Helper()
	body := x.call(200, "GET", "/worlds/"+name+"/requests"+query, "").body
	var answer struct{ Data struct{ Requests []kept } }
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		x.t.Fatal(err)
	}
	return answer.Data.Requests
}

// Decision bench.kept: of a request there are the query as it came and the headers, without keys, tokens and
// cookies.
func TestARequestIsKeptWithoutWhatShowsWhoCalls(t *testing.T) {
	x := newControl(t)
	a := x.world("a", Main)
	x.ask("GET", a+"/v2/cities?name=%C3%B6&x=a+b&x", "", "Cookie", "waybill_access=hidden", "Authorization",
		"Bearer hidden", "Proxy-Authorization", "hidden", "X_Api_Key", "hidden", "X-Refresh-Token", "hidden",
		"Idempotency-Key", "pay-1", "User-Agent", "suite")
	x.ask("GET", a+"/v2/reports/files/hidden/hidden", "")
	x.ask("GET", a+"//v2/reports/files/hidden", "")
	body := x.call(200, "GET", "/worlds/a/requests", "").body
	if strings.Contains(body, "hidden") || strings.Contains(body, x.key) {
		t.Error(body)
	}
	list := x.requests("a", "")
	if len(list) != 3 || list[1].Path != "/v2/reports/files/…" || list[2].Path != "//v2/reports/files/…" {
		t.Fatalf("%+v", list)
	}
	want := "map[Accept-Encoding:[gzip] Connection:[close] Idempotency-Key:[pay-1] User-Agent:[suite]]"
	if got := fmt.Sprint(list[0].Headers); got != want || list[0].Query != "name=%C3%B6&x=a+b&x" {
		t.Errorf("%s, %s", got, list[0].Query)
	}
}

// Decision bench.kept: of a body there are the first 4 KiB, whole characters of them, whether somebody has
// read it or not; nothing where it is no text, or signs in.
func TestTheBodyOfARequestIsKept(t *testing.T) {
	x := newControl(t)
	a := x.world("a", Main)
	id := x.book(a)
	long := strings.Repeat("ї", 2047) + "a€b" // the € stands across the 4096th byte
	x.call(200, "PUT", "/worlds/a/faults", `[{"on":"POST /v2/bookings/{id}/book","do":"hangup-before"}]`)
	x.call(204, "DELETE", "/worlds/a/requests", "")
	for _, c := range []struct {
		what, method, path, body string
		kept                     string
		none                     bool
	}{
		{"one that is read", "POST", "/v2/bookings/" + id + "/pay", `{"ticketIds":["ї"]}`, `{"ticketIds":["ї"]}`, false},
		{"one that is too long", "POST", "/v2/bookings", long, strings.Repeat("ї", 2047) + "a", false},
		{"one of 4096 bytes", "POST", "/v2/bookings", strings.Repeat("ї", 2048), strings.Repeat("ї", 2048), false},
		{"one that nobody reads", "POST", "/v2/cities", "unread", "unread", false},
		{"one of a request that a rule ends", "POST", "/v2/bookings/" + id + "/book", `{}`, `{}`, false},
		{"none", "GET", "/v2/cities", "", "", false},
		{"one that is no text", "POST", "/v2/bookings", "\xff\xfe", "", true},
		{"one that ends in half a character", "POST", "/v2/bookings", "a\xd1", "", true},
		{"one that signs in", "POST", "/v2/auth/pre-login", `{"password":"hidden"}`, "", true},
		{"one that would sign in elsewhere", "POST", "/v2/Auth/x", `{"password":"hidden"}`, "", true},
	} {
		x.ask(c.method, a+c.path, c.body)
		list := x.requests("a", "")
		got := list[len(list)-1].Body
		if (got == nil) != c.none || got != nil && *got != c.kept {
			t.Errorf("%s: %.50q", c.what, fmt.Sprint(list[len(list)-1]))
		}
	}
}

// A client that waits to be asked for its body, and is refused without it, is not asked by the bench either.
func TestABodyThatNobodyWantsIsNotAskedFor(t *testing.T) {
	x := newControl(t)
	a := x.world("a", Main)
	r, err := http.NewRequest("POST", a+"/v2/bookings", strings.NewReader("unread"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Expect", "100-continue")
	client := http.Client{
		Transport: &http.Transport{ExpectContinueTimeout: time.Minute},
		Timeout:   20 * time.Second, // a server that waited for the body would answer after 30
	}
	defer client.CloseIdleConnections()
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if list := x.requests("a", ""); resp.StatusCode != 401 || len(list) != 1 || *list[0].Body != "" {
		t.Errorf("%d, %+v", resp.StatusCode, list)
	}
}

// Decision bench.kept: requests are selected by method, path or the path of a route, and partner, and are
// forgotten.
func TestRequestsAreSelectedAndForgotten(t *testing.T) {
	x := newControl(t)
	a := x.world("a", Main)
	id := x.book(a) // with a search
	x.ask("POST", a+"/v2/bookings/"+id+"/pay", "")
	x.ask("GET", a+"/v2/bookings/"+id, "", "x-api-key", "another")
	x.ask("GET", a+"/nowhere", "")
	for query, want := range map[string]int{
		"":                                      5,
		"method=POST":                           2,
		"path=/v2/bookings":                     1,
		"path=/v2/bookings/" + id:               1,
		"path=/v2/bookings/{id}":                1,
		"path=/v2/bookings/":                    0,
		"path=/":                                0,
		"path=/nowhere":                         1,
		"partner=anna":                          4,
		"partner=nobody":                        0,
		"method=POST&partner=anna&":             2,
		"method=GET&path=/v2/bookings/{id}/pay": 0,
		"path=POST+/v2/bookings/{id}/pay":       1,
		"path=&method=get":                      0,
		"status=200":                            5, // no such parameter
	} {
		query = strings.NewReplacer("{", "%7B", "}", "%7D").Replace(query)
		if got := len(x.requests("a", "?"+query)); got != want {
			t.Errorf("%s: %d requests, want %d", query, got, want)
		}
	}
	x.ask("GET", a+"/v2/reports/files/one", "")
	if got := len(x.requests("a", "?path="+url.QueryEscape("/v2/reports/files/…"))); got != 1 {
		t.Errorf("%d requests for files, want 1", got)
	}
	x.call(400, "GET", "/worlds/a/requests?method=GET&method=POST", "")
	x.call(404, "DELETE", "/worlds/b/requests", "")
	x.call(204, "DELETE", "/worlds/a/requests", "")
	if got := x.requests("a", ""); len(got) != 0 {
		t.Errorf("%d are there", len(got))
	}
}
