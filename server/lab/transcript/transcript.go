// Package transcript is a language for requests and for what their answers must be, as people would write
// them down:
//
//	as nobody
//	GET /v2/cities?take=1
//	    200
//	    data.cities # 1
//	    data.cities[*] has id name slug
//	    slug = data.cities[0].slug
//	GET /v2/cities/$slug
//	    data.city.slug == "$slug"
//
// A [Player] plays it, a line at a time, against a handler or over HTTP: how a request is sent says Ask. A
// line is a step, and those that are indented check the last answer. The steps are
//
//	METHOD TARGET [BODY]  asks
//	as NAME               who asks from here on
//	with NAME: VALUE      the next request has this header
//	set NAME TEXT         keeps a text as $NAME
//	NAME = EXPRESSION     keeps what an expression comes to
//	await CHECK           asks the last question again until the check holds
//
// and those of Verbs, which is what one player knows and another does not. The expressions are
//
//	NUMBER + NUMBER                  a sum
//	DATE + NUMBER days               a day; today is one
//	INSTANT + DURATION               an instant; now is one
//	day INSTANT                      its day in UTC
//	day INSTANT in ZONE              its day there
//	clock INSTANT in ZONE            the day and the time that its clocks show, to the minute
//	time INSTANT in ZONE             the time alone
//	refund PRICE DEPARTURE RULES     what comes back of a price that is canceled now (interface, States)
//	tier DEPARTURE RULES             when the next of the tiers ends by which a price comes back
//	middle TEXT                      without its first and its last letter
//	http DATE                        the instant of a date as in headers
//	unix @SECONDS                    that of seconds since 1970
//
// and the checks, each of a path in the answer's JSON:
//
//	STATUS                the status of the answer
//	PATH == JSON          the value; body is all of it; also !=
//	PATH ~ REGEXP         of the value's JSON, without blanks between its parts; also !~
//	PATH # NUMBER         the length of an array
//	PATH keys WORDS       an object's members, these and no others, in this order
//	PATH only WORDS       the same, in any order
//	PATH has WORDS        an object's members, these and maybe others
//	PATH lasts FROM TO N  an object's member N is how many minutes lie between two others
//	PATH <= VALUE         of two numbers, or two instants; also >=
//	PATH sorted up|down   a list of numbers, instants or texts; equal neighbours are fine
//	PATH unique           a list without a value that is there twice
//	header NAME == TEXT   or ~, !=, !~
//	NAME = PATH           keeps a value as $NAME; also "header NAME", and "length PATH" of an array
//	? CHECK               a condition: what follows says nothing where it does not hold; also "? !STATUS"
//
// A path is as data.offers[0].id; where it has [*], the check holds for each element, of which there must be
// one at least, and sorted and unique are about all of them together. Where it has [NAME=TEXT], it goes on
// from the first element whose member NAME, or what the path NAME leads to, is TEXT, as in
// data.tickets[id=$ticket].status. $NAME as a path is a variable.
//
// A variable is what stands between the quotes of a text in JSON, or another value's JSON. It is put into a
// body as it is, into a target or a header as the text that it stands for, and into a pattern as itself.
package transcript

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Player holds what is known while a transcript is played, and plays it.
type Player struct {
	Vars   map[string]string
	Answer Answer // the last
	Caller string // who asks, as the last step "as" said
	Asked  string // the last request, as it is written

	Ask      func(Request) (Answer, error)      // sends a request, as the caller
	Verbs    map[string]func(rest string) error // steps of one's own, by their first word
	Now      func() time.Time                   // the instant by the server's clock
	Patience time.Duration                      // of await

	header http.Header // of the next request
	last   Request
}

// Request is what is asked.
type Request struct {
	Method, Target, Body string // "" is no body
	Header               http.Header
}

// Answer is what came of a request.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Unknown is the error of a variable that has no value.
type Unknown struct{ Name string }

// Error names the variable.
func (e *Unknown) Error() string {
	return "no variable $" + e.Name
}

// Unmet is the error of a condition that does not hold.
type Unmet struct{ Why string }

// Error says which one.
func (e *Unmet) Error() string { return e.Why }

// Mismatch is the error of an answer that is not as it should be.
type Mismatch struct {
	What string // the path, or "status"
	Got  string
	Want string // with the operator
}

// Error says what came and what was expected, in a sentence.
func (e *Mismatch) Error() string {
	op, want, _ := strings.Cut(e.Want, " ")
	form := shoulds[op]
	if form == "" {
		form, want = "%s", e.Want
	}
	got := cmp.Or(e.Got, "empty")
	if len(got) > mostShown { // what was expected comes behind it
		got = got[:mostShown] + "…"
	}
	return fmt.Sprintf("%s is %s, and should be "+form, e.What, got, want)
}

// shoulds are the words of what an operator expects.
var shoulds = map[string]string{
	"==":    "%s",
	"!=":    "another value than %s",
	"~":     "like %s",
	"!~":    "without %s",
	"#":     "a list of %s",
	"<=":    "at most %s",
	">=":    "at least %s",
	"lasts": "one whose members %s are two instants and the minutes between",
	"keys":  "an object with the members %s, in this order",
	"only":  "an object with the members %s and no other",
	"has":   "an object with the members %s",
}

// mostShown is how much of a value a sentence shows, in bytes.
const mostShown = 300
