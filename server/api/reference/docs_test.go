package reference_test

import (
	"encoding/json"
	"html"
	"maps"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waybill/server"
	"waybill/server/api/reference"
	"waybill/server/lab/recorded/schema"
	"waybill/server/lab/rig"
)

// The pages of the reference need nothing but themselves, can be read without seeing them, and lead
// everywhere: each link to a page and to a place in it holds, and every operation, errorCode, object and
// field has its place.
func TestReferencePages(t *testing.T) {
	t.Parallel()
	s, _ := rig.Demo(t, server.Config{})
	pages := map[string]string{}
	todo := []string{"/docs"}
	var links [][2]string
	for len(todo) > 0 {
		target := todo[0]
		todo = todo[1:]
		if _, done := pages[target]; done {
			continue
		}
		r := httptest.NewRequest("GET", target, nil)
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Errorf("%s: %d", target, w.Code)
		}
		pages[target] = w.Body.String()
		if target == "/openapi.json" || strings.HasSuffix(target, ".md") || strings.HasSuffix(target, ".py") {
			continue // it is no page of HTML
		}
		if w.Header().Get("Content-Security-Policy") != reference.PagePolicy ||
			w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) {
			t.Errorf("%s: %v", target, w.Header())
		}
		checkPage(t, target, pages[target])
		for _, m := range regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(pages[target], -1) {
			if strings.HasPrefix(m[1], "data:") || strings.HasPrefix(m[1], "https:") {
				continue // the icon, or a page of somebody else's that a reader may go to
			}
			page, place, _ := strings.Cut(m[1], "#")
			if page == "" {
				page = target
			}
			todo = append(todo, page)
			links = append(links, [2]string{page, place})
		}
	}
	for _, l := range links {
		if l[1] != "" && !strings.Contains(pages[l[0]], ` id="`+l[1]+`"`) {
			t.Errorf("%s has no %s", l[0], l[1])
		}
	}
	var all strings.Builder
	for target, page := range pages {
		if strings.HasPrefix(target, "/docs/operations/") {
			all.WriteString(page)
		}
	}
	variable := regexp.MustCompile(`(?:process\.env;|os\.Getenv\(&#34;)([A-Z]+)`)
	for _, m := range variable.FindAllStringSubmatch(all.String(), -1) {
		if !regexp.MustCompile(`\nexport [A-Z ]*\b` + m[1] + `\b`).MatchString(pages["/docs"]) {
			t.Errorf("the examples in other languages read %s, which the first page does not export", m[1])
		}
	}
	everything := schema.Waybill().Operations("webhooks")
	maps.Copy(everything, rig.Operations)
	for pattern, op := range everything {
		page := html.UnescapeString(pages["/docs/operations/"+op["operationId"].(string)])
		for _, want := range append(mustTell(op), strings.Fields(strings.ReplaceAll(pattern, "{$}", ""))...) {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page does not tell of %s", pattern, want)
			}
		}
	}
	for name, schema := range rig.Object(rig.Specification, "components", "schemas") {
		mustHave(t, name, schema, pages["/docs/objects"])
	}
	for name, kind := range rig.ErrorKinds {
		code := rig.Object(kind, "properties", "errorCode")["const"].(string)
		mustHave(t, name, kind, pages["/docs/errors/"+code])
		mustHave(t, name, rig.Object(kind, "properties", "details"), pages["/docs/errors/"+code])
	}
	if strings.Count(pages["/docs/states"], "<svg viewBox=\"0 0 320") != 2 || pages["/docs/migration"] == "" {
		t.Error("the states have no drawings, or nothing leads to the migration guide")
	}
}

// mustHave checks that a page has the fields of a schema.
func mustHave(t *testing.T, name string, schema any, page string) {
	for field := range rig.Object(schema, "properties") {
		alone := "<code>" + field + "</code>"
		inside := "<code>details." + field + "</code>"
		if !strings.Contains(page, alone) && !strings.Contains(page, inside) {
			t.Errorf("%s: the page does not have %s", name, field)
		}
	}
}

// mustTell is what the page of an operation must tell: its texts, parameters, statuses, headers and example.
func mustTell(op map[string]any) (want []string) {
	want = append(want, op["summary"].(string))
	for _, sample := range rig.Elements(op["x-codeSamples"]) {
		want = append(want, rig.Object(sample)["source"].(string))
	}
	for _, p := range rig.Elements(op["parameters"]) {
		p := rig.Resolve(p)
		want = append(want, "<code>"+p["name"].(string)+"</code>")
		for _, bound := range []string{"minimum", "maximum", "default"} {
			if n, ok := rig.Object(p, "schema")[bound].(float64); ok {
				want = append(want, strconv.Itoa(int(n)))
			}
		}
	}
	for status, a := range rig.Object(op, "responses") {
		want = append(want, ">"+status+"<")
		for name := range rig.Object(a, "headers") {
			if status < "300" {
				want = append(want, "<code>"+name+"</code>")
			}
		}
	}
	return want
}

// checkPage checks what holds for every page.
func checkPage(t *testing.T, target, page string) {
	page = strings.ReplaceAll(page, `<a href="https://`, `<a href="`)
	for _, foreign := range []string{"<script", "http://", "https://", "//", " on", "@import", "url(",
		"style=",
		"<img", "<iframe", `<form method="post`} {
		tag := regexp.MustCompile(`<[^>]*` + regexp.QuoteMeta(foreign) + `[^>]*>`).FindString(page)
		if tag != "" && strings.HasPrefix(tag, foreign) == (foreign[0] == '<') {
			t.Errorf("%s has %s", target, tag)
		}
	}
	parts := map[string]int{
		`<html lang="en">`: 1,
		"<title>":          1,
		"<h1":              1,
		"<main":            1,
		"{{":               0,
		"<no value>":       0,
		"ZgotmplZ":         0,
	}
	for want, times := range parts {
		if got := strings.Count(page, want); got != times && (target != "/docs/migration" || times > 0) {
			t.Errorf("%s has %s %d times", target, want, got)
		}
	}
	level := 0
	for _, h := range regexp.MustCompile(`<h(\d)`).FindAllStringSubmatch(page, -1) {
		n, _ := strconv.Atoi(h[1])
		if n > level+1 {
			t.Errorf("%s: an h%d comes after an h%d", target, n, level)
		}
		level = n
	}
	var open []string
	for _, tag := range regexp.MustCompile(`<(/?)([a-z]+\d?)[^>]*?(/?)>`).FindAllStringSubmatch(page, -1) {
		switch {
		case slices.Contains([]string{"meta", "link", "input", "br"}, tag[2]) || tag[3] == "/":
		case tag[1] == "":
			open = append(open, tag[2])
		case len(open) == 0 || open[len(open)-1] != tag[2]:
			t.Fatalf("%s: %s closes %v", target, tag[0], open)
		default:
			open = open[:len(open)-1]
		}
	}
	ids := regexp.MustCompile(` id="([^"]*)"`).FindAllString(page, -1)
	if slices.Sort(ids); len(slices.Compact(slices.Clone(ids))) != len(ids) {
		t.Errorf("%s: an id is given twice: %s", target, ids)
	}
	skip := strings.Contains(page, `class="skip" href="#main"`) && strings.Contains(page, `<main id="main"`)
	if !skip && target != "/docs/migration" {
		t.Errorf("%s has no skip link", target)
	}
}

// Text can be told from what is behind it, in light and in dark: 4.5 to 1, as WCAG has it for small letters.
func TestPagesHaveContrast(t *testing.T) {
	schemes := regexp.MustCompile(`:root {([^}]*)}`).FindAllStringSubmatch(string(reference.Style), -1)
	if len(schemes) != 2 {
		t.Fatalf("%d color schemes", len(schemes))
	}
	for _, scheme := range schemes {
		light := map[string]float64{}
		for _, m := range regexp.MustCompile(`--(\w+): #(\w{6})`).FindAllStringSubmatch(scheme[1], -1) {
			for i, share := range []float64{.2126, .7152, .0722} {
				c, err := strconv.ParseUint(m[2][2*i:2*i+2], 16, 8)
				if err != nil {
					t.Fatal(err)
				}
				light[m[1]] += share * math.Pow((float64(c)/255+.055)/1.055, 2.4)
			}
		}
		behind := map[string][]string{
			"ink": strings.Fields("paper soft held asked booked paid lapsed canceled refunded"),
			"dim": {"paper", "soft"}, "mark": {"paper", "soft"}, "grave": {"paper", "soft"},
		}
		for ink, papers := range behind {
			for _, paper := range papers {
				a := light[ink]
				b := light[paper]
				if ratio := (max(a, b) + .05) / (min(a, b) + .05); a == 0 || b == 0 || ratio < 4.5 {
					t.Errorf("%s on %s: %.1f to 1", ink, paper, ratio)
				}
			}
		}
	}
}

// "Where the interface is silent" has a row for each of decisions.md.
func TestSilencesAreTheDecisions(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	decisions, err := os.ReadFile("../../docs/decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(string(decisions), "\n| `")
	page := get(s, "/docs/silent", "").Body.String()
	if shown := strings.Count(page, "<dt>"); shown != rows || rows < 50 {
		t.Errorf("the page has %d rows, and decisions.md %d", shown, rows)
	}
}

// The pages of server/docs are shown as text, each by the index, and what is no page is not there.
func TestPagesAreShownAsText(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{})
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(names) < 10 {
		t.Fatalf("%v, %v", names, err)
	}
	index := get(s, "/docs", "").Body.String()
	for _, name := range names {
		target := "/docs/" + filepath.Base(name)
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got := get(s, target, "")
		kind := got.Header().Get("Content-Type")
		if got.Code != 200 || got.Body.String() != string(want) || kind != "text/plain; charset=utf-8" {
			t.Errorf("%s is answered with %d, %s", target, got.Code, kind)
		}
		linked := strings.TrimSuffix(target, ".md")
		if linked == "/docs/decisions" {
			linked = "/docs/silent"
		}
		if !strings.Contains(index, `href="`+linked+`"`) {
			t.Errorf("the index does not name %s", linked)
		}
		if again := get(s, target, got.Header().Get("Etag")); again.Code != 304 {
			t.Errorf("%s is answered with %d to who has it", target, again.Code)
		}
	}
	for _, target := range []string{"/docs/none.md", "/docs/openapi.json", "/docs/..%2fREADME.md"} {
		if code := get(s, target, "").Code; code != 404 {
			t.Errorf("%s is answered with %d", target, code)
		}
	}
}

// readJSON reads a file that has JSON.
func readJSON[T any](t *testing.T, file string) (value T) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(file, err)
	}
	return value
}

// get asks for a page, unless it is what tag says.
func get(s *server.Server, target, tag string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", target, nil)
	r.Header.Set("If-None-Match", tag)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Decision pages.ukrainian: where ?lang=uk asks for a page that is there in Ukrainian, that is the answer. It
// leads to the other language. Any other language, and any other page, is the English one.
func TestPagesInUkrainian(t *testing.T) {
	t.Parallel()
	s, _ := rig.Demo(t, server.Config{})
	for _, c := range []struct{ path, language, has string }{
		{"/docs/auditing?lang=uk", "uk", `<h1>Для аудиторів</h1>`},
		{"/docs/auditing?lang=uk", "uk", `href="/docs/auditing" hreflang="en"`},
		{"/docs/auditing", "en", `href="/docs/auditing?lang=uk" hreflang="uk"`},
		{"/docs/auditing?lang=pl", "en", `<h1>For auditors</h1>`},
		{"/docs/journal?lang=uk", "en", `<h1>The journal`},
		{"/docs/readme?lang=uk", "uk", `href="/docs/auditing?lang=uk"`},
		{"/docs/readme", "en", `href="/docs/readme?lang=uk" hreflang="uk"`},
		{"/docs/uk/auditing.md", "uk", "# Для аудиторів"},
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		if w.Code != 200 || w.Header().Get("Content-Language") != c.language ||
			!strings.Contains(w.Body.String(), c.has) {
			t.Errorf("%s: %d, in %q, has no %s", c.path, w.Code, w.Header().Get("Content-Language"), c.has)
		}
	}
}
