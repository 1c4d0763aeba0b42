package conform_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// meets reports whether a request is one that the breakage is about.
func (x *breakage) meets(r *http.Request) bool {
	return x.method == r.Method && x.path.MatchString(r.URL.Path)
}

// editRequest breaks what the server is asked:
//
//	query NAME=VALUE            it always has this parameter
//	query-if NAME=REGEXP NAME=VALUE   where it has one like that; no VALUE takes it away
//	body REGEXP => TEXT         in its body
//	key                         it has the key of the first partner, whoever asks
func (x *breakage) editRequest(r *http.Request, key string) {
	word, rest, _ := strings.Cut(x.edit, " ")
	q := r.URL.Query()
	set := func(pair string) {
		name, value, _ := strings.Cut(pair, "=")
		q.Set(name, value)
		if value == "" {
			q.Del(name)
		}
		r.URL.RawQuery = q.Encode()
	}
	switch word {
	case "query":
		set(rest)
	case "query-if":
		condition, pair, _ := strings.Cut(rest, " ")
		name, pattern, _ := strings.Cut(condition, "=")
		if regexp.MustCompile(pattern).MatchString(q.Get(name)) {
			set(pair)
		}
	case "body":
		if r.Body == nil {
			return
		}
		pattern, text, _ := strings.Cut(rest, " =>")
		body, _ := io.ReadAll(r.Body)
		body = regexp.MustCompile(pattern).ReplaceAll(body, []byte(strings.TrimSpace(text)))
		r.Body = io.NopCloser(bytes.NewReader(body))
		r.ContentLength = int64(len(body))
	case "key":
		r.Header.Set("x-api-key", key)
	}
}

// editAnswer breaks what the server answers:
//
//	status CODE                 always
//	status-if CODE CODE         instead of another
//	answer CODE JSON            the whole of it
//	header NAME [VALUE]         another one, or none
//	del PATH                    a member is missing
//	set PATH JSON               a member is another
//	reverse PATH                a list is the other way round
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
	case "header":
		resp.Header.Del(first)
		if second != "" {
			resp.Header.Set(first, second)
		}
	case "del", "set", "reverse":
		var v any
		if json.Unmarshal(body, &v) != nil {
			return body
		}
		edit(v, strings.FieldsFunc(first, func(r rune) bool {
			return strings.ContainsRune(".[]", r)
		}), word, second)
		body, _ = json.Marshal(v)
	}
	return body
}

// edit changes what a path leads to.
func edit(v any, path []string, word, value string) {
	switch at := v.(type) {
	case []any:
		for i, x := range at {
			if path[0] == "*" || path[0] == strconv.Itoa(i) {
				edit(x, path[1:], word, value)
			}
		}
	case map[string]any:
		x, there := at[path[0]]
		if len(path) > 1 {
			edit(x, path[1:], word, value)
			return
		}
		switch word {
		case "del":
			delete(at, path[0])
		case "set":
			var new any
			json.Unmarshal([]byte(value), &new)
			at[path[0]] = new
		case "reverse":
			if list, ok := x.([]any); ok && there {
				slices.Reverse(list)
			}
		}
	}
}
