package rig

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"waybill/server/lab/recorded/schema"
)

// Specification is /openapi.json as a client reads it.
var Specification = map[string]any(schema.Waybill())

// Operations are the document's, by the pattern of their route.
var Operations = schema.Waybill().Operations("paths")

// ErrorKinds are the errors that an entry of the envelope may be.
var ErrorKinds = Object(Specification, "components", "x-errors")

// Object returns a member of a member of the document that is an object; nil where there is none.
func Object(v any, names ...string) map[string]any { return schema.Waybill().Object(v, names...) }

// Resolve returns an object of the document, or the one that its $ref names.
func Resolve(v any) map[string]any { return schema.Waybill().Resolve(v) }

// Elements returns the elements of a list; none where it is none.
func Elements(v any) []any { return schema.Elements(v) }

// Valid checks a value against a schema that stands at a place of the document.
func Valid(s any, at string, v any) *schema.Checker {
	c := &schema.Checker{Doc: schema.Waybill()}
	c.Check(s, at, v, "body")
	return c
}

// written returns a checker of what Waybill wrote.
func written() *schema.Checker { return &schema.Checker{Doc: schema.Waybill(), Ours: true} }

// IsPage reports whether a path is that of a page, which people read: the document does not have it.
func IsPage(path string) bool {
	return path == "/" || path == "/{$}" || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

// documentMux finds the operation of a request as a client's router would.
var documentMux = func() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern := range Operations {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}()

// Told are the places of the document that answers have had, by all transcripts.
var Told = struct {
	sync.Mutex
	Places map[string]bool
}{Places: map[string]bool{}}

// plumbing are headers of the connection and of caches, which a document leaves to HTTP.
var plumbing = []string{"Content-Type", "Content-Length", "Connection", "Cache-Control", "Etag", "Vary",
	"Last-Modified", "Date"}

var legacyPath = regexp.MustCompile(`^/rest/(offers|orders)(/|$)`)

// Undocumented returns what of an answer is not as the document says.
func Undocumented(r *http.Request, w *httptest.ResponseRecorder) []string {
	pattern := ""
	status := strconv.Itoa(w.Code)
	if path.Clean(r.URL.Path) == r.URL.Path {
		_, pattern = documentMux.Handler(r)
	}
	if IsPage(r.URL.Path) && w.Code < http.StatusBadRequest {
		return nil // the tests of pages hold it
	}
	at := "paths/" + pattern + "/responses/" + status
	answer := Object(Operations[pattern], "responses", status)
	other := map[int]string{
		403: "Forbidden",
		404: "NotFound",
		405: "MethodNotAllowed",
		410: "Gone",
	}[w.Code]
	if pattern == "" {
		if legacyPath.MatchString(r.URL.Path) {
			other = "Legacy" + other
		}
		at = "any path"
		answer = Object(Specification, "components", "responses", other)
	}
	if answer == nil {
		return []string{r.Method + " " + r.URL.Path + ": the document has no " + status}
	}
	c := written()
	c.Seen = append(c.Seen, at)
	checkHeaders(c, at, answer, w.Header())
	media, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	content := Object(answer, "content", media)
	var body any = w.Body.String()
	if media == "application/json" {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			fail(c, "body", "is no JSON: %v", err)
		}
	}
	if content == nil {
		fail(c, "body", "is %s, which the document does not have", media)
	} else {
		c.Check(content["schema"], at, body, "body")
	}
	if w.Code >= http.StatusBadRequest {
		CheckErrors(c, answer, at, body)
	}
	if len(c.Problems) == 0 {
		Told.Lock()
		defer Told.Unlock()
		for _, place := range c.Seen {
			Told.Places[place] = true
		}
	}
	var problems []string
	for _, p := range c.Problems {
		problems = append(problems, fmt.Sprint(p))
	}
	return problems
}

// CheckErrors checks that each entry of an envelope is of a kind that the answer may list.
func CheckErrors(c *schema.Checker, answer map[string]any, at string, body any) {
	allowed := map[string]any{"anyOf": Elements(answer["x-errors"])}
	for i, e := range Elements(Object(body)["errors"]) {
		c.Check(allowed, at+"/x-errors", e, fmt.Sprintf("body.errors[%d]", i))
	}
}

// fail notes a problem that no keyword is about, in words.
func fail(c *schema.Checker, place, format string, args ...any) {
	want := fmt.Sprintf(format, args...)
	c.Problems = append(c.Problems, schema.Problem{Place: place, Keyword: "words", Want: want})
}

func checkHeaders(c *schema.Checker, at string, answer map[string]any, header http.Header) {
	documented := Object(answer, "headers")
	for name, h := range documented {
		values := header.Values(name)
		if len(values) == 0 && Object(h)["required"] == true {
			fail(c, "header", "%s is missing", name)
		}
		for _, text := range values {
			var v any = text
			n, err := strconv.ParseFloat(text, 64)
			if err == nil && Object(h, "schema")["type"] == "integer" {
				v = n
			}
			c.Check(Object(h)["schema"], at+"/headers/"+name, v, name)
		}
	}
	for name := range header {
		if documented[name] == nil && documented[http.CanonicalHeaderKey(name)] == nil &&
			!slices.Contains(plumbing, name) {
			fail(c, "header", "%s is not in the document", name)
		}
	}
}

// Migration is a row of the table in the guide of the legacy interface: of a legacy call, and what took its
// place, if anything did.
type Migration struct {
	Old, New      string // method and path
	What          string // tells rows of the same Old apart
	Change        string // what a client has to do besides
	Before, After Example
}

// Example is a call and what is answered; … stands for what is left out.
type Example struct {
	Method, Path, Body string
	Status             int
	Answer             string
}

// Migrations returns the rows of that table.
func Migrations(t testing.TB) (rows []Migration) {
	t.Helper()
	text, err := os.ReadFile(File("server/docs/migration.json"))
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
