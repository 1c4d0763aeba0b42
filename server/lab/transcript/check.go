package transcript

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// checkLine parts a check into: header, a path or name, the operator, and the rest.
var checkLine = regexp.MustCompile(
	`^(header )?(\S+) (==|!=|~|!~|#|keys|only|has|lasts|<=|>=|sorted|unique|=)( (.*))?$`)

// Check does one check of the last answer. Errors: *Mismatch, *Unknown, and that the line is no check.
func (p *Player) Check(line string) error {
	if status, err := strconv.Atoi(line); err == nil {
		if p.Answer.Status != status {
			return &Mismatch{"status", strconv.Itoa(p.Answer.Status), line}
		}
		return nil
	}
	m := checkLine.FindStringSubmatch(line)
	if m == nil {
		return fmt.Errorf("%q is no check", line)
	}
	path, err := p.expandPath(m[2])
	op := m[3]
	want := m[5]
	if op == "=" {
		want, err = p.expandPath(want)
		if err != nil {
			return err
		}
		v := p.Value(want)
		if v == absent {
			return &Mismatch{want, absent, "there"}
		}
		p.Vars[path] = kept(v)
		return nil
	}
	if err != nil {
		return err
	}
	form := func(value string) string { return value }
	if strings.HasSuffix(op, "~") {
		form = regexp.QuoteMeta
	}
	if want, err = p.expandAs(want, form); err != nil {
		return err
	}
	if op == "==" || op == "!=" {
		want = Plain([]byte(want))
	}
	got := []string{strings.Join(p.Answer.Header.Values(path), ", ")}
	switch {
	case m[1] == "" && strings.Contains(path, "[*]"):
		got = p.values(path)
	case m[1] == "":
		got = []string{p.Value(path)}
	}
	if op == "sorted" || op == "unique" {
		return checkAll(path, op, want, got)
	}
	if len(got) == 0 {
		return &Mismatch{path, "no element", op + " " + want}
	}
	for _, v := range got {
		if err := checkOne(path, op, want, v); err != nil {
			return err
		}
	}
	return nil
}

// expandPath puts the values of variables into a path. One that is a variable stays.
func (p *Player) expandPath(path string) (string, error) {
	if strings.HasPrefix(path, "$") {
		return path, nil
	}
	return p.Expand(path)
}

// checkOne checks a value by itself.
func checkOne(path, op, want, got string) error {
	ok := false
	switch op {
	case "==":
		ok = equal(got, want)
	case "!=":
		ok = !equal(got, want) && got != absent
	case "~", "!~":
		pattern, err := regexp.Compile(want)
		if err != nil {
			return err
		}
		ok = pattern.MatchString(got) == (op == "~")
	case "#":
		var list []json.RawMessage
		ok = json.Unmarshal([]byte(got), &list) == nil && strconv.Itoa(len(list)) == want
	case "keys":
		got = keys(got)
		ok = got == want
	case "only", "has":
		there := strings.Fields(keys(got))
		wanted := strings.Fields(want)
		missing := slices.DeleteFunc(wanted, func(name string) bool { return slices.Contains(there, name) })
		ok = len(missing) == 0 && (op == "has" || len(there) == len(wanted))
		if len(there) > 0 && len(missing) > 0 {
			got = "without " + strings.Join(missing, ", ")
		}
	case "lasts":
		ok = lasts(got, strings.Fields(want))
	case "<=":
		c, comparable := compare(got, want)
		ok = comparable && c <= 0
	case ">=":
		c, comparable := compare(got, want)
		ok = comparable && c >= 0
	}
	if !ok {
		return &Mismatch{path, got, strings.TrimSpace(op + " " + want)}
	}
	return nil
}

// lasts reports whether the third member of an object is how many minutes lie between the first two.
func lasts(object string, members []string) bool {
	var values map[string]any
	if len(members) != 3 || json.Unmarshal([]byte(object), &values) != nil {
		return false
	}
	from, err := time.Parse(time.RFC3339, fmt.Sprint(values[members[0]]))
	to, err2 := time.Parse(time.RFC3339, fmt.Sprint(values[members[1]]))
	return err == nil && err2 == nil && values[members[2]] == to.Sub(from).Minutes()
}

// checkAll checks values beside each other.
func checkAll(path, op, want string, got []string) error {
	wrong := &Mismatch{path, strings.Join(got, " "), strings.TrimSpace(op + " " + want)}
	if op == "unique" {
		if len(slices.Compact(slices.Sorted(slices.Values(got)))) < len(got) {
			return wrong
		}
		return nil
	}
	for i := 1; i < len(got); i++ {
		c, comparable := compare(got[i-1], got[i])
		if !comparable || c > 0 && want == "up" || c < 0 && want == "down" {
			return wrong
		}
	}
	return nil
}

// compare compares two numbers, two instants or two texts.
func compare(a, b string) (c int, ok bool) {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	if err == nil && err2 == nil {
		return cmp.Compare(x, y), true
	}
	at, err := time.Parse(time.RFC3339, strings.Trim(a, `"`))
	other, err2 := time.Parse(time.RFC3339, strings.Trim(b, `"`))
	if err == nil && err2 == nil {
		return at.Compare(other), true
	}
	isText := strings.HasPrefix(a, `"`) && strings.HasPrefix(b, `"`)
	return strings.Compare(a, b), isText
}
