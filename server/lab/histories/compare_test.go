package histories

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// notCompared are members that may differ: words, when something was last written, and what the interface has
// not and this program adds, as how a price is shared out among legs.
var notCompared = []string{"message", "updatedAt", "field", "legs"}

// compare returns how two answers to a step differ in what must be equal; "" is not at all.
func (p *play) compare(s *step, answers [2]answer) string {
	if answers[0].status != answers[1].status {
		return "status: " + p.both(answers[0].status, answers[1].status) + "\n# " + p.bodies(answers)
	}
	var bodies [2]any
	for i, a := range answers {
		if err := json.Unmarshal(a.body, &bodies[i]); err != nil && len(a.body) > 0 {
			return fmt.Sprintf("%s answers with what is no JSON: %v", p.sides[i].name, err)
		}
	}
	if strings.HasPrefix(s.target, "/rest/") {
		for _, name := range []string{"Deprecation", "Sunset", "Link"} {
			a := answers[0].header.Get(name)
			b := answers[1].header.Get(name)
			if a != b {
				return name + ": " + p.both(a, b)
			}
		}
	}
	return strings.TrimPrefix(p.differ("", bodies[0], bodies[1]), ".")
}

// bodies says what both have answered.
func (p *play) bodies(answers [2]answer) string {
	return p.both(json.RawMessage(answers[0].body), json.RawMessage(answers[1].body))
}

// differ returns the place within a member where two values differ, and both; "" is that they do not. Of
// several places it is the first by name.
func (p *play) differ(name string, a, b any) string {
	switch x := a.(type) {
	case map[string]any:
		if y, isObject := b.(map[string]any); isObject {
			return p.differInObject(x, y)
		}
	case []any:
		if y, isList := b.([]any); isList && name == "errors" {
			return p.differInErrors(x, y)
		} else if isList {
			return p.differInList(name, x, y)
		}
	case string:
		if y, isText := b.(string); isText && p.sides[0].plain(name, x) == p.sides[1].plain(name, y) {
			return ""
		}
	}
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return ": " + p.both(a, b)
}

// differInObject is differ for objects: all members that either has, but for what may differ.
func (p *play) differInObject(x, y map[string]any) (words string) {
	for member, left := range x {
		if slices.Contains(notCompared, member) {
			continue
		}
		right, both := y[member]
		inner := ": only " + p.sides[0].name + " has it"
		if both {
			inner = p.differ(member, left, right)
		}
		if inner != "" && (words == "" || "."+member+inner < words) {
			words = "." + member + inner
		}
	}
	for member := range y {
		if _, both := x[member]; !both && !slices.Contains(notCompared, member) {
			return "." + member + ": only " + p.sides[1].name + " has it"
		}
	}
	return words
}

// differInList is differ for lists, whose order is compared.
func (p *play) differInList(name string, x, y []any) string {
	for i := range min(len(x), len(y)) {
		if inner := p.differ(name, x[i], y[i]); inner != "" {
			return fmt.Sprintf("[%d]%s", i, inner)
		}
	}
	if len(x) != len(y) {
		return ": of these " + p.both(len(x), len(y))
	}
	return ""
}

// differInErrors is differ for the errors of a refusal. How many there are of a kind is a matter of words.
func (p *play) differInErrors(x, y []any) string {
	left := p.sides[0].kinds(x)
	right := p.sides[1].kinds(y)
	if slices.Equal(left, right) {
		return ""
	}
	return ": " + p.both(left, right)
}

// kinds returns the errors of a refusal without words and places, each once.
func (x *side) kinds(errors []any) (kinds []string) {
	for _, e := range errors {
		object, _ := e.(map[string]any)
		details, _ := object["details"].(map[string]any)
		words := []string{fmt.Sprint(object["errorCode"])}
		for _, member := range []string{"reason", "seatsLeft"} {
			if value, has := details[member]; has {
				words = append(words, fmt.Sprintf("%s=%v", member, value))
			}
		}
		if ids, has := details["ordersIds"].([]any); has {
			for _, id := range ids {
				words = append(words, x.plain("id", fmt.Sprint(id)))
			}
		}
		kinds = append(kinds, strings.Join(words, " "))
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// plain returns a text as it is compared: the id of a booking or ticket as its name, other ids not told. name
// is that of the member.
func (x *side) plain(name, text string) string {
	if name != "id" && !strings.HasSuffix(name, "Id") && !strings.HasSuffix(name, "Ids") {
		return text
	}
	if known := x.names[text]; known != "" {
		return known
	}
	return "an id"
}

// both says what two servers have shown.
func (p *play) both(a, b any) string {
	const most = 400 // bytes of a value
	left, _ := json.Marshal(a)
	right, _ := json.Marshal(b)
	return fmt.Sprintf("%s %s, %s %s", p.sides[0].name, left[:min(len(left), most)], p.sides[1].name,
		right[:min(len(right), most)])
}
