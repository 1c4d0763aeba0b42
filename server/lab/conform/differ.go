package conform

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waybill/server/lab/transcript"
)

// comparison compares two answers to the same question: the members that the interface names and that follow
// from the timetable. It does not compare ids, tokens, words of messages, seats' labels, or the order of a
// list.
type comparison struct {
	exact bool      // instants are equal; else those that come of clocks are within 2 s
	now   time.Time // by the clock of the judged server
	cut   bool      // the lists are pages: which of equal rows a page ends with is open
	mine  bool      // the answer is a list that may have more at one server

	differences []difference
	words       string // about a list, which then says all
}

// difference is a value that is another one.
type difference struct {
	path      string // as data.offers[0].seatsLeft
	got, want any    // nil also where there is nothing
}

// clockTolerance is how far two clocks that tick may lie apart.
const clockTolerance = 2 * time.Second

// compared are the members whose values are compared, wherever they stand.
var compared = fields(`data cities city stops stop offers departures booking tickets ticket refundRules rules
	results order orders total
	name slug country timeZone place type latitude longitude platform departureTime arrivalTime
	source seatsLeft arrivalDate expiresAt prices price slices discounts discount
	amount currency hours rule startDate endDate description
	company departureDateTime arrivalDateTime travelTimeMinutes routeName logoUrl passengers
	departureDate onboardingDateTime paymentRequiredBy status paymentStatus refundAmount
	passenger firstName lastName email phones phone
	duration bus carriage route seatsQty registrationNumber brand model services ceo partnerCompany website socials`)

// ofClocks are the members that come of the clock by which a question was answered.
var ofClocks = fields("expiresAt paymentRequiredBy")

// fields is a set of the words of a text.
func fields(text string) map[string]bool {
	set := map[string]bool{}
	for name := range strings.FieldsSeq(text) {
		set[name] = true
	}
	return set
}

// answers says in words how two answers differ; "" where they do not.
func (c *comparison) answers(got, want *transcript.Answer) string {
	does := got.Status < 300
	should := want.Status < 300
	switch {
	case does && !should:
		return fmt.Sprintf("it accepts what the other server refuses with %d %s", want.Status, codeOf(want))
	case !does && should:
		return fmt.Sprintf("it refuses with %d %s what the other server accepts", got.Status, codeOf(got))
	case got.Status != want.Status:
		return fmt.Sprintf("it answers %d %s, but the other server %d %s", got.Status, codeOf(got),
			want.Status, codeOf(want))
	case !should && codeOf(got) != codeOf(want):
		return fmt.Sprintf("the errorCode is %s, but at the other server %s", codeOf(got), codeOf(want))
	case !should, c.mine:
		return ""
	}
	var x, y any
	if json.Unmarshal(want.Body, &y) != nil {
		return ""
	}
	if json.Unmarshal(got.Body, &x) != nil {
		return "the answer is not JSON, but the other server's is"
	}
	c.value("", x, y)
	if c.words != "" {
		return c.words
	}
	return c.explain()
}

// codeOf returns the errorCode of a refusal; "" is none.
func codeOf(a *transcript.Answer) string {
	var body struct{ Errors []struct{ ErrorCode string } }
	json.Unmarshal(a.Body, &body)
	if len(body.Errors) == 0 {
		return ""
	}
	return body.Errors[0].ErrorCode
}

// value compares two values. A member that only the judged server has is its own affair.
func (c *comparison) value(path string, got, want any) {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			c.add(path, got, want)
			return
		}
		total, _ := w["total"].(float64)
		for _, name := range slices.Sorted(maps.Keys(w)) {
			if compared[name] {
				rows, _ := w[name].([]any)
				c.cut = float64(len(rows)) < total
				c.value(strings.TrimPrefix(path+"."+name, "."), g[name], w[name])
			}
		}
	case []any:
		g, ok := got.([]any)
		if !ok {
			c.add(path, got, want)
			return
		}
		c.list(path, g, w)
	default:
		if !c.same(path, got, want) {
			c.add(path, got, want)
		}
	}
}

// add keeps a difference.
func (c *comparison) add(path string, got, want any) {
	c.differences = append(c.differences, difference{path, got, want})
}

// same compares two values that are no lists and no objects.
func (c *comparison) same(path string, got, want any) bool {
	if got == want {
		return true
	}
	x, ok := instantOf(got)
	y, ok2 := instantOf(want)
	return ok && ok2 && !c.exact && ofClocks[last(path)] && x.Sub(y).Abs() <= clockTolerance
}

// instantOf reads an instant.
func instantOf(v any) (at time.Time, ok bool) {
	text, ok := v.(string)
	if !ok {
		return at, false
	}
	at, err := time.Parse(time.RFC3339, text)
	return at, err == nil
}

// last returns the name that a path ends with, without the place in a list.
func last(path string) string {
	name := path[strings.LastIndex(path, ".")+1:]
	name, _, _ = strings.Cut(name, "[")
	return name
}

// list compares two lists, whatever their order: rows that are there twice are left out, and what is left is
// compared in the order in which it stands. Only of departures the order is given.
func (c *comparison) list(path string, got, want []any) {
	if c.cut && len(got) == len(want) {
		c.page(path, got, want)
		return
	}
	left := slices.Clone(want)
	var more []any
	for _, row := range got {
		key := c.key(row)
		i := slices.IndexFunc(left, func(w any) bool { return c.key(w) == key })
		if i < 0 {
			more = append(more, row)
			continue
		}
		left = slices.Delete(left, i, i+1)
	}
	if len(more)+len(left) == 0 {
		c.page(path, got, want)
	}
	if c.explainRows(path, got, want, more, left) {
		return
	}
	for i := range more {
		c.value(fmt.Sprintf("%s[%d]", path, slices.IndexFunc(want, func(w any) bool {
			return c.key(w) == c.key(left[i])
		})), more[i], left[i])
	}
}

// page compares the departures of two pages, as far as their order is given.
func (c *comparison) page(path string, got, want []any) {
	for i := range min(len(got), len(want)) {
		g, ok := got[i].(map[string]any)
		w, ok2 := want[i].(map[string]any)
		const name = "departureDateTime"
		if ok && ok2 && w[name] != nil {
			c.value(fmt.Sprintf("%s[%d].%s", path, i, name), g[name], w[name])
		}
	}
}

// key returns a text that is the same for rows between which nothing that is compared differs.
func (c *comparison) key(row any) string {
	text, _ := json.Marshal(c.stripped(row))
	return string(text)
}

// stripped returns what is compared of a value; of lists, in an order that follows from what they have.
func (c *comparison) stripped(v any) any {
	switch v := v.(type) {
	case map[string]any:
		bare := map[string]any{}
		for name, member := range v {
			if compared[name] && (c.exact || !ofClocks[name]) {
				bare[name] = c.stripped(member)
			}
		}
		return bare
	case []any:
		var keys []string
		for _, row := range v {
			keys = append(keys, c.key(row))
		}
		slices.Sort(keys)
		return keys
	}
	return v
}
