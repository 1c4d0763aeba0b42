// Package wire reads and writes JSON the way Waybill's interface and journal have it, without reflection.
//
// [Reader] is strict where encoding/json is lenient: a member name in another case, a duplicate or undeclared
// member, null, trailing data, invalid UTF-8 and half a surrogate pair are all refused (decision
// bodies.strict), each at its place in the document, and every complaint of a document is collected before
// the caller answers. [Writer] appends a resource's members in the order of the interface's document, with
// explicit null and [], money and instants in one place.
package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// A Problem is one complaint; Field names the place, as passengers[1].email, or is "body" where none can be
// told.
type Problem struct{ Field, Message string }

const (
	// MaxProblems is how many complaints about one document are kept. Others are only counted: a body of 256
	// KiB has room for 100,000 of them.
	MaxProblems = 100

	// MaxDepth is how many arrays and objects may be nested, MaxMembers how many members an object may have:
	// more than any document of the interface has. A document beyond is malformed, and not read any further.
	MaxDepth   = 32
	MaxMembers = 64

	maxField = 128 // bytes of a Problem's Field: the names in it are whatever a client has sent
)

// A Reader reads one JSON document. The caller asks for the value it expects; a value of another type is a
// Problem and reads as zero, and reading goes on. Once the syntax is broken nothing more is read.
type Reader struct {
	// Problems are the first complaints, at most MaxProblems, each once.
	Problems []Problem
	// Dropped is how many complaints there are besides.
	Dropped int
	// Exact has blanks refused, and escapes in names, as of what this program has written. It is set after
	// Reset.
	Exact bool

	src    []byte
	pos    int
	path   []byte // the place of the value being read
	depth  int    // the arrays and objects around it
	broken bool
}

// NewReader starts to read src, which it keeps but does not change.
func NewReader(src []byte) *Reader {
	r := new(Reader)
	r.Reset(src)
	return r
}

// Reset starts to read another document, as NewReader does.
func (r *Reader) Reset(src []byte) {
	*r = Reader{src: src}
	if !utf8.Valid(src) {
		r.syntax("is not valid UTF-8")
	}
}

// End reports what stands after the document's only value.
func (r *Reader) End() {
	if r.peek(); !r.broken && r.pos < len(r.src) {
		r.syntax(fmt.Sprintf("has something after the JSON value, at byte %d", r.pos))
	}
}

// Err returns the first problem as an error, for documents that the program has written itself.
func (r *Reader) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("wire: %s %s", r.Problems[0].Field, r.Problems[0].Message)
}

// Reject records a complaint about the value being read, unless the syntax is broken.
func (r *Reader) Reject(message string) {
	switch {
	case r.broken:
	case len(r.Problems) >= MaxProblems:
		r.Dropped++
	default:
		r.keep(Problem{cmp.Or(shortened(r.path), "body"), message})
	}
}

// keep adds a problem, unless it is there already.
func (r *Reader) keep(p Problem) {
	if !slices.Contains(r.Problems, p) {
		r.Problems = append(r.Problems, p)
	}
}

// shortened returns the start of a place that is too long, cut between two characters.
func shortened(place []byte) string {
	if len(place) <= maxField {
		return string(place)
	}
	end := maxField
	for !utf8.RuneStart(place[end]) {
		end--
	}
	return string(place[:end]) + "…"
}

// complained returns how many complaints there have been.
func (r *Reader) complained() int {
	return len(r.Problems) + r.Dropped
}

// RejectAt records a complaint about a member of the value being read.
func (r *Reader) RejectAt(member, message string) {
	around := r.enter([]byte(member))
	r.Reject(message)
	r.path = r.path[:around]
}

// enter makes a member the current place, and returns the length of the path around it.
func (r *Reader) enter(member []byte) (around int) {
	around = len(r.path)
	if around > 0 {
		r.path = append(r.path, '.')
	}
	r.path = append(r.path, member...)
	return around
}

func (r *Reader) syntax(message string) {
	if !r.broken {
		r.path = r.path[:0]
		r.Reject(message)
		r.broken = true
	}
}

func (r *Reader) malformed() {
	r.syntax(fmt.Sprintf("is not well-formed JSON, at byte %d", r.pos))
}

// peek passes white space and returns the byte after it, or 0 where there is none.
func (r *Reader) peek() byte {
	for ; !r.broken && r.pos < len(r.src); r.pos++ {
		c := r.src[r.pos]
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' || r.Exact {
			return c
		}
	}
	return 0
}

func (r *Reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.pos++
	return true
}

// want reports whether the next value is of the right kind. It skips a value of another kind, with a
// complaint.
func (r *Reader) want(ok bool, kind string) bool {
	if !ok {
		must := "must be " + kind
		if r.peek() == 'n' {
			must = "must not be null"
		}
		r.Skip()
		r.Reject(must)
	}
	return ok
}

func (r *Reader) open(bracket byte, kind string) bool {
	if !r.want(r.peek() == bracket, kind) {
		return false
	}
	r.pos++
	if r.depth++; r.depth > MaxDepth {
		r.syntax("is nested too deeply")
	}
	return !r.broken
}

// next reads the bytes before the i-th member or element. It returns false at the closing bracket, or where
// the syntax is broken.
func (r *Reader) next(i int, bracket byte) bool {
	if r.take(bracket) {
		r.depth--
		return false
	}
	if i > 0 && !r.take(',') {
		r.malformed()
	}
	return !r.broken
}

// Object reads an object. member must read each member's value, and not keep the name. It returns false
// where there is no object.
func (r *Reader) Object(member func(name []byte)) bool {
	if !r.open('{', "an object") {
		return false
	}
	var room [16][]byte
	seen := room[:0]
	for r.next(len(seen), '}') {
		var name []byte
		start := r.pos
		if r.peek() == '"' {
			name = r.text()
		}
		if name == nil || r.Exact && r.pos != start+len(name)+len(`""`) || !r.take(':') {
			r.malformed()
			return false
		}
		around := r.enter(name)
		if slices.ContainsFunc(seen, func(s []byte) bool {
			return bytes.Equal(s, name)
		}) {
			r.Reject("is given twice")
		}
		seen = append(seen, name)
		if len(seen) > MaxMembers {
			r.syntax("has too many members in one object")
			return false
		}
		member(name)
		r.path = r.path[:around]
	}
	return !r.broken
}

// A Field is a member that an object may have, or must. Read reads its value.
type Field struct {
	Name     string
	Required bool
	Read     func()
}

// Must is a Field that must be there.
func Must(name string, read func()) Field {
	return Field{name, true, read}
}

// May is a Field that may be left out.
func May(name string, read func()) Field {
	return Field{name, false, read}
}

// Fields reads an object with these members. It complains about other members, and about required ones that
// are missing.
func (r *Reader) Fields(fields ...Field) {
	var given uint64
	ok := r.Object(func(name []byte) {
		i := slices.IndexFunc(fields, func(f Field) bool {
			return f.Name == string(name)
		})
		if i < 0 {
			r.Skip()
			r.Reject("is not a known field")
			return
		}
		given |= 1 << i
		fields[i].Read()
	})
	for i, f := range fields {
		if ok && f.Required && given>>i&1 == 0 {
			r.RejectAt(f.Name, "is required")
		}
	}
}

// Array reads an array and calls element for each of its elements, which must read the value.
func (r *Reader) Array(element func(i int)) bool {
	if !r.open('[', "an array") {
		return false
	}
	for i := 0; r.next(i, ']'); i++ {
		around := len(r.path)
		r.path = append(strconv.AppendInt(append(r.path, '['), int64(i), 10), ']')
		element(i)
		r.path = r.path[:around]
	}
	return !r.broken
}

// ArrayOf is Array with a limit of elements. Those beyond are skipped, with one complaint.
func (r *Reader) ArrayOf(most int, element func(i int)) bool {
	given := 0
	ok := r.Array(func(i int) {
		given++
		if i < most {
			element(i)
		} else {
			r.Skip()
		}
	})
	if given > most {
		r.Reject(fmt.Sprintf("must have at most %d elements", most))
	}
	return ok
}

// String reads a string.
func (r *Reader) String() string {
	return string(r.Bytes())
}

// Text reads a string that ok accepts. Any other value is a complaint, that it must be so, and reads as "".
func (r *Reader) Text(ok func(string) bool, must string) string {
	before := r.complained()
	v := r.String()
	if r.complained() == before && !ok(v) {
		r.Reject("must " + must)
		return ""
	}
	return v // "" where it is no string
}

// Bytes reads a string; the bytes may lie in the document itself.
func (r *Reader) Bytes() []byte {
	if !r.want(r.peek() == '"', "a string") {
		return nil
	}
	return r.text()
}

// strictBase64 is base64url in one form. Strict makes it anew with each call, and a start reads millions of
// texts in it.
var strictBase64 = base64.RawURLEncoding.Strict()

// Base64 reads a member of bytes in base64url, and appends them to b.
func (r *Reader) Base64(name string, b []byte) []byte {
	r.Member(name)
	b, err := strictBase64.AppendDecode(b, r.Bytes())
	if err != nil {
		r.Reject(name + " is not base64url")
	}
	return b
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	r.peek()
	v := r.accept("true")
	r.want(v || r.accept("false"), "true or false")
	return v
}

// Int reads a whole number of at most 19 digits.
func (r *Reader) Int() int64 {
	if !r.want(startsNumber(r.peek()), "a whole number") {
		return 0
	}
	start := r.pos
	r.number()
	n, err := strconv.ParseInt(string(r.src[start:r.pos]), 10, 64)
	if err != nil {
		r.Reject("must be a whole number")
	}
	return n
}

// Raw reads any value and returns its bytes as they stand.
func (r *Reader) Raw() []byte {
	r.peek()
	start := r.pos
	r.Skip()
	if r.broken {
		return nil
	}
	return r.src[start:r.pos]
}

// Skip reads any value and forgets it.
func (r *Reader) Skip() {
	c := r.peek()
	switch {
	case r.broken:
	case c == '{':
		r.Object(func([]byte) {
			r.Skip()
		})
	case c == '[':
		r.Array(func(int) { r.Skip() })
	case c == '"':
		r.text()
	case startsNumber(c):
		r.number()
	case !r.accept("true") && !r.accept("false") && !r.accept("null"):
		r.malformed()
	}
}
