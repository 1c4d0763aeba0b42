package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	largestBody = 256 << 10
	largestSkip = 1<<31 - 1
)

type object = map[string]any

// An answer is what goes back to a client.
type answer struct {
	status int
	body   any
}

// A complaint is an error of the envelope (Errors).
type complaint struct {
	Message   string `json:"message"`
	ErrorCode string `json:"errorCode"`
	Details   object `json:"details,omitempty"`
}

func ok(status int, data any) answer { return answer{status, object{"data": data}} }

func failure(status int, code, message string, details object) answer {
	return answer{status, object{"errors": []complaint{{message, code, details}}}}
}

func conflict(reason string, details object) answer {
	details["reason"] = reason
	return failure(409, "CONFLICT", "What is asked for cannot be done", details)
}

// The table of Errors.
var (
	unauthorized = failure(401, "UNAUTHORIZED", "AUTH_INVALID_CREDENTIALS", nil)
	forbidden    = failure(403, "FORBIDDEN", "AUTH_NO_ACCESS", nil)
	notFound     = failure(404, "NOT_FOUND", "RESOURCE_NOT_FOUND", nil)
	wrongMethod  = failure(405, "METHOD_NOT_ALLOWED", "The path has no such method", nil)
	tooLarge     = failure(413, "BODY_TOO_LARGE", "The body is larger than 256 KiB", nil)
	notJSON      = failure(415, "UNSUPPORTED_MEDIA_TYPE", "The body is not JSON", nil)
	gone         = failure(410, "GONE", "See the migration guide", object{"migrationGuide": "/docs/migration"})
	internal     = failure(500, "INTERNAL", "Unexpected server error", nil)
)

// refuseIf ends a request at once, from wherever it is called: serve catches it. Nothing has been changed
// by then, since a request is checked as a whole before it does anything.
func refuseIf(bad bool, a answer) {
	if bad {
		panic(a)
	}
}

// found refuses what there is not, or what is another's: the two cannot be told apart.
func found[T any](thing T, isThere bool) T {
	refuseIf(!isThere, notFound)
	return thing
}

// A Request is one request, with what has been found out of it, and what is wrong with it.
type Request struct {
	*http.Request
	header     http.Header // of the answer
	now        time.Time
	partner    *Partner
	complaints []complaint
}

// A route has a guard that refuses who may not call it, before all else.
type route struct {
	stage   int
	pattern string // method and path
	guard   func(*Request)
	handle  func(*Request) answer
}

func anybody(*Request) {}

// handler serves the routes of a stage and those before it. Other methods of their paths are 405.
func (s *Server) handler(stage int) http.Handler {
	mux, allowed := http.NewServeMux(), map[string][]string{}
	add := func(pattern string, route route) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
	}
	for _, route := range s.routes() {
		if method, path, _ := strings.Cut(route.pattern, " "); route.stage <= stage {
			add(route.pattern, route)
			allowed[path] = append(allowed[path], method)
		}
	}
	for path, methods := range allowed {
		add(path, route{guard: anybody, handle: func(r *Request) answer {
			r.header.Set("Allow", strings.Join(methods, ", "))
			return wrongMethod
		}})
	}
	add("/", route{guard: anybody, handle: func(*Request) answer { return notFound }})
	return mux
}

// serve answers one request at a time: all of the server is behind one mutex. What panics with no answer is
// an unexpected error.
func (s *Server) serve(w http.ResponseWriter, req *http.Request, route route) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r, given := &Request{Request: req, header: w.Header(), now: s.clock.now()}, internal
	r.header.Set("Date", r.now.Format(http.TimeFormat))
	r.header.Set("Content-Type", "application/json")
	func() {
		defer func() {
			if refusal, isRefusal := recover().(answer); isRefusal {
				given = refusal
			}
		}()
		route.guard(r)
		given = route.handle(r)
	}()
	w.WriteHeader(given.status)
	json.NewEncoder(w).Encode(given.body)
}

// want complains where something of the request is not as it has to be. check tells all of it together.
func (r *Request) want(good bool, place, message string) {
	if !good {
		r.complaints = append(r.complaints, complaint{message, "VALIDATION_ERROR", object{"field": place}})
	}
}

func (r *Request) check() { refuseIf(r.complaints != nil, answer{400, object{"errors": r.complaints}}) }

// query is a parameter, or "" without one.
func (r *Request) query(name string) string {
	parameters, err := url.ParseQuery(r.URL.RawQuery)
	r.want(err == nil && len(parameters[name]) < 2, name, "is malformed, or given more than once")
	return parameters.Get(name)
}

func (r *Request) number(name string, unlessGiven, least, most int) int {
	text := cmp.Or(r.query(name), strconv.Itoa(unlessGiven))
	if name == "skip" && text == "null" {
		return unlessGiven
	}
	number, err := strconv.Atoi(text)
	good := err == nil && text[0] != '+' && least <= number && number <= most
	r.want(good, name, "is no whole number, too small or too large")
	return number
}

// day is a parameter that is a day, as in 2026-11-25.
func (r *Request) day(name string, required bool) string {
	text := r.query(name)
	_, err := time.Parse(time.DateOnly, text)
	r.want(err == nil || text == "" && !required, name, "is no day of the form YYYY-MM-DD")
	return text
}

// choice is a parameter that has to be one of these, the first unless it is given.
func (r *Request) choice(name string, choices ...string) string {
	text := cmp.Or(r.query(name), choices[0])
	r.want(slices.Contains(choices, text), name, "is none of "+strings.Join(choices, ", "))
	return text
}

// capital is the name of a member that Go takes for the one that begins with a small letter.
var capital = regexp.MustCompile(`"[A-Z]\w*"\s*:`)

// body reads the JSON object of a request. It may be absent where it is not required; it is read strictly:
// no members that are not declared, no null, and nothing behind its end.
func (r *Request) body(required bool, into any) {
	text, _ := io.ReadAll(io.LimitReader(r.Body, largestBody+1))
	kind := r.Header.Get("Content-Type")
	media, _, _ := mime.ParseMediaType(kind)
	refuseIf(len(text) > largestBody, tooLarge)
	refuseIf(kind != "" && media != "application/json", notJSON)
	if len(text) == 0 && !required {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	good := json.Valid(text) && decoder.Decode(into) == nil && !capital.Match(text)
	tokens := json.NewDecoder(bytes.NewReader(text))
	token, err := tokens.Token()
	for err == nil && token != nil {
		token, err = tokens.Token()
	}
	r.want(good && err == io.EOF, "body", "is not as it has to be")
	r.check()
}

// page cuts a list into pages.
func page[T any](list []T, skip, take int) []T {
	list = list[min(skip, len(list)):]
	return list[:min(take, len(list))]
}

// listed shows a page of a list, of at most 50.
func listed[T any](r *Request, name string, list []T, view func(T) object) answer {
	take, skip := r.number("take", 50, 1, 50), r.number("skip", 0, 0, largestSkip)
	r.check()
	return ok(200, object{name: views(page(list, skip, take), view), "total": len(list)})
}

// views shows each thing of a list.
func views[T any](list []T, view func(T) object) []object {
	shown := []object{}
	for _, thing := range list {
		shown = append(shown, view(thing))
	}
	return shown
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// money is an amount of hundredths as a number.
func money(amount int) float64 { return float64(amount) / 100 }

// utc writes an instant in UTC with milliseconds (General conventions, 4).
func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// local writes an instant by the wall clock of a zone, with its offset.
func local(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02T15:04:05.000-07:00")
}
