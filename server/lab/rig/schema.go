package rig

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"waybill/server/api/reference"
)

// Specification is /openapi.json as a client reads it.
var Specification = func() map[string]any {
	var doc map[string]any
	if err := json.Unmarshal(reference.OpenAPI, &doc); err != nil {
		panic(err)
	}
	return doc
}()

// Object returns a member of a member that is an object; nil where there is none.
func Object(v any, names ...string) map[string]any {
	for _, name := range names {
		v = Resolve(v)[name]
	}
	return Resolve(v)
}

// Resolve returns an object, or the one that its $ref names.
func Resolve(v any) map[string]any {
	o, _ := v.(map[string]any)
	if ref, ok := o["$ref"].(string); ok {
		return Object(Specification, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return o
}

// Checker holds a value against a schema, strictly: a keyword that it does not know is a problem.
type Checker struct {
	Ours     bool // Waybill wrote the value: a member that the document does not name is a problem
	Problems []string
	seen     []string // the places of the schemas that held, with what stood there
}

func (c *Checker) fail(place, format string, args ...any) {
	c.Problems = append(c.Problems, place+" "+fmt.Sprintf(format, args...))
}

// Valid checks a value against a schema that stands at a place of the document.
func Valid(schema any, at string, v any) *Checker {
	c := new(Checker)
	c.check(schema, at, v, "body")
	return c
}

// ValidWritten checks a value that Waybill wrote.
func ValidWritten(schema any, at string, v any) *Checker {
	c := &Checker{Ours: true}
	c.check(schema, at, v, "body")
	return c
}

// named checks that an object has only members that its schema names, or leaves open on purpose.
func (c *Checker) named(s map[string]any, v any, place string) {
	properties, listed := s["properties"].(map[string]any)
	members, _ := v.(map[string]any)
	for name := range members {
		if listed && properties[name] == nil && s["additionalProperties"] != true {
			c.fail(place, "has the member %s, which the document does not name", name)
		}
	}
}

func (c *Checker) check(schema any, at string, v any, place string) {
	s, ok := schema.(map[string]any)
	if !ok {
		c.fail(place, "has a schema that is no object, at %s", at)
		return
	}
	c.seen = append(c.seen, at)
	if _, listed := s["enum"]; v == nil || listed {
		c.seen = append(c.seen, fmt.Sprint(at, "=", v))
	}
	for keyword, arg := range s {
		if !c.scalar(keyword, arg, v, place) && !c.compound(s, keyword, arg, at, v, place) {
			c.fail(place, "has a schema with the unknown keyword %s, at %s", keyword, at)
		}
	}
	if c.Ours {
		c.named(s, v, place)
	}
}

// scalar checks a keyword about a value by itself; false: it is none.
func (c *Checker) scalar(keyword string, arg, v any, place string) bool {
	text, isText := v.(string)
	number, isNumber := v.(float64)
	list, isList := v.([]any)
	limit, _ := arg.(float64)
	bad := false
	switch keyword {
	case "description", "deprecated", "default", "example", "examples":
	case "type":
		types, several := arg.([]any)
		if !several {
			types = []any{arg}
		}
		bad = !slices.ContainsFunc(types, func(t any) bool { return isOf(t, v) })
	case "const":
		bad = v != arg
	case "enum":
		bad = !slices.ContainsFunc(arg.([]any), func(x any) bool { return reflect.DeepEqual(x, v) })
	case "pattern":
		bad = isText && !pattern(arg.(string)).MatchString(text)
	case "format":
		bad = isText && !formats[arg.(string)](text)
	case "minLength":
		bad = isText && utf8.RuneCountInString(text) < int(limit)
	case "maxLength":
		bad = isText && utf8.RuneCountInString(text) > int(limit)
	case "minimum":
		bad = isNumber && number < limit
	case "maximum":
		bad = isNumber && number > limit
	case "minItems":
		bad = isList && len(list) < int(limit)
	case "maxItems":
		bad = isList && len(list) > int(limit)
	default:
		return false
	}
	if bad {
		shown, _ := json.Marshal(v)
		c.fail(place, "is %.200s, against %s %v", shown, keyword, arg)
	}
	return true
}

// compound checks a keyword that holds further schemas; false: it is none.
func (c *Checker) compound(s map[string]any, keyword string, arg any, at string, v any, place string) bool {
	members, isObject := v.(map[string]any)
	list, _ := v.([]any)
	switch keyword {
	case "$ref":
		c.check(Resolve(s), strings.TrimPrefix(arg.(string), "#/"), v, place)
	case "properties":
		for name, p := range arg.(map[string]any) {
			if x, given := members[name]; given {
				c.check(p, at+"/properties/"+name, x, place+"."+name)
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, given := members[name.(string)]; isObject && !given {
				c.fail(place, "has no %s", name)
			}
		}
	case "additionalProperties":
		for name := range members {
			if _, known := Object(s, "properties")[name]; !known && arg == false {
				c.fail(place, "has an undeclared %s", name)
			}
		}
	case "maxProperties":
		if float64(len(members)) > arg.(float64) {
			c.fail(place, "has %d members, at most %v", len(members), arg)
		}
	case "items":
		for i, x := range list {
			c.check(arg, at+"/items", x, fmt.Sprintf("%s[%d]", place, i))
		}
	case "oneOf", "anyOf", "allOf":
		c.branches(keyword, arg.([]any), at, v, place)
	default:
		return false
	}
	return true
}

// branches checks a value against each of several schemas.
func (c *Checker) branches(keyword string, schemas []any, at string, v any, place string) {
	held := 0
	var why []string
	for i, s := range schemas {
		branch := &Checker{Ours: c.Ours}
		branch.check(s, fmt.Sprintf("%s/%s/%d", at, keyword, i), v, place)
		if why = append(why, branch.Problems...); len(branch.Problems) == 0 {
			held++
			c.seen = append(c.seen, branch.seen...)
		}
	}
	want := map[string]bool{
		"oneOf": held == 1,
		"anyOf": held > 0,
		"allOf": held == len(schemas),
	}
	if !want[keyword] {
		c.fail(place, "holds for %d of %s: %s", held, keyword, strings.Join(why, "; "))
	}
}

func isOf(kind, v any) bool {
	switch v := v.(type) {
	case nil:
		return kind == "null"
	case bool:
		return kind == "boolean"
	case string:
		return kind == "string"
	case []any:
		return kind == "array"
	case float64:
		return kind == "number" || kind == "integer" && v == math.Trunc(v)
	}
	return kind == "object"
}

var compiled sync.Map // of patterns: there are few, and they are asked often

func pattern(text string) *regexp.Regexp {
	re, ok := compiled.Load(text)
	if !ok {
		re, _ = compiled.LoadOrStore(text, regexp.MustCompile(text))
	}
	return re.(*regexp.Regexp)
}

var formats = map[string]func(string) bool{
	"date-time": func(s string) bool { _, err := time.Parse(time.RFC3339, s); return err == nil },
	"date":      func(s string) bool { _, err := time.Parse(time.DateOnly, s); return err == nil },
	"uri":       func(s string) bool { u, err := url.Parse(s); return err == nil && u.IsAbs() },
	"idn-email": regexp.MustCompile(`^[^@\s]+@[^@\s.]+(\.[^@\s.]+)+$`).MatchString,
	"password":  func(string) bool { return true },
}
