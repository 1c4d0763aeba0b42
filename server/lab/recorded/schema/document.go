// Package schema holds JSON values against schemas of OpenAPI documents. Two documents are held against: the
// one that this program publishes, [Waybill], and the one of package recorded, which has only what the
// interface itself states.
//
//	op := schema.Waybill().Operations("paths")["GET /v2/cities"]
//	c := schema.Checker{Doc: schema.Waybill()}
//	answer := schema.Waybill().Object(op, "responses", "200", "content", "application/json")
//	c.Check(answer["schema"], "", value, "body")
//	for _, p := range c.Problems { … }
//
// A [Problem] can be said with the value that it is about, as tests do, or without it, where the value is not
// ours to show.
package schema

import (
	"encoding/json"
	"strings"
	"sync"

	"waybill/server/api/reference"
)

// Document is an OpenAPI document, or a part of one, as encoding/json decodes it.
type Document map[string]any

// Waybill returns /openapi.json as a client reads it. It is decoded when it is first asked for, which few
// commands do: each would start 10 ms later.
var Waybill = sync.OnceValue(func() Document { return MustRead(reference.OpenAPI) })

// MustRead decodes a document that is part of the program. It panics where that is not a JSON object.
func MustRead(text []byte) (doc Document) {
	if err := json.Unmarshal(text, &doc); err != nil {
		panic(err)
	}
	return doc
}

// Object returns a member of a member that is an object; nil where there is none.
func (d Document) Object(v any, names ...string) map[string]any {
	for _, name := range names {
		v = d.Resolve(v)[name]
	}
	return d.Resolve(v)
}

// Resolve returns an object, or the one that its $ref names; nil where it is no object.
func (d Document) Resolve(v any) map[string]any {
	if whole, ok := v.(Document); ok {
		return whole
	}
	o, _ := v.(map[string]any)
	if ref, ok := o["$ref"].(string); ok {
		return d.Object(d, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return o
}

// Operations returns the operations of a section of the document, by method and path.
func (d Document) Operations(section string) map[string]map[string]any {
	all := map[string]map[string]any{}
	for path, item := range d.Object(d, section) {
		for method := range d.Resolve(item) {
			if method != "parameters" {
				all[strings.ToUpper(method)+" "+path] = d.Object(item, method)
			}
		}
	}
	return all
}

// Elements returns the elements of a list; none where it is none.
func Elements(v any) []any {
	l, _ := v.([]any)
	return l
}
