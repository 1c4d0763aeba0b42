package main

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// What all stages have in common: how requests are read and answers are written.

const largestNumber = 1<<31 - 1

type object = map[string]any

// An answer is what goes back to a client. A body of bytes is a file, any other is written as JSON.
type answer struct {
	status int
	body   any
}

// ok wraps a result (General conventions, 1).
func ok(data any) answer { return answer{200, object{"data": data}} }

// A complaint is an error of the envelope (Errors).
type complaint struct {
	Message   string `json:"message"`
	ErrorCode string `json:"errorCode"`
	Details   object `json:"details,omitempty"`
}

func failure(status int, all ...complaint) answer { return answer{status, object{"errors": all}} }

// The table of Errors, but for 400, whose complaints are collected, and 409.
var (
	unauthorized = failure(401, complaint{"AUTH_INVALID_CREDENTIALS", "UNAUTHORIZED", nil})
	forbidden    = failure(403, complaint{"AUTH_NO_ACCESS", "FORBIDDEN", nil})
	notFound     = failure(404, complaint{"RESOURCE_NOT_FOUND", "NOT_FOUND", nil})
	gone         = failure(410, complaint{"See /docs/migration", "GONE", nil})
	internal     = failure(500, complaint{"Unexpected server error", "INTERNAL", nil})
)

func conflict(reason string, details object) answer {
	details["reason"] = reason
	return failure(409, complaint{"This cannot be done in the current state", "CONFLICT", details})
}

// refuseIf ends a request at once, from wherever it is called.
func refuseIf(bad bool, refusal answer) {
	if bad {
		panic(refusal)
	}
}

// A Request is one request, with all that is needed to answer it.
type Request struct {
	*http.Request
	*Server
	header     http.Header // of the answer
	now        time.Time   // all of a request happens at one instant
	partner    *Partner    // who asks, if it is one
	complaints []complaint
	revived    map[*Ticket][]Ride // the seats that lapsed tickets get by this request
}

// A route is there from its stage on. Before all else its guard refuses those who may not call it.
type route struct {
	stage   int
	pattern string // method and path
	guard   func(*Request)
	handle  func(*Request) answer
}

// anybody is the guard of routes that need no credentials (Authentication, 5).
func anybody(*Request) {}

// handler serves the routes of a stage and those before it.
func (s *Server) handler(stage int) http.Handler {
	mux := http.NewServeMux()
	for _, route := range routes {
		if route.stage <= stage {
			mux.HandleFunc(route.pattern, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, route) })
		}
	}
	return mux
}

// serve answers one request, while no other one is answered.
func (s *Server) serve(w http.ResponseWriter, request *http.Request, route route) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	r := &Request{Request: request, Server: s, header: w.Header(), now: s.clock.now()}
	r.header.Set("Date", r.now.Format(http.TimeFormat))
	r.header.Set("Content-Type", "application/json")
	given := r.answerTo(route)
	w.WriteHeader(given.status)
	if file, isFile := given.body.([]byte); isFile {
		w.Write(file)
		return
	}
	json.NewEncoder(w).Encode(given.body)
}

// answerTo catches what refuseIf has thrown. Any other panic is an unexpected error.
func (r *Request) answerTo(route route) (given answer) {
	given = internal
	defer func() {
		if refusal, isRefusal := recover().(answer); isRefusal {
			given = refusal
		}
	}()
	route.guard(r)
	return route.handle(r)
}

// want complains where something of the request has the wrong form. check refuses with all complaints.
func (r *Request) want(good bool, place, message string) {
	if !good {
		r.complaints = append(r.complaints, complaint{message, "VALIDATION_ERROR", object{"field": place}})
	}
}

func (r *Request) check() { refuseIf(r.complaints != nil, failure(400, r.complaints...)) }

// query is a parameter, or "" without one.
func (r *Request) query(name string) string {
	values := r.URL.Query()[name]
	r.want(len(values) < 2, name, "is given more than once")
	return strings.Join(values, "")
}

func (r *Request) number(name string, unlessGiven, least, most int) int {
	text := r.query(name)
	if text == "" || name == "skip" && text == "null" { // GET /v2/offers/schedule: skip may be null
		return unlessGiven
	}
	number, err := strconv.Atoi(text)
	r.want(err == nil && least <= number && number <= most, name, "is not a number, or is too small or "+
		"too large")
	return number
}

// skip is where a page begins (GET /v2/bookings, GET /v2/offers/schedule).
func (r *Request) skip() int { return r.number("skip", 0, 0, largestNumber) }

// day is a parameter that is a day, as in 2026-11-25.
func (r *Request) day(name string, required bool) string {
	text := r.query(name)
	_, err := time.Parse(time.DateOnly, text)
	r.want(err == nil || text == "" && !required, name, "is not a day of the form YYYY-MM-DD")
	return text
}

// choice is a parameter that has to be one of these, the first unless it is given.
func (r *Request) choice(name string, choices ...string) string {
	text := cmp.Or(r.query(name), choices[0])
	r.want(slices.Contains(choices, text), name, "is not one of "+strings.Join(choices, ", "))
	return text
}

// body reads the JSON object of a request: it has no undeclared field, and nothing stands behind its end.
func (r *Request) body(into any) {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	err := decoder.Decode(into)
	_, end := decoder.Token()
	r.want(err == nil && end == io.EOF, "body", "has the wrong form")
	r.check()
}

// listed shows a page of a list, with the total of all (General conventions, 1; GET /v2/bookings).
func listed[T any](r *Request, name string, list []T, view func(T) object) answer {
	take, skip := r.number("take", 50, 1, 50), r.skip()
	r.check()
	return ok(object{name: views(page(list, skip, take), view), "total": len(list)})
}

// page cuts a list into pages.
func page[T any](list []T, skip, take int) []T {
	list = list[min(skip, len(list)):]
	return list[:min(take, len(list))]
}

// views shows each thing of a list.
func views[T any](list []T, view func(T) object) []object {
	shown := []object{}
	for _, thing := range list {
		shown = append(shown, view(thing))
	}
	return shown
}

// where is the part of a list that is wanted.
func where[T any](list []T, isWanted func(T) bool) (part []T) {
	for _, thing := range list {
		if isWanted(thing) {
			part = append(part, thing)
		}
	}
	return part
}

// find is the one of a list that is wanted. Where there is none, the request is refused.
func find[T any](list []T, isWanted func(T) bool) T {
	part := where(list, isWanted)
	refuseIf(len(part) == 0, notFound)
	return part[0]
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// utc writes an instant in UTC with milliseconds (General conventions, 4).
func utc(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// local writes an instant by the wall clock of a zone, with its offset (Departure).
func local(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("2006-01-02T15:04:05.000-07:00")
}
