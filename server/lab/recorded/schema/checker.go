package schema

import (
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Checker holds values against schemas of a document, strictly: a keyword that it does not know is a problem.
type Checker struct {
	Doc      Document
	Ours     bool // Waybill wrote the value: a member that the document does not name is a problem
	Problems []Problem
	Seen     []string // the places of the schemas that held, with what stood there
}

// Check checks a value, which stands at a place of a message, against a schema, which stands at a place of
// the document.
func (c *Checker) Check(schema any, at string, v any, place string) {
	s, ok := schema.(map[string]any)
	if !ok {
		c.fail(Problem{Place: place, Keyword: "no schema", Want: at})
		return
	}
	c.Seen = append(c.Seen, at)
	if _, listed := s["enum"]; v == nil || listed {
		c.Seen = append(c.Seen, fmt.Sprint(at, "=", v))
	}
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		if !c.scalar(keyword, s[keyword], v, place) && !c.compound(s, keyword, at, v, place) {
			c.fail(Problem{Place: place, Keyword: "unknown keyword", Want: at, Name: keyword})
		}
	}
	if c.Ours {
		c.named(s, v, place)
	}
}

func (c *Checker) fail(p Problem) {
	c.Problems = append(c.Problems, p)
}

// named checks that an object has only members that its schema names, or leaves open on purpose.
func (c *Checker) named(s map[string]any, v any, place string) {
	properties, listed := s["properties"].(map[string]any)
	members, _ := v.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if listed && properties[name] == nil && s["additionalProperties"] != true {
			c.fail(Problem{Place: place, Keyword: "unnamed", Name: name, Got: members[name]})
		}
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
		form := formats[arg.(string)] // that of a number is none: "type" has said that a text is wrong
		bad = isText && form != nil && !form(text)
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
		c.fail(Problem{Place: place, Keyword: keyword, Want: arg, Got: v})
	}
	return true
}

// compound checks a keyword that holds further schemas; false: it is none.
func (c *Checker) compound(s map[string]any, keyword, at string, v any, place string) bool {
	arg := s[keyword]
	members, isObject := v.(map[string]any)
	list, _ := v.([]any)
	switch keyword {
	case "$ref":
		c.Check(c.Doc.Resolve(s), strings.TrimPrefix(arg.(string), "#/"), v, place)
	case "properties":
		properties := arg.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if x, given := members[name]; given {
				c.Check(properties[name], at+"/properties/"+name, x, place+"."+name)
			}
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, given := members[name.(string)]; isObject && !given {
				c.fail(Problem{Place: place, Keyword: keyword, Name: name.(string)})
			}
		}
	case "additionalProperties":
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if _, known := c.Doc.Object(s, "properties")[name]; !known && arg == false {
				c.fail(Problem{Place: place, Keyword: keyword, Name: name, Got: members[name]})
			}
		}
	case "maxProperties":
		if float64(len(members)) > arg.(float64) {
			c.fail(Problem{Place: place, Keyword: keyword, Want: arg, Got: v})
		}
	case "items":
		for i, x := range list {
			c.Check(arg, at+"/items", x, fmt.Sprintf("%s[%d]", place, i))
		}
	case "allOf":
		for i, branch := range arg.([]any) {
			c.Check(branch, fmt.Sprintf("%s/allOf/%d", at, i), v, place)
		}
	case "oneOf", "anyOf":
		c.branches(keyword, arg.([]any), at, v, place)
	default:
		return false
	}
	return true
}

// branches checks a value against each of several schemas, of which one, or one at least, has to hold.
func (c *Checker) branches(keyword string, schemas []any, at string, v any, place string) {
	held := 0
	var why []Problem
	for i, s := range schemas {
		branch := &Checker{Doc: c.Doc, Ours: c.Ours}
		branch.Check(s, fmt.Sprintf("%s/%s/%d", at, keyword, i), v, place)
		why = append(why, branch.Problems...)
		if len(branch.Problems) == 0 {
			held++
			c.Seen = append(c.Seen, branch.Seen...)
		}
	}
	if held == 0 || held > 1 && keyword == "oneOf" {
		c.fail(Problem{Place: place, Keyword: keyword, Want: held, Got: v, Within: why})
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
