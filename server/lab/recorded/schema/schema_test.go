package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A problem is said without the value that it is about, and without a name that may be data.
func TestProblemsWithoutValues(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"string"} 77`:                                              "v is integer, not string",
		`{"type":["string","null"]} [77]`:                                   "v is array, not string, null",
		`{"const":"a"} "secret"`:                                            "v is string, but not a",
		`{"enum":["a","b",null]} "secret"`:                                  "v is not one of a, b, null",
		`{"required":["a"]} {"b":1}`:                                        "v has no member a",
		`{"pattern":"^a$"} "secret"`:                                        "v is a string that does not match ^a$",
		`{"format":"date"} "secret"`:                                        "v is not in the form date",
		`{"minimum":5} 3`:                                                   "v violates minimum 5",
		`{"maxLength":2} "secret"`:                                          "v violates maxLength 2",
		`{"oneOf":[{"type":"null"},{"type":"string"}]} 7`:                   "v is integer, not null or string",
		`{"oneOf":[{"type":"null"},{"type":"string","pattern":"a"}]} "se"`:  "v is a string that does not match a",
		`{"oneOf":[{"type":"number"},{"type":"integer"}]} 7`:                "v fits several forms at once",
		`{"anyOf":[{"properties":{"a":{"const":1}}}]} {"a":77}`:             "v a is integer, but not 1",
		`{"allOf":[{"type":"string"},{"type":"array"}]} []`:                 "v is array, not string",
		`{"additionalProperties":false} {"Ann@x":1}`:                        "v has a member that is not declared, …",
		`{"properties":{},"additionalProperties":false} {"extra":"secret"}`: "v has a member that is not declared, extra",
	} {
		d := json.NewDecoder(strings.NewReader(text))
		var s, v any
		if d.Decode(&s) != nil || d.Decode(&v) != nil {
			t.Fatal(text)
		}
		c := Checker{Doc: Waybill()}
		c.Check(s, "", v, "v")
		if len(c.Problems) == 0 {
			t.Errorf("%s: holds", text)
			continue
		}
		if got := c.Problems[0].Place + " " + c.Problems[0].WithoutValue(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A member's name is shown if it is one that somebody has given, and not an id, a number or an address.
func TestWordsAreShown(t *testing.T) {
	for _, name := range []string{"total", "cityStopId", "address2", "old_name", "x-errors"} {
		if Word(name) != name {
			t.Errorf("%s is not shown", name)
		}
	}
	for _, name := range []string{
		"", "7", "a77", "lesia@example.com", "pQk3XcuxqNm26W-snt1UAg", "Київ", "two words", strings.Repeat("a", 31),
		"\x1b[2J",
	} {
		if Word(name) != "…" {
			t.Errorf("%q is shown", name)
		}
	}
}

// Problems come in one order, whatever that of an object's members is.
func TestProblemsHaveOneOrder(t *testing.T) {
	var first []string
	for range 20 {
		c := Checker{Doc: Waybill()}
		city := map[string]any{"name": 1.0, "slug": 2.0}
		c.Check(Waybill().Object(Waybill(), "components", "schemas", "City"), "", city, "v")
		var said []string
		for _, p := range c.Problems {
			said = append(said, fmt.Sprint(p))
		}
		if first == nil {
			first = said
		}
		if !slices.Equal(said, first) || len(said) != 5 {
			t.Fatalf("%q and %q", said, first)
		}
	}
}
