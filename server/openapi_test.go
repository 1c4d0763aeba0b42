package server

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// operations are the document's, by the pattern of their route.
var operations = operationsOf("paths")

// operationsOf returns the operations of a section of the document, by method and path.
func operationsOf(section string) map[string]map[string]any {
	all := map[string]map[string]any{}
	for path, item := range object(specification, section) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				all[strings.ToUpper(method)+" "+path] = object(item, method)
			}
		}
	}
	return all
}

// errorKinds are the errors that an entry of the envelope may be.
var errorKinds = object(specification, "components", "x-errors")

// isPage reports whether a path is that of a page, which people read: the document does not have it.
func isPage(path string) bool {
	return path == "/" || path == "/{$}" || path == "/docs" || strings.HasPrefix(path, "/docs/")
}

// Every route is either a page or an operation of the document, and every operation is a route: a client that
// is generated from the document has no method that fetches a page.
func TestDocumentHasTheRoutes(t *testing.T) {
	s, _ := demoServer(t, Config{})
	routes := s.routes()
	for pattern := range routes {
		_, path, hasMethod := strings.Cut(pattern, " ")
		if hasMethod && isPage(path) == (operations[pattern] != nil) {
			t.Errorf("%s: a page: %t, in the document: %t", pattern, isPage(path), operations[pattern] != nil)
		}
	}
	ids := map[any]string{}
	for pattern, op := range operations {
		if routes[pattern] == nil {
			t.Errorf("%s is no route", pattern)
		}
		if other := ids[op["operationId"]]; other != "" || op["operationId"] == nil {
			t.Errorf("%s and %s have the operationId %v", pattern, other, op["operationId"])
		}
		ids[op["operationId"]] = pattern
		named := regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(pattern, -1)
		for _, p := range elements(op["parameters"]) {
			if p := resolve(p); p["in"] == "path" {
				named = slices.DeleteFunc(named, func(m []string) bool { return m[1] == p["name"] })
			}
		}
		if len(named) > 0 {
			t.Errorf("%s does not tell of %s", pattern, named)
		}
		// Who may call: the wrapper answers a stranger.
		if routes[pattern] == nil || strings.Contains(pattern, "/v2/auth/") ||
			strings.Contains(pattern, "/rest/") {
			continue
		}
		method, target, _ := strings.Cut(pattern, " ")
		secured := len(op["security"].([]any)) > 0
		w := ask(s, "", method, strings.NewReplacer("{", "", "}", "").Replace(target), "")
		if (w.Code == 401) != secured {
			t.Errorf("%s: a stranger gets %d", pattern, w.Code)
		}
	}
	info := object(specification, "info")
	if specification["openapi"] != "3.1.0" || info["version"] != "7.1.3" {
		t.Error(specification["openapi"], info)
	}
	if license, claimed := info["license"]; claimed {
		t.Errorf("the document claims the license %v; the owner has chosen none", license)
	}
	if !strings.Contains(info["description"].(string), "`/docs`") {
		t.Error("the document does not say where its pages are")
	}
}

func elements(v any) []any {
	l, _ := v.([]any)
	return l
}

// The errorCodes of the code are those of the document.
func TestDocumentHasTheErrorCodes(t *testing.T) {
	told := map[string]bool{}
	listed := map[string]bool{}
	for _, kind := range errorKinds {
		told[object(kind, "properties", "errorCode")["const"].(string)] = true
	}
	field := object(specification, "components", "schemas", "Error", "properties", "errorCode")
	for _, code := range elements(field["examples"]) {
		listed[code.(string)] = true
	}
	if !maps.Equal(told, listed) {
		t.Errorf("the schema Error lists %v, and there are %v", listed, told)
	}
	used := map[string]bool{}
	files, _ := filepath.Glob("*.go")
	rooms, _ := filepath.Glob("*/*/*.go")
	for _, name := range append(files, rooms...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := errorCode(n).(*ast.BasicLit); ok {
				code, _ := strconv.Unquote(lit.Value)
				used[code] = true
			}
			return true
		})
	}
	for code := range told {
		if !used[code] {
			t.Errorf("no answer has the errorCode %s", code)
		}
	}
	for code := range used {
		if !told[code] {
			t.Errorf("the document does not tell of the errorCode %s", code)
		}
	}
	for code := range used {
		if !told[code] {
			t.Errorf("%s is not in the document", code)
		}
	}
}

// errorCode returns what stands for the errorCode in a call that makes an answer of one.
func errorCode(n ast.Node) ast.Expr {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return nil
	}
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident: // in package web
		name = f.Name
	case *ast.SelectorExpr:
		if room, ok := f.X.(*ast.Ident); ok && room.Name == "web" {
			name = f.Sel.Name
		}
	}
	at, ok := map[string]int{"Fail": 1, "FailLater": 1, "Detailed": 1, "ProblemCode": 0, "Complain": 0}[name]
	if !ok || len(call.Args) <= at {
		return nil
	}
	return call.Args[at]
}

// Every example of the document is what its schema says, and every schema uses only keywords that the checker
// knows.
func TestDocumentExamplesAreValid(t *testing.T) {
	examples := 0
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if example, ok := v["example"]; ok && v["schema"] != nil {
				examples++
				if n, ok := example.(float64); ok && object(v, "schema")["type"] != "integer" {
					example = fmt.Sprint(n)
				}
				for _, p := range validWritten(v["schema"], at, example).problems {
					t.Errorf("%s: %s", at, p)
				}
			} else if v["x-errors"] != nil {
				c := &checker{ours: true}
				c.checkErrors(v, at, object(v, "content", "application/json")["example"])
				for _, p := range c.problems {
					t.Errorf("%s: %s", at, p)
				}
			} else if v["content"] != nil && !strings.Contains(at, "/components/") {
				for media, c := range object(v, "content") {
					if object(c)["example"] == nil && media == "application/json" {
						t.Errorf("%s has no example", at)
					}
				}
			}
			for name, x := range v {
				walk(at+"/"+name, x)
			}
		case []any:
			for i, x := range v {
				walk(fmt.Sprint(at, "/", i), x)
			}
		}
	}
	walk("", specification)
	for name, schema := range object(specification, "components", "schemas") {
		for _, x := range []any{nil, "x", 7.0, []any{}, map[string]any{}} {
			for _, p := range valid(schema, name, x).problems {
				if strings.Contains(p, "unknown keyword") {
					t.Error(p)
				}
			}
		}
	}
	if examples < 100 {
		t.Errorf("%d examples", examples)
	}
}

// A schema refuses what it should: the checker is no better than this.
func TestCheckerRefuses(t *testing.T) {
	for _, x := range []string{
		`{"type":"string"} 7`, `{"type":["string","null"]} 7`, `{"type":"integer"} 1.5`, `{"const":"a"} "b"`,
		`{"enum":["a"]} "b"`, `{"required":["a"]} {}`,
		`{"properties":{"a":{"type":"null"}}} {"a":1}`,
		`{"properties":{},"additionalProperties":false} {"a":1}`, `{"items":{"type":"null"}} [1]`,
		`{"oneOf":[{"type":"number"},{"type":"integer"}]} 1`, `{"oneOf":[{"type":"null"}]} 1`,
		`{"anyOf":[{"type":"null"}]} 1`, `{"allOf":[{"type":"integer"},{"type":"null"}]} 1`,
		`{"format":"date-time"} "2026-11-20"`, `{"format":"date"} "2026-02-30"`, `{"format":"uri"} "a"`,
		`{"format":"idn-email"} "a@b"`, `{"pattern":"^a$"} "b"`, `{"minimum":1} 0`,
		`{"maximum":1} 2`, `{"minLength":2} "é"`, `{"maxLength":1} "éé"`, `{"minItems":1} []`,
		`{"maxItems":0} [1]`, `{"$ref":"#/components/schemas/Id"} ""`, `{"never":1} 1`, `true 1`,
	} {
		d := json.NewDecoder(strings.NewReader(x))
		var schema, v any
		if d.Decode(&schema) != nil || d.Decode(&v) != nil {
			t.Fatal(x)
		}
		if len(valid(schema, "", v).problems) == 0 {
			t.Errorf("holds: %s", x)
		}
	}
	named := object(specification, "components", "schemas", "Errors")
	entry := map[string]any{"message": "x", "details": map[string]any{"new": 1.0}}
	unknown := map[string]any{"errors": []any{entry}}
	if len(valid(named, "", unknown).problems) != 0 || len(validWritten(named, "", unknown).problems) != 1 {
		t.Error("a client must take a member that the document does not name; Waybill must not write one")
	}
}

// Answers are open to members that a client does not know, and so are the calls that Waybill makes.
func TestAnswersAreOpen(t *testing.T) {
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				at = ref
				v = resolve(v)
			}
			if v["additionalProperties"] == false {
				t.Errorf("%s is closed", at)
			}
			for name, x := range v {
				walk(at+"/"+name, x)
			}
		case []any:
			for _, x := range v {
				walk(at, x)
			}
		}
	}
	for pattern, op := range operations {
		walk(pattern, op["responses"])
	}
	for name, item := range object(specification, "webhooks") {
		walk(name, item)
	}
	text := object(specification, "info")["description"].(string)
	if !strings.Contains(text, "clients ignore those that they do not know") {
		t.Error("clients are not told to ignore what they do not know")
	}
}

// documentMux finds the operation of a request as a client's router would.
var documentMux = func() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern := range operations {
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
	}
	return mux
}()

// told are the places of the document that answers have had, by all transcripts.
var told = struct {
	sync.Mutex
	places map[string]bool
}{places: map[string]bool{}}

// plumbing are headers of the connection and of caches, which a document leaves to HTTP.
var plumbing = []string{"Content-Type", "Content-Length", "Connection", "Cache-Control", "Etag", "Vary",
	"Last-Modified", "Date"}

var legacyPath = regexp.MustCompile(`^/rest/(offers|orders)(/|$)`)

// undocumented returns what of an answer is not as the document says.
func undocumented(r *http.Request, w *httptest.ResponseRecorder) []string {
	pattern := ""
	status := strconv.Itoa(w.Code)
	if path.Clean(r.URL.Path) == r.URL.Path {
		_, pattern = documentMux.Handler(r)
	}
	if isPage(r.URL.Path) && w.Code < http.StatusBadRequest {
		return nil // the tests of pages hold it
	}
	at := "paths/" + pattern + "/responses/" + status
	answer := object(operations[pattern], "responses", status)
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
		answer = object(specification, "components", "responses", other)
	}
	if answer == nil {
		return []string{r.Method + " " + r.URL.Path + ": the document has no " + status}
	}
	c := &checker{ours: true, seen: []string{at}}
	checkHeaders(c, at, answer, w.Header())
	media, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
	content := object(answer, "content", media)
	var body any = w.Body.String()
	if media == "application/json" {
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			c.fail("body", "is no JSON: %v", err)
		}
	}
	if content == nil {
		c.fail("body", "is %s, which the document does not have", media)
	} else {
		c.check(content["schema"], at, body, "body")
	}
	if w.Code >= http.StatusBadRequest {
		c.checkErrors(answer, at, body)
	}
	if len(c.problems) == 0 {
		told.Lock()
		defer told.Unlock()
		for _, place := range c.seen {
			told.places[place] = true
		}
	}
	return c.problems
}

// checkErrors checks that each entry of an envelope is of a kind that the answer may list.
func (c *checker) checkErrors(answer map[string]any, at string, body any) {
	allowed := map[string]any{"anyOf": elements(answer["x-errors"])}
	for i, e := range elements(object(body)["errors"]) {
		c.check(allowed, at+"/x-errors", e, fmt.Sprintf("body.errors[%d]", i))
	}
}

func checkHeaders(c *checker, at string, answer map[string]any, header http.Header) {
	documented := object(answer, "headers")
	for name, h := range documented {
		values := header.Values(name)
		if len(values) == 0 && object(h)["required"] == true {
			c.fail("header", "%s is missing", name)
		}
		for _, text := range values {
			var v any = text
			n, err := strconv.ParseFloat(text, 64)
			if err == nil && object(h, "schema")["type"] == "integer" {
				v = n
			}
			c.check(object(h)["schema"], at+"/headers/"+name, v, name)
		}
	}
	for name := range header {
		if documented[name] == nil && documented[http.CanonicalHeaderKey(name)] == nil &&
			!slices.Contains(plumbing, name) {
			c.fail("header", "%s is not in the document", name)
		}
	}
}

// untold is what no transcript can show, by how its place begins, and why.
var untold = map[string]string{
	"components/schemas/Permission":                   "a partner is shown none",
	"components/schemas/Phone/properties/messengers/": "none are known",
	"components/schemas/Departure/":                   "the interface allows nulls that no timetable brings forth",
	"components/schemas/Document/":                    "it is the document itself",
	"components/x-errors/BodyTooLargeError":           "TestDocumentHasRareAnswers",
	"components/x-errors/RequestConflictError":        "TestDocumentHasRareAnswers",
	"components/x-errors/UnavailableError":            "TestDocumentHasRareAnswers",
}

// unshown returns which answers, members, nulls and values of the document no transcript has shown.
func unshown() (missing []string) {
	want := map[string]bool{}
	for pattern, op := range operations {
		for status, answer := range object(op, "responses") {
			at := "paths/" + pattern + "/responses/" + status
			if status < "300" {
				want[at] = true
				for _, content := range object(answer, "content") {
					wanted(want, at, object(content)["schema"])
				}
			}
		}
	}
	wanted(want, "components/schemas/Errors", object(specification, "components", "schemas", "Errors"))
	for name, kind := range errorKinds {
		wanted(want, "components/x-errors/"+name, kind)
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		why := func(begin string) bool { return strings.HasPrefix(at, begin) }
		if !told.places[at] && !slices.ContainsFunc(slices.Collect(maps.Keys(untold)), why) {
			missing = append(missing, at)
		}
	}
	return missing
}

// wanted collects what an answer can show of a schema.
func wanted(want map[string]bool, at string, schema any) {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		if at, s = strings.TrimPrefix(ref, "#/"), resolve(s); want[at] {
			return
		}
	}
	want[at] = true
	if slices.Contains(elements(s["type"]), any("null")) || s["type"] == "null" {
		want[at+"=<nil>"] = true
	}
	for _, v := range elements(s["enum"]) {
		want[fmt.Sprint(at, "=", v)] = true
	}
	for name, p := range object(s, "properties") {
		wanted(want, at+"/properties/"+name, p)
	}
	for i, x := range elements(s["oneOf"]) {
		wanted(want, fmt.Sprint(at, "/oneOf/", i), x)
	}
	if s["items"] != nil {
		wanted(want, at+"/items", s["items"])
	}
}
