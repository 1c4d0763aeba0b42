package transcript

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// absent is the value of what is not there.
const absent = "absent"

// Value returns the JSON at a path such as data.offers[0].id; "absent" where there is nothing. body is the
// whole answer, $NAME a variable, "header NAME" a header and "length PATH" the length of an array.
func (p *Player) Value(path string) string {
	if name, ok := strings.CutPrefix(path, "header "); ok {
		return cmp.Or(strings.Join(p.Answer.Header.Values(name), ", "), absent)
	}
	if of, ok := strings.CutPrefix(path, "length "); ok {
		var list []json.RawMessage
		if json.Unmarshal([]byte(p.Value(of)), &list) != nil {
			return absent
		}
		return strconv.Itoa(len(list))
	}
	if name, ok := strings.CutPrefix(path, "$"); ok {
		v, known := p.Vars[name]
		if !known {
			return absent
		}
		return v
	}
	all := p.values(path)
	if len(all) == 0 {
		return absent
	}
	return all[0]
}

// values returns the JSON at a path, of each element where it has [*].
func (p *Player) values(path string) []string {
	whole := json.RawMessage(bytes.TrimSpace(p.Answer.Body))
	if path == "body" {
		return []string{string(whole)}
	}
	list := []json.RawMessage{whole}
	for _, step := range steps(path) {
		var next []json.RawMessage
		for _, v := range list {
			next = append(next, follow(v, step)...)
		}
		list = next
	}
	var texts []string
	for _, v := range list {
		text := string(v)
		if v == nil {
			text = absent
		}
		texts = append(texts, text)
	}
	return texts
}

// step is a part of a path: what stands in brackets, or between dots.
var step = regexp.MustCompile(`\[[^\]]*\]|[^.\[]+`)

// steps parts a path.
func steps(path string) []string {
	list := step.FindAllString(path, -1)
	for i := range list {
		list[i] = strings.Trim(list[i], "[]")
	}
	return list
}

// follow takes one step from a value: to a member, to an element, or to all elements. nil is what is not
// there.
func follow(v json.RawMessage, step string) []json.RawMessage {
	if name, text, ok := strings.Cut(step, "="); ok {
		return []json.RawMessage{find(v, name, text)}
	}
	n, notNumber := strconv.Atoi(step)
	if step == "*" || notNumber == nil {
		var list []json.RawMessage
		bad := json.Unmarshal(v, &list) != nil
		switch {
		case step == "*" && !bad:
			return list
		case bad || n < 0 || n >= len(list):
			return []json.RawMessage{nil}
		}
		return list[n : n+1]
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(v, &object) != nil {
		return []json.RawMessage{nil}
	}
	return []json.RawMessage{object[step]}
}

// find returns the first element of a list whose member of a name is a text; nil where there is none.
func find(list json.RawMessage, name, text string) json.RawMessage {
	var elements []json.RawMessage
	if json.Unmarshal(list, &elements) != nil {
		return nil
	}
	for _, e := range elements {
		var is string
		at := e
		for _, step := range steps(name) {
			at = follow(at, step)[0]
		}
		if json.Unmarshal(at, &is) == nil && is == text {
			return e
		}
	}
	return nil
}

// keys returns the member names of an object in their order; "" of what is no object.
func keys(object string) string {
	dec := json.NewDecoder(strings.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return ""
	}
	var names []string
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			break
		}
		names = append(names, fmt.Sprint(name))
		var skip json.RawMessage
		if dec.Decode(&skip) != nil {
			break
		}
	}
	return strings.Join(names, " ")
}
