package schema

import (
	"fmt"
	"regexp"
	"strings"
)

// Problem is a value, or a member, that is not as a schema has it.
type Problem struct {
	Place   string    // of the value, as body.data.total
	Keyword string    // of the schema; "unnamed" is a member that the document does not name
	Name    string    // of the member that is missing, or that should not be there; else ""
	Want    any       // what the keyword says; of oneOf and its like how many of the branches held
	Got     any       // the value
	Within  []Problem // of oneOf and its like: why the branches did not hold
}

// WithoutValue says the problem by names, types and what the schema has; nothing of the value is in it but
// the name of a member, and that only where it looks like one ([Word]).
func (p Problem) WithoutValue() string {
	switch p.Keyword {
	case "type":
		return fmt.Sprintf("is %s, not %s", KindOf(p.Got), list(p.Want))
	case "const":
		return fmt.Sprintf("is %s, but not %v", KindOf(p.Got), p.Want)
	case "enum":
		return fmt.Sprintf("is not one of %s", list(p.Want))
	case "required":
		return "has no member " + p.Name
	case "unnamed":
		return "has an additional member, " + Word(p.Name)
	case "additionalProperties":
		return "has a member that is not declared, " + Word(p.Name)
	case "pattern":
		return fmt.Sprintf("is a string that does not match %v", p.Want)
	case "format":
		return fmt.Sprintf("is not in the form %v", p.Want)
	case "oneOf", "anyOf":
		return p.branches()
	}
	return fmt.Sprintf("violates %s %v", p.Keyword, p.Want)
}

// branches says why no branch holds, by the branch that came nearest: another one only says that the value is
// of another type.
func (p Problem) branches() string {
	var types []string
	for _, inner := range p.Within {
		if inner.Place == p.Place && inner.Keyword == "type" {
			types = append(types, list(inner.Want))
		}
	}
	for _, inner := range p.Within {
		if inner.Place == p.Place && inner.Keyword != "type" {
			return inner.WithoutValue()
		}
		if inner.Place != p.Place {
			return strings.TrimPrefix(inner.Place, p.Place+".") + " " + inner.WithoutValue()
		}
	}
	if len(types) == 0 {
		return "fits several forms at once"
	}
	return fmt.Sprintf("is %s, not %s", KindOf(p.Got), strings.Join(types, " or "))
}

// list writes one value, or several with commas.
func list(v any) string {
	several, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	var texts []string
	for _, x := range several {
		if x == nil {
			x = "null"
		}
		texts = append(texts, fmt.Sprint(x))
	}
	return strings.Join(texts, ", ")
}

// KindOf returns the JSON type of a value, which encoding/json has decoded.
func KindOf(v any) string {
	for _, kind := range []string{"null", "boolean", "string", "array", "integer", "number"} {
		if isOf(kind, v) {
			return kind
		}
	}
	return "object"
}

// maxWord is how many characters a name has at most that is shown.
const maxWord = 30

// word matches a name that somebody has given: in letters, with _ or - between them, and a digit at its end.
var word = regexp.MustCompile(`^[A-Za-z][A-Za-z_-]*[0-9]?$`)

// Word returns a name if it looks like one that somebody has given. Else it may be data, as an id or an
// address is, and … takes its place.
func Word(name string) string {
	if len(name) > maxWord || !word.MatchString(name) {
		return "…"
	}
	return name
}
