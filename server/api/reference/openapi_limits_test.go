package reference_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// Every query parameter is bounded by the server as the document says: what is just inside passes, what is
// just outside is 400, and its default is what is done without it.
func TestParametersAreAsDocumented(t *testing.T) {
	v := rig.NewVisitor(t)
	for pattern, op := range rig.Operations {
		method, path := v.Target(pattern)
		base := url.Values{}
		query := slices.DeleteFunc(slices.Clone(rig.Elements(op["parameters"])), func(p any) bool {
			return rig.Resolve(p)["in"] != "query"
		})
		for _, p := range query {
			if x := rig.Resolve(p)["example"]; x != nil {
				base.Set(fmt.Sprint(rig.Resolve(p)["name"]), fmt.Sprint(x))
			}
		}
		with := func(name string, values ...string) *httptest.ResponseRecorder {
			q := maps.Clone(base)
			if q[name] = values; values == nil {
				delete(q, name)
			}
			return v.Ask(method, path+"?"+q.Encode(), "")
		}
		// legacy dates
		refused := func(w *httptest.ResponseRecorder) bool { return w.Code == 400 || w.Code == 500 }
		for _, p := range query {
			p := rig.Resolve(p)
			name := p["name"].(string)
			schema := rig.Object(p, "schema")
			for _, text := range candidates(schema) {
				bad := len(rig.Valid(schema, "", typed(schema, text)).Problems) > 0
				if refused(with(name, text)) != bad {
					t.Errorf("%s: %s=%s: refused by the document: %t, by the server: %t", pattern, name, text,
						bad, !bad)
				}
			}
			needed := p["required"] == true || strings.Contains(p["description"].(string), "Required without")
			for _, x := range rig.Elements(schema["enum"]) { // and no others
				w := with(name, "none of them")
				if !strings.Contains(w.Body.String(), x.(string)) ||
					strings.Count(w.Body.String(), ", ") != len(rig.Elements(schema["enum"]))-1 {
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
	for _, x := range rig.Elements(schema["enum"]) {
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
	for pattern, op := range rig.Operations {
		content := rig.Object(op, "requestBody", "content", "application/json")
		if content == nil {
			continue
		}
		t.Run(strings.ReplaceAll(pattern, "/", "."), func(t *testing.T) {
			t.Parallel()
			v := rig.NewVisitor(t)
			method, path := v.Target(pattern)
			example, _ := json.Marshal(content["example"])
			for _, name := range []string{"offerId", "idToken"} { // a token of ours stands for the document's
				example = regexp.MustCompile(`("`+name+`":")[^"]*`).ReplaceAll(example,
					[]byte("${1}$$"+map[string]string{
						"offerId": "OFFER",
						"idToken": "TOKEN",
					}[name]))
			}
			bodies := []string{v.Fill(string(example))}
			var doc any
			json.Unmarshal([]byte(bodies[0]), &doc)
			vary(content["schema"], doc, func(x any) { doc = x }, func() {
				b, _ := json.Marshal(doc)
				bodies = append(bodies, string(b))
			})
			for _, body := range bodies {
				var x any
				json.Unmarshal([]byte(body), &x)
				problems := rig.Valid(content["schema"], "", x).Problems
				if strings.Contains(pattern, "/auth/") {
					v.SignIn() // the call before may have ended it
				}
				if w := v.Ask(method, path, body); (w.Code == 400) != (len(problems) > 0) {
					t.Errorf("%s: %d %s\nby the document: %s", body, w.Code, w.Body, problems)
				}
			}
			w := v.Ask(method, path, "")
			if (w.Code == 400) != (rig.Object(op, "requestBody")["required"] == true) {
				t.Errorf("without a body: %d", w.Code)
			}
		})
	}
}

// vary puts values just inside and just outside of its schema in each place of a document in turn.
func vary(schema, value any, set func(any), try func()) {
	s := rig.Resolve(schema)
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
		for _, x := range rig.Elements(s["enum"]) {
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
		for name, p := range rig.Object(s, "properties") {
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
	v := rig.NewVisitor(t)
	if w := v.Ask("POST", "/v2/bookings", strings.Repeat(" ", web.MaxBody+1)); w.Code != 413 {
		t.Error(w.Code)
	}
	v.S.Reporting.Lock() // so that the report waits
	v.Find("POST", "/v2/reports/company/orders",
		`{"startDate":"2026-11-20T00:00:00Z","endDate":"2026-11-21T00:00:00Z"}`, `"report":{"id":"([^"]+)"`,
		"REPORT")
	if w := v.Ask("GET", "/v2/reports/company/orders/$REPORT/download", ""); w.Code != 409 {
		t.Error(w.Code)
	}
	v.S.Reporting.Unlock()
	for pattern := range rig.Operations {
		method, path := v.Target(pattern)
		r := httptest.NewRequest(method, v.Fill(path), nil)
		w := httptest.NewRecorder()
		server.Unavailable(server.Config{}).ServeHTTP(w, r)
		if problems := rig.Undocumented(r, w); len(problems) > 0 || w.Code != 503 && path != "/livez" {
			t.Errorf("%s: %d %s", pattern, w.Code, problems)
		}
	}
}
