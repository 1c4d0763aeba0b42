package reference_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
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

// Decision docs.openapi: the document of a server without a test clock has nothing of it, and leaves nothing
// open; else it is as it stands in the repository.
func TestTheDocumentIsOfThisServer(t *testing.T) {
	plain, _ := rig.Demo(t, server.Config{})
	clocked, _ := rig.Demo(t, server.Config{Lab: rig.TestClock()})
	ask := func(s *server.Server) string {
		return rig.RequestFrom(s, "192.0.2.1:1", "GET", "/openapi.json").Body.String()
	}
	if ask(clocked) != string(reference.OpenAPI) {
		t.Error("with a test clock it is another")
	}
	text := ask(plain)
	doc := schema.MustRead([]byte(text))
	paths := maps.Clone(rig.Object(rig.Specification, "paths"))
	delete(paths, "/test/clock")
	if got := rig.Object(map[string]any(doc), "paths"); !reflect.DeepEqual(got, paths) {
		t.Errorf("it has the paths %q", slices.Sorted(maps.Keys(got)))
	}
	refers := map[string]bool{}
	for _, m := range regexp.MustCompile(`"#/components/schemas/([^"]+)"`).FindAllStringSubmatch(text, -1) {
		refers[m[1]] = true
	}
	there := slices.Sorted(maps.Keys(rig.Object(map[string]any(doc), "components", "schemas")))
	if got := slices.Sorted(maps.Keys(refers)); !slices.Equal(got, there) {
		t.Errorf("it refers to the schemas %q, and has %q", got, there)
	}
	for _, s := range []*server.Server{plain, clocked} { // the pages keep all, and mark these
		page := rig.RequestFrom(s, "192.0.2.1:1", "GET", "/docs").Body.String()
		if n := strings.Count(page, "(only with -test-clock)"); n < 2 {
			t.Errorf("the reference marks %d operations", n)
		}
	}
	at := rig.RequestFrom(plain, "192.0.2.1:1", "GET", "http://127.0.0.1:8080/openapi.json").Body.String()
	for _, name := range []string{"waybill_access", "waybill_refresh"} {
		text = strings.Replace(text, `"name": "`+name, `"name": "`+name+"_8080", 1)
	}
	if at != text {
		t.Error("at a loopback host with a port its cookies have other names than those that are set")
	}
}

// The errorCodes of the code are those of the document.
func TestDocumentHasTheErrorCodes(t *testing.T) {
	told := map[string]bool{}
	listed := map[string]bool{}
	for _, kind := range rig.ErrorKinds {
		told[rig.Object(kind, "properties", "errorCode")["const"].(string)] = true
	}
	field := rig.Object(rig.Specification, "components", "schemas", "Error", "properties", "errorCode")
	for _, code := range rig.Elements(field["examples"]) {
		listed[code.(string)] = true
	}
	if !maps.Equal(told, listed) {
		t.Errorf("the schema Error lists %v, and there are %v", listed, told)
	}
	used := map[string]bool{}
	files, _ := filepath.Glob("../../*.go")
	rooms, _ := filepath.Glob("../../*/*/*.go")
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
				if n, ok := example.(float64); ok && rig.Object(v, "schema")["type"] != "integer" {
					example = fmt.Sprint(n)
				}
				for _, p := range validWritten(v["schema"], at, example).Problems {
					t.Errorf("%s: %s", at, p)
				}
			} else if v["x-errors"] != nil {
				c := &schema.Checker{Doc: schema.Waybill(), Ours: true}
				rig.CheckErrors(c, v, at, rig.Object(v, "content", "application/json")["example"])
				for _, p := range c.Problems {
					t.Errorf("%s: %s", at, p)
				}
			} else if v["content"] != nil && !strings.Contains(at, "/components/") {
				for media, c := range rig.Object(v, "content") {
					if rig.Object(c)["example"] == nil && media == "application/json" {
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
	walk("", rig.Specification)
	for name, schema := range rig.Object(rig.Specification, "components", "schemas") {
		for _, x := range []any{nil, "x", 7.0, []any{}, map[string]any{}} {
			for _, p := range rig.Valid(schema, name, x).Problems {
				if p.Keyword == "unknown keyword" {
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
		if len(rig.Valid(schema, "", v).Problems) == 0 {
			t.Errorf("holds: %s", x)
		}
	}
	named := rig.Object(rig.Specification, "components", "schemas", "Errors")
	entry := map[string]any{"message": "x", "details": map[string]any{"new": 1.0}}
	unknown := map[string]any{"errors": []any{entry}}
	if len(rig.Valid(named, "", unknown).Problems) != 0 ||
		len(validWritten(named, "", unknown).Problems) != 1 {
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
				v = rig.Resolve(v)
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
	for pattern, op := range rig.Operations {
		walk(pattern, op["responses"])
	}
	for name, item := range rig.Object(rig.Specification, "webhooks") {
		walk(name, item)
	}
	text := rig.Object(rig.Specification, "info")["description"].(string)
	if !strings.Contains(text, "clients ignore those that they do not know") {
		t.Error("clients are not told to ignore what they do not know")
	}
}

// validWritten checks a value that Waybill wrote.
func validWritten(s any, at string, v any) *schema.Checker {
	c := &schema.Checker{Doc: schema.Waybill(), Ours: true}
	c.Check(s, at, v, "body")
	return c
}
