package conform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// breakage is a way in which a server breaks a rule.
type breakage struct {
	rule, method string
	path         *regexp.Regexp
	edit         string
	world        bool // it shows in a world of a test bench only
}

// breakLine is "RULE METHOD PATH ; EDIT", after "world" where it needs one.
var breakLine = regexp.MustCompile(`^(world )?(\d+\.\d\d) (\S+) (\S+) ; (.*)$`)

// parseBreak reads a line of breaks.txt.
func parseBreak(line string) (x *breakage, ok bool) {
	m := breakLine.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	return &breakage{
		world:  m[1] != "",
		rule:   m[2],
		method: m[3],
		path:   regexp.MustCompile(m[4]),
		edit:   m[5],
	}, true
}

// stage is that of the rule.
func (x *breakage) stage() int {
	stage, _, _ := strings.Cut(x.rule, ".")
	n, _ := strconv.Atoi(stage)
	return n
}

// meets reports whether a request is one that the breakage is about.
func (x *breakage) meets(r *http.Request) bool {
	return x != nil && x.method == r.Method && x.path.MatchString(r.URL.Path)
}

// editRequest breaks what the server is asked:
//
//	query-if NAME=REGEXP NAME=VALUE   where a parameter is like that; no VALUE takes it away
//	body REGEXP => TEXT         in its body
//	need-body                   without a body it is malformed
//	key                         it has the key of the first partner, in place of the one that was sent
//	forget HEADER               it lacks a header
//	path REGEXP => TEXT         it is of another path
func (x *breakage) editRequest(r *http.Request, key string) {
	word, rest, _ := strings.Cut(x.edit, " ")
	switch word {
	case "query-if":
		q := r.URL.Query()
		condition, pair, _ := strings.Cut(rest, " ")
		name, pattern, _ := strings.Cut(condition, "=")
		if !regexp.MustCompile(pattern).MatchString(q.Get(name)) {
			return
		}
		name, value, _ := strings.Cut(pair, "=")
		q.Set(name, value)
		if value == "" {
			q.Del(name)
		}
		r.URL.RawQuery = q.Encode()
	case "body":
		pattern, text, _ := strings.Cut(rest, " =>")
		body := []byte(nil)
		if r.Body != nil {
			body, _ = io.ReadAll(r.Body)
		}
		body = regexp.MustCompile(pattern).ReplaceAllLiteral(body, []byte(strings.TrimSpace(text)))
		setBody(r, body)
	case "need-body":
		if r.ContentLength == 0 {
			setBody(r, []byte("{"))
		}
	case "key":
		r.Header.Set("x-api-key", key)
	case "forget":
		r.Header.Del(rest)
	case "path":
		pattern, text, _ := strings.Cut(rest, " =>")
		r.URL.Path = regexp.MustCompile(pattern).ReplaceAllString(r.URL.Path, strings.TrimSpace(text))
	}
}

// setBody gives a request another body.
func setBody(r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
}

// editAnswer breaks what the server answers:
//
//	status CODE                 always
//	status-if CODE CODE         instead of another
//	answer CODE TEXT            the whole of it
//	refuse CODE WORD MESSAGE    an error in its envelope
//	header NAME [VALUE]         another one, or none
//	text REGEXP => TEXT         in its body
//	del PATH                    a member is missing
//	set PATH JSON               a member is another
//	reverse PATH                a list is the other way round
//	first PATH                  a list has its first element alone
//	grow PATH NUMBER            a list has so many elements
//	rest PATH                   a list lacks its first element
//	more PATH                   a list has its first element twice
//	shift NAME DURATION         instants that are called so are others
//	scale NAME FACTOR           numbers that are called so are others
func (x *breakage) editAnswer(resp *http.Response, body []byte) []byte {
	word, rest, _ := strings.Cut(x.edit, " ")
	first, second, _ := strings.Cut(rest, " ")
	switch word {
	case "status":
		resp.StatusCode, _ = strconv.Atoi(first)
	case "status-if":
		if strconv.Itoa(resp.StatusCode) == first {
			resp.StatusCode, _ = strconv.Atoi(second)
		}
	case "answer":
		resp.StatusCode, _ = strconv.Atoi(first)
		return []byte(second)
	case "refuse":
		resp.StatusCode, _ = strconv.Atoi(first)
		code, message, _ := strings.Cut(second, " ")
		return fmt.Appendf(nil, `{"errors":[{"message":%q,"errorCode":%q}]}`, message, code)
	case "header":
		resp.Header.Del(first)
		if second != "" {
			resp.Header.Set(first, second)
		}
	case "text":
		pattern, text, _ := strings.Cut(rest, " => ")
		return regexp.MustCompile(pattern).ReplaceAllLiteral(body, []byte(text))
	case "shift":
		by, _ := time.ParseDuration(second)
		return replaceMember(body, first, func(value string) string {
			at, err := time.Parse(`"`+time.RFC3339+`"`, value)
			if err != nil {
				return value
			}
			return at.Add(by).Format(`"2006-01-02T15:04:05.000Z07:00"`)
		})
	case "scale":
		by, _ := strconv.ParseFloat(second, 64)
		return replaceMember(body, first, func(value string) string {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return value
			}
			return strconv.FormatFloat(n*by, 'f', -1, 64)
		})
	case "del", "set", "reverse", "first", "grow", "rest", "more":
		var v any
		if json.Unmarshal(body, &v) != nil {
			return body
		}
		change(v, strings.FieldsFunc(first, func(r rune) bool {
			return strings.ContainsRune(".[]", r)
		}), word, second)
		body, _ = json.Marshal(v)
	}
	return body
}

// replaceMember gives members of a name other values, wherever they stand.
func replaceMember(body []byte, name string, other func(value string) string) []byte {
	member := regexp.MustCompile(`"` + name + `": ?("[^"]*"|[0-9.]+)`)
	return member.ReplaceAllFunc(body, func(found []byte) []byte {
		m := member.FindSubmatch(found)
		return []byte(`"` + name + `":` + other(string(m[1])))
	})
}

// change changes what a path leads to.
func change(v any, path []string, word, value string) {
	switch at := v.(type) {
	case []any:
		for i, x := range at {
			if path[0] == "*" || path[0] == strconv.Itoa(i) {
				change(x, path[1:], word, value)
			}
		}
	case map[string]any:
		x, there := at[path[0]]
		if len(path) > 1 {
			change(x, path[1:], word, value)
			return
		}
		list, isList := x.([]any)
		switch {
		case word == "del":
			delete(at, path[0])
		case word == "set":
			var other any
			json.Unmarshal([]byte(value), &other)
			at[path[0]] = other
		case !there || !isList || len(list) == 0:
		case word == "reverse":
			slices.Reverse(list)
		case word == "first":
			at[path[0]] = list[:1]
		case word == "rest":
			at[path[0]] = list[1:]
		case word == "more":
			at[path[0]] = append([]any{list[0]}, list...)
		case word == "grow":
			want, _ := strconv.Atoi(value)
			for len(list) < want {
				list = append(list, list[0])
			}
			at[path[0]] = list
		}
	}
}
