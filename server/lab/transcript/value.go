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
		return []string{Plain(whole)}
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
		text := absent
		if v != nil {
			text = Plain(v)
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
		at := e
		for _, step := range steps(name) {
			at = follow(at, step)[0]
		}
		if Plain(at) == `"`+text+`"` {
			return e
		}
	}
	return nil
}

// jsonText is a text in JSON.
var jsonText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// Plain returns JSON in one of the forms in which it can be written: without blanks, and with texts as they
// are read. What is not JSON stays.
func Plain(value []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return jsonText.ReplaceAllStringFunc(b.String(), func(text string) string {
		if !strings.Contains(text, `\`) {
			return text
		}
		return `"` + InText(textOf(text[1:len(text)-1])) + `"`
	})
}

// InText returns what stands between the quotes of a text in JSON, as a variable has it.
func InText(text string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(text) // a text can always be written
	return b.String()[1 : b.Len()-2]
}

// textOf returns the text that a variable stands for.
func textOf(variable string) string {
	var text string
	if json.Unmarshal([]byte(`"`+variable+`"`), &text) != nil {
		return variable
	}
	return text
}

// kept returns how a variable has a value.
func kept(value string) string {
	if text, ok := strings.CutPrefix(value, `"`); ok {
		return strings.TrimSuffix(text, `"`)
	}
	return value
}

// equal compares two values. A number is the same number however it is written.
func equal(a, b string) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return a == b || err == nil && err2 == nil && x == y
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
