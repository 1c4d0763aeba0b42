// Package transcript is a language for requests and for what their answers must be, as people would write
// them down:
//
//	GET /v2/cities?take=1
//	    200
//	    data.cities # 1
//	    data.cities[*] has id name slug
//	    slug = data.cities[0].slug
//	GET /v2/cities/$slug
//	    data.city.slug == "$slug"
//
// A [Player] holds the last answer and the variables. Who plays a transcript sends the requests, and knows
// steps of its own; the checks are these, each of a path in the answer's JSON:
//
//	STATUS                the status of the answer
//	PATH == JSON          the value, as it stands; body is all of it; also !=
//	PATH ~ REGEXP         of the value's JSON; also !~
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
//
// A path is as data.offers[0].id; where it has [*], the check holds for each element, of which there must be
// one at least, and sorted and unique are about all of them together. Where it has [NAME=TEXT], it goes on
// from the first element whose member NAME, or what the path NAME leads to, is TEXT, as in
// data.tickets[id=$ticket].status. $NAME as a path is a variable.
package transcript

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Player holds what is known while a transcript is played.
type Player struct {
	Vars   map[string]string
	Answer Answer // the last
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

// Mismatch is the error of an answer that is not as it should be.
type Mismatch struct {
	What string // the path, or "status"
	Got  string
	Want string // with the operator
}

// Error says what came and what was expected, in three lines.
func (e *Mismatch) Error() string {
	return fmt.Sprintf("%s\n got %s\nwant %s", e.What, e.Got, e.Want)
}

var variable = regexp.MustCompile(`\$\w+`)

// Expand puts the values of variables into a text. Error: *Unknown.
func (p *Player) Expand(text string) (expanded string, err error) {
	return p.ExpandAs(text, func(value string) string { return value })
}

// ExpandAs is Expand with the values in another form, as they have in a URL.
func (p *Player) ExpandAs(text string, form func(value string) string) (expanded string, err error) {
	expanded = variable.ReplaceAllStringFunc(text, func(name string) string {
		v, ok := p.Vars[name[1:]]
		if !ok && err == nil {
			err = &Unknown{name[1:]}
		}
		return form(v)
	})
	return expanded, err
}

// Split parts a request into its method, its target and its body.
func Split(line string) (method, target, body string) {
	method, rest, _ := strings.Cut(line, " ")
	target, body, _ = strings.Cut(rest, " ")
	return method, target, body
}
