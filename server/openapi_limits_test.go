package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/operate/admin"
)

// visitor calls a server as a partner and a company's user at once, and knows what the document's parameters
// stand for.
type visitor struct {
	t       *testing.T
	s       *Server
	dir     string
	key     string
	cookies []*http.Cookie
	names   map[string]string // OFFER and the like
}

func newVisitor(t *testing.T) *visitor { return newVisitorOn(t, t.TempDir()) }

func newVisitorOn(t *testing.T, dir string) *visitor {
	s, key := demoServer(t, Config{Dir: dir, TestClock: true})
	v := &visitor{
		t:     t,
		s:     s,
		dir:   dir,
		key:   key,
		names: map[string]string{"DATE": "2026-11-22", "PASSWORD": "correct-horse"},
	}
	v.admin("user-add", "email", "demo@example.com", "first-name", "Demo", "last-name", "User", "password",
		v.names["PASSWORD"], "company", "zorevia-lines", "role", "ADMIN")
	v.names["TOKEN"] = v.admin("idtoken", "email", "demo@example.com")
	v.find("GET", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=2026-11-22", "",
		`"offers":\[{"id":"([^"]+)"`, "OFFER")
	v.find("POST", "/v2/bookings",
		`{"offerId":"$OFFER","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`,
		`"id":"([^"]+)".*"tickets":\[{"id":"([^"]+)"`, "BOOKING", "TICKET")
	v.signIn()
	v.find("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`, `"report":{"id":"([^"]+)"`,
		"REPORT")
	writeReports(t, s)
	v.find("GET", "/v2/reports/company/orders/$REPORT/download", "", `http://example.com(/[^"]+/([^"]+))"`,
		"LINK", "FILE")
	return v
}

// writeReports has the reports written that are queued.
func writeReports(t *testing.T, s *Server) {
	t.Helper()
	s.Settle()
	if n := queuedReports(t, s); n > 0 {
		t.Fatalf("%d reports could not be written", n)
	}
}

// queuedReports returns how many reports are to be written.
func queuedReports(t *testing.T, s *Server) (n int) {
	t.Helper()
	err := s.Store.View(func(st ledger.State, _ time.Time) { n = len(st.Reports.Queued()) })
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (v *visitor) signIn() {
	v.cookies = v.ask("POST", "/v2/auth/idp/login", `{"idToken":"$TOKEN"}`).Result().Cookies()
}

func (v *visitor) admin(op string, pairs ...string) string {
	form := url.Values{}
	out := new(bytes.Buffer)
	for pair := range slices.Chunk(pairs, 2) {
		form.Set(pair[0], pair[1])
	}
	if err := v.s.Admin.Do(op, &admin.Act{Form: form, Out: out}); err != nil {
		v.t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func (v *visitor) fill(text string) string {
	for name, value := range v.names {
		text = strings.ReplaceAll(text, "$"+name, value)
	}
	return text
}

func (v *visitor) ask(method, target, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, v.fill(target), strings.NewReader(v.fill(body)))
	r.Header.Set("x-api-key", v.key)
	for _, c := range v.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	v.s.ServeHTTP(w, r)
	for _, problem := range undocumented(r, w) {
		v.t.Errorf("%s %s: not as the document says: %s", method, target, problem)
	}
	return w
}

// find keeps what an answer has, by name.
func (v *visitor) find(method, target, body, expression string, names ...string) {
	w := v.ask(method, target, body)
	found := regexp.MustCompile(expression).FindStringSubmatch(w.Body.String())
	if found == nil {
		v.t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
	for i, name := range names {
		v.names[name] = found[i+1]
	}
}

// target returns an operation's method and path.
func (v *visitor) target(pattern string) (method, path string) {
	method, path, _ = strings.Cut(pattern, " ")
	id := "$BOOKING"
	for part, name := range map[string]string{
		"/rest/":    "$TICKET",
		"/tickets/": "$TICKET",
		"/reports/": "$REPORT",
		"/stops/":   "kyiv-central-1",
	} {
		if strings.Contains(path, part) {
			id = name
		}
	}
	return method, strings.NewReplacer("{id}", id, "{slug}", "kyiv", "{token}", "$FILE", "{fmsObjectId}",
		"fms-zor-02").Replace(path)
}

// Every query parameter is bounded by the server as the document says: what is just inside passes, what is
// just outside is 400, and its default is what is done without it.
func TestParametersAreAsDocumented(t *testing.T) {
	v := newVisitor(t)
	for pattern, op := range operations {
		method, path := v.target(pattern)
		base := url.Values{}
		query := slices.DeleteFunc(slices.Clone(elements(op["parameters"])), func(p any) bool {
			return resolve(p)["in"] != "query"
		})
		for _, p := range query {
			if x := resolve(p)["example"]; x != nil {
				base.Set(fmt.Sprint(resolve(p)["name"]), fmt.Sprint(x))
			}
		}
		with := func(name string, values ...string) *httptest.ResponseRecorder {
			q := maps.Clone(base)
			if q[name] = values; values == nil {
				delete(q, name)
			}
			return v.ask(method, path+"?"+q.Encode(), "")
		}
		// legacy dates
		refused := func(w *httptest.ResponseRecorder) bool { return w.Code == 400 || w.Code == 500 }
		for _, p := range query {
			p := resolve(p)
			name := p["name"].(string)
			schema := object(p, "schema")
			for _, text := range candidates(schema) {
				bad := len(valid(schema, "", typed(schema, text)).problems) > 0
				if refused(with(name, text)) != bad {
					t.Errorf("%s: %s=%s: refused by the document: %t, by the server: %t", pattern, name, text,
						bad, !bad)
				}
			}
			needed := p["required"] == true || strings.Contains(p["description"].(string), "Required without")
			for _, x := range elements(schema["enum"]) { // and no others
				w := with(name, "none of them")
				if !strings.Contains(w.Body.String(), x.(string)) ||
					strings.Count(w.Body.String(), ", ") != len(elements(schema["enum"]))-1 {
					t.Errorf("%s: %s is not one of these only: %s", pattern, name, w.Body)
				}
			}
			absent := with(name)
			if refused(absent) != needed || refused(with(name, "")) != needed ||
				!refused(with(name, "1", "1")) {
				t.Errorf("%s: %s: absent, empty or given twice", pattern, name)
			}
			d := schema["default"]
			if d != nil && with(name, fmt.Sprint(d)).Body.String() != absent.Body.String() {
				t.Errorf("%s: %s: the default is not %v", pattern, name, d)
			}
		}
		if len(query) > 0 && refused(with("unknown", "1")) {
			t.Errorf("%s: an unknown parameter is refused", pattern)
		}
	}
}

// candidates are values just inside and just outside of what a parameter's schema allows.
func candidates(schema map[string]any) (list []string) {
	for _, bound := range []string{"minimum", "maximum"} {
		if limit, ok := schema[bound].(float64); ok {
			list = append(list, strconv.Itoa(int(limit)-1), strconv.Itoa(int(limit)),
				strconv.Itoa(int(limit)+1), "x", "1.5", "+1", "1e1")
		}
	}
	if least, ok := schema["minLength"].(float64); ok {
		list = append(list, strings.Repeat("k", int(least)))
		if least > 1 { // an empty value is none
			list = append(list, strings.Repeat("k", int(least)-1), strings.Repeat("é", int(least)-1))
		}
	}
	for _, x := range elements(schema["enum"]) {
		list = append(list, x.(string), strings.ToLower(x.(string)), x.(string)+"X")
	}
	if schema["format"] == "date" {
		list = append(list, "2026-11-22", "2028-02-29", "2026-02-29", "2026-2-3", "20261122",
			"2026-11-22T00:00:00Z", "x")
	}
	return list
}

// typed returns a parameter's text as the value that its schema is about.
func typed(schema map[string]any, text string) any {
	whole := regexp.MustCompile(`^-?[0-9]+$`).MatchString(text)
	if n, err := strconv.ParseFloat(text, 64); schema["minimum"] != nil && err == nil && whole {
		return n
	}
	return text
}

// Every body is refused by the server, with 400, where the document's schema refuses it, and nowhere else.
func TestBodiesAreAsDocumented(t *testing.T) {
	t.Parallel()
	for pattern, op := range operations {
		content := object(op, "requestBody", "content", "application/json")
		if content == nil {
			continue
		}
		t.Run(strings.ReplaceAll(pattern, "/", "."), func(t *testing.T) {
			t.Parallel()
			v := newVisitor(t)
			method, path := v.target(pattern)
			example, _ := json.Marshal(content["example"])
			for _, name := range []string{"offerId", "idToken"} { // a token of ours stands for the document's
				example = regexp.MustCompile(`("`+name+`":")[^"]*`).ReplaceAll(example,
					[]byte("${1}$$"+map[string]string{
						"offerId": "OFFER",
						"idToken": "TOKEN",
					}[name]))
			}
			bodies := []string{v.fill(string(example))}
			var doc any
			json.Unmarshal([]byte(bodies[0]), &doc)
			vary(content["schema"], doc, func(x any) { doc = x }, func() {
				b, _ := json.Marshal(doc)
				bodies = append(bodies, string(b))
			})
			for _, body := range bodies {
				var x any
				json.Unmarshal([]byte(body), &x)
				problems := valid(content["schema"], "", x).problems
				if strings.Contains(pattern, "/auth/") {
					v.signIn() // the call before may have ended it
				}
				if w := v.ask(method, path, body); (w.Code == 400) != (len(problems) > 0) {
					t.Errorf("%s: %d %s\nby the document: %s", body, w.Code, w.Body, problems)
				}
			}
			w := v.ask(method, path, "")
			if (w.Code == 400) != (object(op, "requestBody")["required"] == true) {
				t.Errorf("without a body: %d", w.Code)
			}
		})
	}
}

// vary puts values just inside and just outside of its schema in each place of a document in turn.
func vary(schema, value any, set func(any), try func()) {
	s := resolve(schema)
	put := func(list ...any) {
		for _, x := range list {
			set(x)
			try()
		}
		set(value)
	}
	put(nil, 7.0, true, []any{7.0}, "")
	switch value := value.(type) {
	case string:
		for _, x := range elements(s["enum"]) {
			put(x, x.(string)+"X")
		}
		if most, ok := s["maxLength"].(float64); ok {
			put(strings.Repeat("7", int(most)), strings.Repeat("ї", int(most)),
				strings.Repeat("ї", int(most)+1), "1234", "12345", "+38 (044) 123.45-67",
				"1234567890123456", "123456789012345", "   ", "a\u0007", "a\u0085", "a@b", "a@b.c", "a@b@c.d",
				"x", strings.Repeat("a", int(most)-4)+"@b.c", strings.Repeat("a", int(most)-3)+"@b.c")
		}
		if s["format"] == "date-time" {
			put(time.DateOnly, "2026-11-20T08:30:00Z", "2026-11-20T10:30:00.5+02:00", "2026-02-30T00:00:00Z",
				"2026-11-20T08:30:00", "x")
		}
		if s["pattern"] != nil {
			put("uah", "UAHX", "-1s", "1d")
		}
	case []any:
		put([]any{})
		if len(value) > 0 {
			vary(s["items"], value[0], func(x any) { value[0] = x }, try)
		}
	case map[string]any:
		value["unknown"] = 1.0
		try()
		delete(value, "unknown")
		for name, p := range object(s, "properties") {
			was, given := value[name]
			delete(value, name)
			value[strings.ToUpper(name)] = was
			try()
			delete(value, strings.ToUpper(name))
			try()
			value[name] = 7.0
			try()
			if delete(value, name); given {
				value[name] = was
				vary(p, was, func(x any) { value[name] = x }, try)
			}
		}
	}
}

// What no transcript shows is as the document says too.
func TestDocumentHasRareAnswers(t *testing.T) {
	v := newVisitor(t)
	if w := v.ask("POST", "/v2/bookings", strings.Repeat(" ", web.MaxBody+1)); w.Code != 413 {
		t.Error(w.Code)
	}
	v.s.Reporting.Lock() // so that the report waits
	v.find("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`, `"report":{"id":"([^"]+)"`,
		"REPORT")
	if w := v.ask("GET", "/v2/reports/company/orders/$REPORT/download", ""); w.Code != 409 {
		t.Error(w.Code)
	}
	v.s.Reporting.Unlock()
	for pattern := range operations {
		method, path := v.target(pattern)
		r := httptest.NewRequest(method, v.fill(path), nil)
		w := httptest.NewRecorder()
		Unavailable(w, r)
		if problems := undocumented(r, w); len(problems) > 0 || w.Code != 503 && path != "/livez" {
			t.Errorf("%s: %d %s", pattern, w.Code, problems)
		}
	}
}
