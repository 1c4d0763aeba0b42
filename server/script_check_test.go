package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

var checkLine = regexp.MustCompile(`^(header )?(\S+) (==|~|#|keys|=) ?(.*)$`)

func (p *player) check(line string) {
	if status, err := strconv.Atoi(line); err == nil {
		if p.asked = true; p.resp.Code != status {
			p.fatal("status %d, want %d: %s", p.resp.Code, status, p.resp.Body)
		}
		return
	}
	m := checkLine.FindStringSubmatch(line)
	if m == nil {
		p.fatal("%q is no check", line)
	}
	path := m[2]
	op := m[3]
	want := m[4]
	if op == "=" {
		p.vars[path] = strings.Trim(p.value(want), `"`)
		return
	}
	want = p.expand(want)
	got := ""
	switch {
	case m[1] != "":
		got = strings.Join(p.resp.Header().Values(path), ", ")
	default:
		got = p.value(path)
	}
	ok := false
	switch op {
	case "==":
		ok = got == want
	case "~":
		ok = regexp.MustCompile(want).MatchString(got)
	case "#":
		var list []json.RawMessage
		ok = json.Unmarshal([]byte(got), &list) == nil && strconv.Itoa(len(list)) == want
	case "keys":
		got = keys(got)
		ok = got == want
	}
	if !ok {
		p.fatal("%s\n got %s\nwant %s %s\n(%s)", path, got, op, want, p.resp.Body)
	}
}

// value returns the JSON at a path such as data.offers[0].id, "absent" where there is nothing.
func (p *player) value(path string) string {
	if path == "out" {
		return p.vars["out"]
	}
	v := json.RawMessage(bytes.TrimSpace(p.resp.Body.Bytes()))
	if path == "body" {
		return string(v)
	}
	for _, part := range strings.FieldsFunc(path, func(r rune) bool {
		return r == '.' || r == '[' || r == ']'
	}) {
		if i, err := strconv.Atoi(part); err == nil {
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil || i >= len(list) {
				return "absent"
			}
			v = list[i]
			continue
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(v, &object) != nil || object[part] == nil {
			return "absent"
		}
		v = object[part]
	}
	return string(v)
}

// keys returns the member names of an object in their order.
func keys(object string) string {
	dec := json.NewDecoder(strings.NewReader(object))
	dec.Token()
	var names []string
	for dec.More() {
		name, _ := dec.Token()
		names = append(names, fmt.Sprint(name))
		var skip json.RawMessage
		dec.Decode(&skip)
	}
	return strings.Join(names, " ")
}
