package recorded

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"waybill/server/lab/recorded/schema"
)

// message is a request or an answer.
type message struct {
	header http.Header
	body   []byte
	lost   bool // the recording lacks the body, or a part of it
	value  any  // the body as JSON
	isJSON bool // it is JSON
}

// exchange is a request and its answer.
type exchange struct {
	name    string    // entry 3, or the NAME of a pair
	number  int       // in the order in which they began
	began   time.Time // by the recorder's clock, as ended; the zero time where it is not known
	ended   time.Time
	method  string
	path    string // from /v2 or /rest on
	query   url.Values
	pattern string            // of the call in the document; "" is none
	vars    map[string]string // what stands for the variables of the pattern
	request message
	status  int
	answer  message

	isHeld bool    // against this program, already
	faults []fault // what was found then
}

// routes finds the pattern of a request as a router would.
var routes = sync.OnceValue(newRoutes)

func newRoutes() *http.ServeMux {
	mux := http.NewServeMux()
	for pattern := range ours() {
		mux.Handle(pattern, http.NotFoundHandler())
	}
	return mux
}

// calls are operations, by their patterns.
type calls map[string]map[string]any

// ours returns the calls of this program, stated those of the interface.
var (
	ours   = sync.OnceValue(func() calls { return schema.Waybill().Operations("paths") })
	stated = sync.OnceValue(func() calls { return theInterface().Operations("paths") })
)

// place returns method, path and which exchange it is, without a value.
func (x *exchange) place() string { return x.call() + " " + x.name }

// call returns the method and the path, in which names stand for values. Of a path that is not known only the
// words are shown that known paths have.
func (x *exchange) call() string {
	if x.pattern != "" {
		return x.pattern
	}
	var parts []string
	for part := range strings.SplitSeq(strings.Trim(x.path, "/"), "/") {
		if !literals()[part] {
			part = "{…}"
		}
		parts = append(parts, part)
	}
	method := x.method
	if !slices.Contains(methods, method) {
		method = "{…}"
	}
	return method + " /" + strings.Join(parts, "/")
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}

// literals are the words that stand in the paths of the document.
var literals = sync.OnceValue(wordsOfPaths)

func wordsOfPaths() map[string]bool {
	words := map[string]bool{}
	for pattern := range ours() {
		_, path, _ := strings.Cut(pattern, " ")
		for part := range strings.SplitSeq(path, "/") {
			words[part] = part != "" && part[0] != '{'
		}
	}
	return words
}

// setTarget notes which call an exchange is, by its URL or the path of it. It returns false where it is none
// of the service: neither below /v2 or /rest, wherever the deployment has these, nor another path of the
// document.
func (x *exchange) setTarget(target string) (isCall bool, err error) {
	u, err := url.Parse(target)
	if err != nil {
		return false, fmt.Errorf("the URL cannot be read")
	}
	x.path = u.Path
	for _, base := range []string{"/v2/", "/rest/"} {
		if i := strings.Index(u.Path, base); i >= 0 && !isCall {
			x.path = u.Path[i:]
			isCall = true
		}
	}
	x.query = u.Query()
	r := &http.Request{Method: x.method, URL: &url.URL{Path: x.path}}
	if path.Clean(x.path) == x.path {
		_, x.pattern = routes().Handler(r)
	}
	x.vars = map[string]string{}
	_, known, _ := strings.Cut(x.pattern, " ")
	parts := strings.Split(x.path, "/")
	for i, part := range strings.Split(known, "/") {
		if strings.HasPrefix(part, "{") && i < len(parts) {
			x.vars[strings.Trim(part, "{}")] = parts[i]
		}
	}
	return (isCall || x.pattern != "") && x.method != http.MethodOptions, nil
}

// decode reads a body as JSON, where it is. What is shorter than its header says, and can be read, was only
// packed or altered.
func (m *message) decode() {
	m.isJSON = utf8.Valid(m.body) && json.Unmarshal(m.body, &m.value) == nil
	length, _ := strconv.Atoi(m.header.Get("Content-Length"))
	m.lost = !m.isJSON && (m.lost || length > len(m.body))
}

// isAnswered reports whether the answer is one of the interface: a redirection is of somebody in between, or
// says that the caller has the answer.
func (x *exchange) isAnswered() bool { return x.ok() || x.status >= http.StatusBadRequest }

// ok reports whether the answer is a success.
func (x *exchange) ok() bool { return x.status >= 200 && x.status < 300 }

// is reports whether the exchange is one of some calls.
func (x *exchange) is(patterns ...string) bool { return slices.Contains(patterns, x.pattern) }

// isLegacy reports whether a call is of the interface that is on its way out.
func (x *exchange) isLegacy() bool { return strings.HasPrefix(x.path, "/rest/") }

// isV2 reports whether a call is of the interface that /v2 is.
func (x *exchange) isV2() bool { return strings.HasPrefix(x.path, "/v2/") }

// at returns when it was answered, by the deployment's own clock, in whole seconds; the zero time where the
// recording does not have it.
func (x *exchange) at() time.Time {
	at, _ := http.ParseTime(x.answer.header.Get("Date"))
	return at
}

// values returns what stands at a path of members in the answer; of arrays each element is taken.
func (x *exchange) values(names ...string) []any { return follow([]any{x.answer.value}, names) }

// sent returns what stands at a path of members in the body of the request.
func (x *exchange) sent(names ...string) []any { return follow([]any{x.request.value}, names) }

// errors returns the entries of the envelope.
func (x *exchange) errors() []any { return x.values("errors") }

// bookings are the bookings that an answer shows.
func (x *exchange) bookings() []any {
	return append(x.values("data", "booking"), x.values("data", "bookings")...)
}

// tickets are the tickets that an answer shows.
func (x *exchange) tickets() []any {
	return append(of(x.bookings(), "tickets"), x.values("data", "ticket")...)
}

// follow takes steps from values to members; an array stands for its elements.
func follow(from []any, names []string) []any {
	list := flat(from)
	for _, name := range names {
		var next []any
		for _, v := range list {
			members, _ := v.(map[string]any)
			if member, ok := members[name]; ok {
				next = append(next, member)
			}
		}
		list = flat(next)
	}
	return list
}

// flat puts the elements of arrays in the place of the arrays.
func flat(list []any) (elements []any) {
	for _, v := range list {
		if several, ok := v.([]any); ok {
			elements = append(elements, flat(several)...)
		} else {
			elements = append(elements, v)
		}
	}
	return elements
}

// of returns what stands at a path of members of a value.
func of(v any, names ...string) []any { return follow([]any{v}, names) }

// textOf returns the first text at a path of members of a value; "" where there is none.
func textOf(v any, names ...string) string { return firstText(of(v, names...)) }

func firstText(list []any) string {
	if len(list) == 0 {
		return ""
	}
	text, _ := list[0].(string)
	return text
}

// numberOf returns the first number at a path of members of a value.
func numberOf(v any, names ...string) (n float64, ok bool) {
	list := of(v, names...)
	if len(list) == 0 {
		return 0, false
	}
	n, ok = list[0].(float64)
	return n, ok
}

// timeOf returns the first instant at a path of members of a value; the zero time where there is none.
func timeOf(v any, names ...string) time.Time {
	at, _ := time.Parse(time.RFC3339, textOf(v, names...))
	return at
}
