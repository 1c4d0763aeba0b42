package recorded

import (
	_ "embed"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"waybill/server/lab/recorded/schema"
)

// interfaceText has, in the form of an OpenAPI document, what the interface states about its calls: the
// status of a success, types, and what may be null. A type that it gives for a member, without saying whether
// that may be null, is that type or null here. "answer" is of data, in which all results stand.
//
//go:embed interface.json
var interfaceText []byte

var theInterface = sync.OnceValue(func() schema.Document { return schema.MustRead(interfaceText) })

// hold holds an exchange against the interface, and against what this program answers and takes.
func (x *exchange) hold(contradicts, told *findings) {
	if x.pattern == "" {
		isThere := x.status != http.StatusNotFound && x.status != http.StatusMethodNotAllowed
		if isThere {
			told.add(x, "this program has no such call")
		}
		return
	}
	excluded := map[string]bool{} // places of which the interface has been contradicted
	for _, p := range x.againstInterface() {
		contradicts.add(x, p.say())
		excluded[p.key()] = true
	}
	for _, p := range x.againstOurs() {
		if !excluded[p.key()] {
			told.add(x, p.say())
		}
	}
}

// fault is a mistake in a part of an exchange.
type fault struct {
	place string // of a member, indices of arrays left out; "" is the exchange itself
	what  string
	name  string // of a member that is missing, or should not be there; of a header or parameter
}

func (f fault) key() string { return f.place + " " + f.name }

func (f fault) say() string { return strings.TrimSpace(f.place + " " + f.what) }

// index matches the index of an array in a place.
var index = regexp.MustCompile(`\[[0-9]+\]`)

// faults returns the problems that a checker has found, said without values, each once.
func faults(c *schema.Checker) (list []fault) {
	for _, p := range c.Problems {
		f := fault{shownPlace(p.Place), p.WithoutValue(), p.Name}
		if !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	return list
}

// shownPlace returns a place as it is shown, without the index of an element.
func shownPlace(place string) string {
	place = strings.TrimPrefix(place, "body.")
	if place == "body" {
		place = "the body"
	}
	return index.ReplaceAllString(place, "[]")
}

// againstInterface returns what of an exchange the interface excludes.
func (x *exchange) againstInterface() (list []fault) {
	op := stated()[x.pattern]
	want, _ := op["success"].(string)
	if x.ok() && op != nil {
		if want != "" && strconv.Itoa(x.status) != want && x.status != http.StatusNonAuthoritativeInfo {
			list = append(list, x.statusFault("and the interface has "+want))
		}
		list = append(list, x.takenAgainst(theInterface(), op["query"], op["body"])...)
	}
	if x.isLegacy() {
		return append(list, x.legacyHeaders()...)
	}
	if op == nil || !x.hasBody() || x.answer.lost || x.mayBeAnothers() {
		return list
	}
	if !x.answer.isJSON {
		return append(list, fault{place: "the body", what: "is not JSON"})
	}
	c := &schema.Checker{Doc: theInterface()}
	schemas := theInterface().Object(theInterface(), "components", "schemas")
	switch {
	case x.status >= http.StatusBadRequest:
		c.Check(schemas["Errors"], "", x.answer.value, "body")
	case x.ok():
		c.Check(schemas["Body"], "", x.answer.value, "body")
		if data := theInterface().Object(x.answer.value)["data"]; data != nil {
			c.Check(op["answer"], "", data, "body.data")
		}
	}
	return append(list, faults(c)...)
}

// statusFault says what is wrong with the status.
func (x *exchange) statusFault(why string) fault {
	return fault{what: fmt.Sprintf("status %d, %s", x.status, why), name: "status"}
}

// legacyHeaders returns which headers an answer of the legacy interface lacks (interface, Versioning).
func (x *exchange) legacyHeaders() (list []fault) {
	if !x.ok() || x.pattern == "" || len(x.answer.header) == 0 {
		return nil
	}
	for _, name := range []string{"Deprecation", "Sunset", "Link"} {
		if x.answer.header.Get(name) == "" {
			list = append(list, fault{what: "has no header " + name, name: name})
		}
	}
	return list
}

// hasBody reports whether the answer is one with a body.
func (x *exchange) hasBody() bool {
	isEmpty := x.status == http.StatusNoContent || x.status == http.StatusNotModified
	return x.method != http.MethodHead && !isEmpty
}

// gateways are the statuses that proxies answer by themselves, beside those from 500 on.
var gateways = []int{403, 408, 413, 414, 429, 431}

// mayBeAnothers reports whether an answer may be of a proxy in front of the service, which knows nothing of
// the envelope, and often answers with a page.
func (x *exchange) mayBeAnothers() bool {
	isPage := strings.HasPrefix(x.answer.header.Get("Content-Type"), "text/html")
	isTheirs := isPage && x.status >= 400 || x.status >= 500 || slices.Contains(gateways, x.status)
	return isTheirs && len(x.errors()) == 0
}

// takenAgainst returns what of a request, which was answered with success, a document excludes.
func (x *exchange) takenAgainst(doc schema.Document, query, body any) []fault {
	c := &schema.Checker{Doc: doc}
	for name, s := range doc.Object(query) {
		for _, text := range x.query[name] {
			if text != "" && text != "null" {
				c.Check(s, "", typed(doc, s, text), "parameter "+name)
			}
		}
	}
	if body != nil && x.request.isJSON && len(x.request.body) > 0 {
		c.Check(body, "", x.request.value, "request")
	}
	list := faults(c)
	for i := range list {
		list[i].what += ", but was accepted"
	}
	return list
}

// typed returns the text of a parameter as the value that its schema is about.
func typed(doc schema.Document, s any, text string) any {
	number, err := strconv.ParseFloat(text, 64)
	if err == nil && strings.Contains(fmt.Sprint(doc.Object(s)["type"]), "integer") {
		return number
	}
	return text
}

// againstOurs returns what of an exchange is other than this program has it.
func (x *exchange) againstOurs() []fault {
	if !x.isHeld {
		x.isHeld = true
		x.faults = x.compare()
	}
	return x.faults
}

func (x *exchange) compare() (list []fault) {
	op := ours()[x.pattern]
	known := x.parameters()
	for name := range x.query {
		if known[name] == nil {
			what := "has a parameter that this program does not know, " + schema.Word(name)
			list = append(list, fault{what: what, name: name})
		}
	}
	slices.SortFunc(list, func(a, b fault) int { return strings.Compare(a.what, b.what) })
	answer := schema.Waybill().Object(op, "responses", strconv.Itoa(x.status))
	if answer == nil {
		return append(list, x.statusFault("which this program does not answer"))
	}
	if x.ok() {
		media := schema.Waybill().Object(op, "requestBody", "content", "application/json")
		list = append(list, x.takenAgainst(schema.Waybill(), known, media["schema"])...)
	}
	if !x.hasBody() {
		return list
	}
	if x.answer.lost {
		return append(list, fault{what: "the recording lacks the answer's body: nothing was compared"})
	}
	return append(list, x.bodyAgainstOurs(answer)...)
}

// bodyAgainstOurs returns what of the answer's body is other than in the document.
func (x *exchange) bodyAgainstOurs(answer map[string]any) []fault {
	content := schema.Waybill().Object(answer, "content")
	isJSON := content["application/json"] != nil
	switch {
	case isJSON && !x.answer.isJSON:
		return []fault{{place: "the body", what: "is not JSON"}}
	case !isJSON:
		return nil // a page or a table
	}
	c := &schema.Checker{Doc: schema.Waybill(), Ours: true}
	c.Check(schema.Waybill().Object(content, "application/json")["schema"], "", x.answer.value, "body")
	list := faults(c)
	for i, entry := range x.errors() {
		list = append(list, errorAgainstOurs(answer, entry, fmt.Sprintf("body.errors[%d]", i))...)
	}
	return slices.CompactFunc(list, func(a, b fault) bool { return a == b })
}

// errorCode matches what is surely a code, and no text.
var errorCode = regexp.MustCompile(`^[A-Z][A-Z_]{1,39}$`)

// errorAgainstOurs returns what of an entry of the envelope is other than each error that this program has
// for such an answer: of those with its errorCode the nearest counts.
func errorAgainstOurs(answer map[string]any, entry any, place string) []fault {
	code := textOf(entry, "errorCode")
	var nearest []fault
	var codes []string
	found := false
	for _, kind := range schema.Elements(answer["x-errors"]) {
		kind := schema.Waybill().Resolve(kind)
		known, _ := schema.Waybill().Object(kind, "properties", "errorCode")["const"].(string)
		codes = append(codes, known)
		if known != code {
			continue
		}
		c := &schema.Checker{Doc: schema.Waybill(), Ours: true}
		c.Check(kind, "", entry, place)
		if list := faults(c); !found || len(list) < len(nearest) {
			nearest = list
		}
		found = true
	}
	if found || len(codes) == 0 {
		return nearest
	}
	shown := "is another than "
	if errorCode.MatchString(code) {
		shown = "is " + code + ", not "
	}
	slices.Sort(codes)
	what := shown + strings.Join(slices.Compact(codes), ", ")
	return []fault{{place: shownPlace(place) + ".errorCode", what: what}}
}

// parameters returns the schemas of the parameters of a query that the document has, by name.
func (x *exchange) parameters() map[string]any {
	known := map[string]any{}
	for _, p := range schema.Elements(ours()[x.pattern]["parameters"]) {
		p := schema.Waybill().Resolve(p)
		if name, ok := p["name"].(string); ok && p["in"] == "query" {
			known[name] = p["schema"]
		}
	}
	return known
}
