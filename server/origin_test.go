package server_test

import (
	"bytes"
	"cmp"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/rig"
)

// Without -cors-origin no page of another origin may read anything; with it only pages of these may, without
// cookies.
func TestOnlyPagesOfTheConfiguredOriginsMayCall(t *testing.T) {
	closed, key := rig.Demo(t, server.Config{})
	open, openKey := rig.Demo(t, server.Config{Origins: []string{"https://shop.example.com",
		"http://localhost:3000"}})
	for _, c := range []struct {
		server      *server.Server
		key, origin string
		allowed     bool
	}{
		{closed, key, "https://shop.example.com", false},
		{open, openKey, "https://shop.example.com", true},
		{open, openKey, "http://localhost:3000", true},
		{open, openKey, "http://shop.example.com", false},
		{open, openKey, "https://shop.example.com.evil.example", false},
		{open, openKey, "null", false},
		{open, openKey, "", false},
	} {
		for _, target := range []string{"/v2/bookings", "/v2/bookings/unknown", "/nowhere"} {
			w := rig.RequestFrom(c.server, "192.0.2.1:1", "GET", target, "Origin: "+c.origin,
				"x-api-key: "+c.key)
			h := w.Header()
			got := h.Get("Access-Control-Allow-Origin")
			if (got != "") != c.allowed || c.allowed &&
				got != c.origin || h.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%s for %q: %v", target, c.origin, h)
			}
			if (h.Get("Vary") == "Origin") != (c.server == open) {
				t.Errorf("Vary: %q", h.Get("Vary"))
			}
			if exposed := h.Get("Access-Control-Expose-Headers"); c.allowed &&
				exposed != "Waybill-Seq, X-Request-Id, Idempotent-Replayed, Retry-After, Allow, ETag, "+
					"Deprecation, Sunset, Link" {
				t.Errorf("exposed: %q", exposed)
			}
		}
		w := rig.RequestFrom(c.server, "192.0.2.1:1", "OPTIONS", "/v2/bookings", "Origin: "+c.origin,
			"Access-Control-Request-Method: POST",
			"Access-Control-Request-Headers: content-type,traceparent,x-api-key")
		h := w.Header()
		if c.allowed &&
			(w.Code != 204 || w.Body.Len() > 0 ||
				!strings.Contains(h.Get("Access-Control-Allow-Methods"), "POST") ||
				h.Get("Access-Control-Allow-Headers") != "content-type,traceparent,x-api-key" ||
				h.Get("X-Request-Id") == "") {
			t.Errorf("the question beforehand for %q: %d %v", c.origin, w.Code, h)
		}
		if !c.allowed && (w.Code != 405 || h.Get("Access-Control-Allow-Methods") != "") {
			t.Errorf("the question beforehand for %q: %d %v", c.origin, w.Code, h)
		}
	}
	w := rig.RequestFrom(open, "192.0.2.1:1", "OPTIONS", "/v2/bookings", "Origin: https://shop.example.com")
	if w.Code != 405 {
		t.Errorf("OPTIONS that is no question beforehand: %d", w.Code)
	}
}

// Decisions answers.tags, probes.open: what is refused before there is a server, and while it drains and
// another takes its place, has what all answers have; it is logged, and counted by the server that comes.
func TestWhatIsRefusedBeforeTheServerIsThere(t *testing.T) {
	const shop = "https://shop.example.com"
	var logged bytes.Buffer
	cfg := server.Config{
		Dir:     t.TempDir(),
		Log:     slog.New(slog.NewTextHandler(&logged, nil)),
		Origins: []string{shop},
		Lab:     rig.NoClock(),
	}
	f, err := front.Listen(cfg, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ask := func(method, path string) (*http.Response, string) {
		t.Helper()
		r, _ := http.NewRequest(method, f.URL+path, nil)
		r.Header.Set("Origin", shop)
		r.Header.Set("Access-Control-Request-Method", "GET")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp, string(body)
	}
	refused := func(when string) {
		t.Helper()
		for method, want := range map[string]int{"OPTIONS": 204, "GET": 503} {
			resp, _ := ask(method, "/v2/cities")
			h := resp.Header
			if resp.StatusCode != want || h.Get("Access-Control-Allow-Origin") != shop ||
				h.Get("Vary") != "Origin" || h.Get("X-Request-Id") == "" {
				t.Errorf("%s: %s %d %v", when, method, resp.StatusCode, h)
			}
		}
	}
	counted := func(when string) {
		t.Helper()
		rig.Eventually(t, when, func() bool {
			_, body := ask("GET", "/metrics")
			return strings.Contains(body, "waybill_http_requests_total{route=\"/\",status=\"503\"} 1\n")
		})
	}
	refused("before it is open")
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	f.Serve()
	counted("the first is counted")
	if err := f.Replace(cfg, func() error {
		refused("while another takes its place")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	counted("the second is counted")
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(logged.String(), "route=/ status=503"); n != 2 {
		t.Errorf("%d refusals are logged\n%s", n, &logged)
	}
}

// Cities and stops have an ETag: who has the same already gets 304 and no body, who has another the whole.
func TestReferenceDataIsSentOnceToWhoKeepsIt(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	for _, target := range []string{"/v2/cities", "/v2/cities?country=PL", "/v2/cities/kyiv",
		"/v2/stops/kyiv-central"} {
		first := rig.RequestFrom(s, "192.0.2.1:1", "GET", target)
		tag := first.Header().Get("ETag")
		if first.Code != 200 || !regexp.MustCompile(`^"[0-9a-f]{32}"$`).MatchString(tag) ||
			first.Header().Get("Content-Length") == "" {
			t.Fatalf("%s: %d %v", target, first.Code, first.Header())
		}
		for known, want := range map[string]int{
			tag:                    304,
			`W/` + tag:             304,
			`"x", ` + tag:          304,
			"*":                    304,
			`"x"`:                  200,
			strings.Trim(tag, `"`): 200,
			"":                     200,
		} {
			w := rig.RequestFrom(s, "192.0.2.1:1", "GET", target, "If-None-Match: "+known)
			if w.Code != want || w.Header().Get("ETag") != tag || (w.Body.Len() == 0) != (want == 304) {
				t.Errorf("%s, If-None-Match %s: %d %v", target, known, w.Code, w.Header())
			}
		}
		if w := rig.RequestFrom(s, "192.0.2.1:1", "GET", "/v2/cities/lviv"); w.Header().Get("ETag") == tag {
			t.Error("two answers have one tag")
		}
	}
	w := rig.RequestFrom(s, "192.0.2.1:1", "GET", "/v2/cities/nowhere", "If-None-Match: *")
	if w.Code != 404 || w.Header().Get("ETag") != "" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	before := rig.RequestFrom(s, "192.0.2.1:1", "GET", "/v2/cities/kyiv").Header().Get("ETag")
	rig.Import(t, s, rig.FeedWith(t, map[string][][2]string{"areas.txt": {{",Kyiv,", ",Kyjiv,"}}}))
	if w := rig.RequestFrom(s, "192.0.2.1:1", "GET", "/v2/cities/kyiv",
		"If-None-Match: "+before); w.Code != 200 {
		t.Errorf("after an import: %d", w.Code)
	}
}

// No cache keeps what may hold personal data: the answers of every route with a key or a session, and of
// those that sign in. Nor does it keep a refusal. What else is public it may keep.
func TestNoCacheKeepsPersonalData(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	public := regexp.MustCompile(`^GET /({|v2/(offers/schedule|cities|stops|reports/files)|docs|checkpoint|metrics|test|livez|readyz|healthz|openapi)|^POST /test`)
	for pattern := range s.Routes() {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method = "GET"
			path = pattern
		}
		for _, k := range []string{key, ""} {
			w := rig.RequestFrom(s, "192.0.2.1:1", method, path, "x-api-key: "+k)
			mayKeep := public.MatchString(pattern) && w.Code < 400
			if got := w.Header().Get("Cache-Control"); (got != "no-store") != mayKeep {
				t.Errorf("%s: %d, Cache-Control %q", pattern, w.Code, got)
			}
		}
	}
}

// refusals are requests that are refused, whatever else they are.
var refusals = []struct {
	name    string
	headers []string
	body    string
	method  string // "" is the route's
	path    string // after the route's
}{
	{name: "without a key"},
	{name: "with a wrong key", headers: []string{"x-api-key: wrong"}},
	{name: "from elsewhere", headers: []string{"Sec-Fetch-Site: cross-site"}},
	{name: "with a body of another type", headers: []string{"Content-Type: text/xml"}, body: "<a/>"},
	{name: "with a broken body", body: "{"},
	{name: "with a large body", body: `"` + strings.Repeat("a", web.MaxBody) + `"`},
	{name: "with a wrong parameter", path: "?take=x&skip=x&days=x&language=x&departureCitySlug=x"},
	{name: "with another method", method: "DELETE"},
	{name: "without a route", path: "/no/such/thing"},
	{name: "with a path that is not clean", path: "//"},
}

// No cache keeps a refusal, of whatever route and kind: it is of its instant, or of who has asked.
func TestNoCacheKeepsARefusal(t *testing.T) {
	v := rig.NewVisitor(t)
	limited, _ := rig.Demo(t, server.Config{Rate: web.Rate{PerSecond: 1, Burst: 1}})
	rig.RequestFrom(limited, "192.0.2.1:1", "GET", "/docs")
	faults := bench.New(bench.Settings{TestClock: true, Watch: true})
	faulty, _ := rig.Demo(t, server.Config{Lab: faults.Lab()})
	if err := faults.SetFaults([]byte(`[{"on":"*","do":"status","status":418}]`)); err != nil {
		t.Fatal(err)
	}
	closed, _ := rig.Demo(t, server.Config{})
	closed.Close()

	seen := map[int]int{}
	look := func(what string, w *httptest.ResponseRecorder) {
		seen[w.Code]++
		if got := w.Header().Get("Cache-Control"); w.Code >= 400 && got != "no-store" {
			t.Errorf("%s: %d, Cache-Control %q", what, w.Code, got)
		}
	}
	for pattern := range v.S.Routes() {
		method, path, ok := strings.Cut(pattern, " ")
		if !ok {
			method = "GET"
			path = pattern
		}
		filled := path
		if ok {
			_, filled = v.Target(pattern)
		}
		filled = v.Fill(filled)
		for name, s := range map[string]http.Handler{
			"beyond the rate":       limited,
			"with a fault":          faulty.Handler(),
			"closed":                closed,
			"starting or draining":  server.Unavailable(server.Config{}),
			"nothing that there is": v.S,
		} {
			asked := filled
			if name == "nothing that there is" {
				asked = strings.NewReplacer("{", "", "}", "").Replace(path)
			}
			look(pattern+" "+name, rig.RequestFrom(s, "192.0.2.1:1", method, asked, "x-api-key: "+v.Key))
		}
		for _, c := range refusals {
			r := httptest.NewRequest(cmp.Or(c.method, method), filled+c.path, strings.NewReader(c.body))
			if c.name != "without a key" {
				r.Header.Set("x-api-key", v.Key)
				for _, cookie := range v.Cookies {
					r.AddCookie(cookie)
				}
			}
			for _, h := range c.headers {
				key, value, _ := strings.Cut(h, ": ")
				r.Header.Set(key, value)
			}
			w := httptest.NewRecorder()
			v.S.ServeHTTP(w, r)
			look(pattern+" "+c.name, w)
		}
	}
	for _, status := range []int{400, 401, 403, 404, 405, 409, 413, 415, 418, 429, 503} {
		if seen[status] == 0 {
			t.Errorf("no refusal was a %d", status)
		}
	}
}

// An unsafe request that a page from elsewhere has a browser make is 403, on every route that needs no API
// key: with the cookies of who is signed in, and where there is nothing to show, as to move the test clock.
// The journal has no line of it. Pages that -cors-origin names call with a key, and are from elsewhere all
// the same.
func TestAnUnsafeRequestFromElsewhereIsRefused(t *testing.T) {
	dir := t.TempDir()
	v := rig.NewVisitorOn(t, dir)
	v.S.Core.Config.Origins = []string{"https://shop.example.com"}
	before := rig.JournalText(t, dir)
	asked := 0
	for pattern := range v.S.Routes() {
		method, path, _ := strings.Cut(pattern, " ")
		withKey := strings.HasPrefix(path, "/v2/bookings") || strings.HasPrefix(path, "/rest/")
		if method == "GET" || path == "" || withKey {
			continue
		}
		asked++
		_, path = v.Target(pattern)
		for _, elsewhere := range []string{
			"Origin: https://evil.example.com",
			"Origin: https://shop.example.com",
			"Origin: null",
			"Sec-Fetch-Site: cross-site",
			"Sec-Fetch-Site: same-site",
		} {
			headers := []string{elsewhere}
			for _, c := range v.Cookies {
				headers = append(headers, "Cookie: "+c.Name+"="+c.Value)
			}
			w := rig.RequestFrom(v.S, "192.0.2.1:1", method, v.Fill(path), headers...)
			if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), "AUTH_NO_ACCESS") {
				t.Errorf("%s, %s: %d %s", pattern, elsewhere, w.Code, w.Body)
			}
		}
	}
	const routes = 7 // pre-login, login, refresh, logout; a report, a toggle; the clock
	if asked != routes {
		t.Errorf("%d routes were asked, want %d", asked, routes)
	}
	if after := rig.JournalText(t, dir); after != before {
		t.Errorf("the journal has more: %s", strings.TrimPrefix(after, before))
	}
}

// The process shows itself on the admin socket only.
func TestProfilesAreOnTheAdminSocketOnly(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	for path, want := range map[string]string{
		"/debug/pprof/":                  "goroutine",
		"/debug/pprof/goroutine?debug=1": "goroutine profile",
		"/debug/vars":                    "memstats",
	} {
		w := httptest.NewRecorder()
		s.Admin.Handler().ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s on the socket: %d", path, w.Code)
		}
		if w := rig.RequestFrom(s, "127.0.0.1:1", "GET", path); w.Code != http.StatusNotFound {
			t.Errorf("%s for everybody: %d", path, w.Code)
		}
	}
}
