package reference

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/server/docs"
	"waybill/server/frame/web"
)

// The interface described by itself: the document /openapi.json, which a test holds against the routes, the
// validators and every answer of the transcripts, and the pages of /docs that are made of it.

// node is a value of the document. Its members are in the order they stand there, which is the interface's.
type node struct {
	Name    string // as a member of an object
	raw     []byte
	text    string // of a string, number, true, false
	members []*node
	target  *node // what a $ref names
}

// Text returns what a string or number says; like all methods, it may be asked of what is not there.
func (n *node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Members returns the members of an object, the elements of an array.
func (n *node) Members() []*node {
	if n == nil {
		return nil
	}
	return n.members
}

// Real returns what a $ref stands for.
func (n *node) Real() *node {
	if n != nil && n.target != nil {
		return n.target
	}
	return n
}

// Ref returns the name of what a $ref stands for; "" where there is none.
func (n *node) Ref() string {
	if n == nil || n.target == nil {
		return ""
	}
	return n.target.Name
}

// At follows names, through $refs, to a member of a member; nil where there is none. What stands beside a
// $ref wins.
func (n *node) At(names ...string) *node {
	for _, name := range names {
		list := slices.Concat(n.Members(), n.Real().Members())
		i := slices.IndexFunc(list, func(m *node) bool {
			return m.Name == name
		})
		if i < 0 {
			return nil
		}
		n = list[i]
	}
	return n
}

// JSON returns the value as it can be shown.
func (n *node) JSON() string {
	var b bytes.Buffer
	json.Indent(&b, n.raw, "", "  ") // it has been read before
	return b.String()
}

// readNode reads a value of the text that a decoder stands in.
func readNode(d *json.Decoder, text []byte, name string) *node {
	n := &node{Name: name}
	start := d.InputOffset()
	token, err := d.Token()
	if err != nil {
		panic(err) // the document is our own
	}
	switch token {
	case json.Delim('{'), json.Delim('['):
		for d.More() {
			name := ""
			if token == json.Delim('{') {
				key, _ := d.Token()
				name = key.(string)
			}
			n.members = append(n.members, readNode(d, text, name))
		}
		d.Token()
	default:
		n.text = fmt.Sprint(token)
	}
	n.raw = bytes.TrimLeft(text[start:d.InputOffset()], " \n:,")
	return n
}

// link finds what each $ref stands for.
func (n *node) link(root *node) {
	for _, m := range n.members {
		if m.Name == "$ref" {
			n.target = root.At(strings.Split(strings.TrimPrefix(m.text, "#/"), "/")...)
		}
		m.link(root)
	}
}

// fieldRow is a field of a schema as a list shows it: Path is data.offers, or passengers[].email.
type fieldRow struct {
	*node
	Path     string
	Required bool
}

// Rows returns the fields of a schema, and of the objects in it that have no name of their own.
func (n *node) Rows(prefix string) (list []fieldRow) {
	required := n.At("required").Members()
	for _, p := range n.At("properties").Members() {
		must := slices.ContainsFunc(required, func(r *node) bool {
			return r.text == p.Name
		})
		list = append(list, fieldRow{p, prefix + p.Name, must})
		items := p.At("items")
		if p.Ref() == "" && items.Ref() == "" {
			list = append(append(list, p.Rows(prefix+p.Name+".")...), items.Rows(prefix+p.Name+"[].")...)
		}
	}
	return list
}

// operation is a method of a path, or a call that Waybill makes.
type operation struct {
	*node
	Method, Path, ID string
	Webhook          bool
	Shared           *node // the parameters of all methods of the path
	Answers          []outcome
	Samples          []sample // the same call in several languages
}

// outcome is an answer of an operation, and the kinds of errors that it may list.
type outcome struct {
	*node
	Status string
	Errors []*node
}

// document is the document of the interface, read once somebody wants a page.
type document struct {
	*node
	Operations []operation
	Errors     []*node // the kinds of errors: what an entry of the envelope is, by errorCode
	Codes      []string
}

// ReadReference reads the document /openapi.json, once.
var ReadReference = sync.OnceValue(func() *document {
	d := json.NewDecoder(bytes.NewReader(OpenAPI))
	d.UseNumber()
	doc := &document{node: readNode(d, OpenAPI, "")}
	doc.link(doc.node)
	doc.addOperations("paths")
	doc.addOperations("webhooks")
	doc.Errors = doc.At("components", "x-errors").Members()
	for _, e := range doc.Errors {
		if code := code(e); !slices.Contains(doc.Codes, code) {
			doc.Codes = append(doc.Codes, code)
		}
	}
	return doc
})

// addOperations adds the operations of a section of the document.
func (doc *document) addOperations(section string) {
	for _, path := range doc.At(section).Members() {
		for _, op := range path.members[1:] { // the first are the parameters that all have
			o := operation{
				node: op,
				Path: path.Name,
				ID:   op.At("operationId").Text(),
			}
			o.Method = strings.ToUpper(op.Name)
			o.Webhook = section == "webhooks"
			o.Shared = path.members[0]
			for _, curl := range op.At("x-codeSamples").Members() {
				o.Samples = append(o.Samples, SamplesOf(curl.At("source").Text())...)
			}
			for _, a := range op.At("responses").Members() {
				o.Answers = append(o.Answers, outcome{a.Real(), a.Name, a.At("x-errors").Members()})
			}
			doc.Operations = append(doc.Operations, o)
		}
	}
}

// code returns the errorCode of a kind of errors.
func code(kind *node) string {
	return kind.At("properties", "errorCode", "const").Text()
}

var (
	OpenAPI, _ = docs.Files.ReadFile("openapi.json")

	// Silences returns the rows of docs/decisions.md, "Where the interface is silent".
	Silences = sync.OnceValue(func() (rows [][3]string) {
		text, _ := docs.Files.ReadFile("silent.json")
		if err := json.Unmarshal(text, &rows); err != nil {
			panic(err)
		}
		return rows
	})

	codeTicks = regexp.MustCompile("`([A-Z]{4,}[A-Z_]*)`")
	ticks     = regexp.MustCompile("`([^`]+)`")
)

// referencePages returns the templates, made when a page is first asked for: a start has no time for them.
var referencePages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"code": code,
		"has": func(list []*node, c string) bool {
			return slices.ContainsFunc(list, func(e *node) bool {
				return code(e) == c
			})
		},
		"prose": func(text string) template.HTML {
			text = codeTicks.ReplaceAllString(template.HTMLEscapeString(text),
				`<a href="/docs/errors/$1"><code>$1</code></a>`)
			return template.HTML(ticks.ReplaceAllString(text, "<code>$1</code>"))
		},
		// In single quotes a shell leaves variables alone: they stand between two such strings.
		"quoted": func(s string) string { return "'" + variables.ReplaceAllString(s, `'$$$1'`) + "'" },
	}).ParseFS(docs.Files, "reference.html", "migration.html"))
})

// GetOpenAPI answers GET /openapi.json.
func (s *Service) GetOpenAPI(w http.ResponseWriter, r *http.Request) error {
	return openAPI().SendTagged(w, r)
}

// Page answers with the page that a template makes of the document, and of the operation or error it is
// about.
func (s *Service) Page(name string) http.HandlerFunc {
	return s.Public(func(w http.ResponseWriter, r *http.Request) error {
		if name == "index" {
			return s.sendIndex(w, r)
		}
		doc := ReadReference()
		id := r.PathValue("operationId")
		code := r.PathValue("code")
		i := slices.IndexFunc(doc.Operations, func(o operation) bool { return o.ID == id })
		if name == "operation" && i < 0 || name == "error" && !slices.Contains(doc.Codes, code) {
			return web.ErrNotFound
		}
		return sendFixed(w, &pages, name+" "+id+code, name, func() map[string]any {
			about := aboutDocument()
			about["Code"] = code
			if i >= 0 {
				about["Operation"] = doc.Operations[i]
			}
			return about
		})
	})
}

// aboutDocument returns what a template needs to show the document.
func aboutDocument() map[string]any {
	return map[string]any{
		"Doc":           ReadReference(),
		"Silences":      Silences(),
		"Limits":        web.LimitTable,
		"Demos":         Demonstrations,
		"DemoPairs":     DemoPairs,
		"DemoCompanies": DemoCompanies,
		"DemoUser":      DemoUser,
		"Texts":         texts(),
	}
}

// sendIndex answers with the page that names the server as its caller knows it, and a day to travel.
func (s *Service) sendIndex(w http.ResponseWriter, r *http.Request) error {
	now, err := s.Now()
	if err != nil {
		return err
	}
	about := aboutDocument()
	about["Base"] = s.address(r)
	about["Date"] = now.AddDate(0, 0, 1).Format(time.DateOnly)
	return sendPage(w, "index", about)
}

// text is a page that people read in the repository, and here as text, but for some that are shown as pages.
type text struct{ Name, Title string }

// Path returns where the page is found.
func (t text) Path() string {
	if slices.Contains(shown, t.Name) {
		return "/docs/" + strings.TrimSuffix(t.Name, ".md")
	}
	return "/docs/" + t.Name
}

// texts lists them, by name.
var texts = sync.OnceValue(func() []text {
	names, _ := fs.Glob(docs.Files, "*.md")
	var list []text
	for _, name := range names {
		page, _ := docs.Files.ReadFile(name)
		first, _, _ := strings.Cut(string(page), "\n")
		list = append(list, text{name, strings.TrimPrefix(first, "# ")})
	}
	return list
})

// GetText answers GET /docs/{page} with a page of server/docs, as it stands in the repository: its links to
// other pages lead to these here.
func (s *Service) GetText(w http.ResponseWriter, r *http.Request) error {
	page := sharedTexts()[r.PathValue("page")]
	if page == nil {
		return web.ErrNotFound
	}
	return page.SendTagged(w, r)
}

// GetHome answers GET /: to a browser with a page that says what this is and where to go on, else with 404 as
// for any path that means nothing (contract §15).
func (s *Service) GetHome(w http.ResponseWriter, r *http.Request) error {
	w.Header().Add("Vary", "Accept")
	if !wantsPage(r.Header) {
		return web.ErrNotFound
	}
	now, err := s.Now()
	if err != nil {
		return err
	}
	return sendPage(w, "home", map[string]any{
		"Doc":       ReadReference(),
		"Base":      s.address(r),
		"TestClock": s.Config.TestClock,
		"Now":       now.Format(time.RFC3339),
	})
}

// wantsPage reports whether a request's header asks for a page, as a browser's does.
func wantsPage(h http.Header) bool {
	for kind := range strings.SplitSeq(strings.Join(h["Accept"], ","), ",") {
		media, parameters, err := mime.ParseMediaType(kind)
		if err != nil || media != "text/html" {
			continue
		}
		weight, wrong := strconv.ParseFloat(cmp.Or(parameters["q"], "1"), 64)
		return wrong == nil && weight > 0
	}
	return false
}

// address returns the server's address as the caller knows it.
func (s *Service) address(r *http.Request) string {
	if s.Secure(r) {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
