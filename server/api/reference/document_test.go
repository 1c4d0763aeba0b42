package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

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
	Samples          []string // calls of curl
}

// outcome is an answer of an operation, and the kinds of errors that it may list.
type outcome struct {
	*node
	Status string
	Errors []*node
}

// document is the document of the interface.
type document struct {
	*node
	Operations []operation
	Errors     []*node // the kinds of errors: what an entry of the envelope is, by errorCode
	Codes      []string
}

// readDocument reads the document /openapi.json.
func readDocument() *document {
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
}

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
				o.Samples = append(o.Samples, curl.At("source").Text())
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
