// Package wire reads and writes JSON the way Waybill's interface and journal
// have it, without reflection.
//
// [Reader] is strict where encoding/json is lenient: a member name in another
// case, a duplicate or undeclared member, null, trailing data, invalid UTF-8
// and half a surrogate pair are all refused (contract §3), each at its place
// in the document, and every complaint of a document is collected before the
// caller answers. [Writer] appends a resource's members in the order of the
// interface's document, with explicit null and [], money and instants in one
// place.
package wire

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// A Problem is one complaint about a document; Field names the place, as in
// passengers[1].email, or is "body" where no place can be told.
type Problem struct{ Field, Message string }

const (
	maxDepth   = 32 // nested arrays and objects
	maxMembers = 64 // members of one object; more than any document of the interface has
)

// A Reader reads one JSON document. The caller asks for the value it expects;
// a value of another type is a Problem and reads as zero, and reading goes on.
// Once the syntax is broken nothing more is read.
type Reader struct {
	Problems []Problem

	src    []byte
	pos    int
	path   []step
	broken bool
}

type step struct {
	key   []byte // nil for an array's element
	index int
}

// NewReader starts to read src, which it keeps but does not change.
func NewReader(src []byte) *Reader {
	r := &Reader{src: src}
	if !utf8.Valid(src) {
		r.syntax("is not valid UTF-8")
	}
	return r
}

// End reports what stands after the document's only value.
func (r *Reader) End() {
	if r.space(); !r.broken && r.pos < len(r.src) {
		r.syntax(fmt.Sprintf("has something after the JSON value, at byte %d", r.pos))
	}
}

// Err gives the first problem as an error, for documents of our own making.
func (r *Reader) Err() error {
	if len(r.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("wire: %s %s", r.Problems[0].Field, r.Problems[0].Message)
}

// Reject records a complaint about the value being read.
func (r *Reader) Reject(message string) { r.RejectAt("", message) }

// RejectAt records a complaint about a member of the value being read.
func (r *Reader) RejectAt(member, message string) {
	r.Problems = append(r.Problems, Problem{r.place(member), message})
}

func (r *Reader) place(member string) string {
	var b []byte
	for _, s := range r.path {
		if s.key == nil {
			b = append(strconv.AppendInt(append(b, '['), int64(s.index), 10), ']')
			continue
		}
		if len(b) > 0 {
			b = append(b, '.')
		}
		b = append(b, s.key...)
	}
	if member != "" {
		if len(b) > 0 {
			b = append(b, '.')
		}
		b = append(b, member...)
	}
	if len(b) == 0 {
		return "body"
	}
	return string(b)
}

func (r *Reader) syntax(message string) {
	if !r.broken {
		r.broken = true
		r.Problems = append(r.Problems, Problem{"body", message})
	}
}

func (r *Reader) malformed() { r.syntax(fmt.Sprintf("is not well-formed JSON, at byte %d", r.pos)) }

func (r *Reader) space() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek gives the first byte of the next value, or 0 where there is none.
func (r *Reader) peek() byte {
	if r.space(); r.broken || r.pos >= len(r.src) {
		return 0
	}
	return r.src[r.pos]
}

func (r *Reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.pos++
	return true
}

// want checks the kind of the next value; another one is skipped with a complaint.
func (r *Reader) want(ok bool, kind string) bool {
	if ok || r.broken {
		return ok && !r.broken
	}
	null := r.peek() == 'n'
	r.Skip()
	switch {
	case r.broken:
	case null:
		r.Reject("must not be null")
	default:
		r.Reject("must be " + kind)
	}
	return false
}

// Object reads an object and calls member for each of its members, which must
// read the value (or call [Reader.Unknown]). The name is only valid during the call.
// It reports whether there was an object.
func (r *Reader) Object(member func(name []byte)) bool {
	if !r.want(r.peek() == '{', "an object") {
		return false
	}
	r.pos++
	if len(r.path) >= maxDepth {
		r.syntax("is nested too deeply")
		return false
	}
	var room [16][]byte
	seen := room[:0]
	for first := true; !r.take('}'); first = false {
		if !first && !r.take(',') || r.peek() != '"' {
			r.malformed()
			return false
		}
		name := r.text()
		if r.broken || !r.take(':') {
			r.malformed()
			return false
		}
		r.path = append(r.path, step{key: name})
		for _, s := range seen {
			if bytes.Equal(s, name) {
				r.Reject("is given twice")
				break
			}
		}
		if seen = append(seen, name); len(seen) > maxMembers {
			r.syntax("has too many members in one object")
			return false
		}
		member(name)
		if r.broken {
			return false
		}
		r.path = r.path[:len(r.path)-1]
	}
	return true
}

// A Field is a member that an object may have, or must. Read reads its value.
type Field struct {
	Name     string
	Required bool
	Read     func()
}

// Must is a Field that must be there.
func Must(name string, read func()) Field { return Field{name, true, read} }

// May is a Field that may be left out.
func May(name string, read func()) Field { return Field{name, false, read} }

// Fields reads an object with these members, and complains about others and
// about those it must have and has not.
func (r *Reader) Fields(fields ...Field) {
	var given uint64
	if !r.Object(func(name []byte) {
		for i := range fields {
			if fields[i].Name == string(name) {
				given |= 1 << i
				fields[i].Read()
				return
			}
		}
		r.Unknown()
	}) {
		return
	}
	for i := range fields {
		if fields[i].Required && given>>i&1 == 0 {
			r.RejectAt(fields[i].Name, "is required")
		}
	}
}

// Array reads an array and calls element for each of its elements, which must read the value.
func (r *Reader) Array(element func(i int)) bool {
	if !r.want(r.peek() == '[', "an array") {
		return false
	}
	r.pos++
	if len(r.path) >= maxDepth {
		r.syntax("is nested too deeply")
		return false
	}
	for i := 0; !r.take(']'); i++ {
		if i > 0 && !r.take(',') {
			r.malformed()
			return false
		}
		r.path = append(r.path, step{index: i})
		element(i)
		if r.broken {
			return false
		}
		r.path = r.path[:len(r.path)-1]
	}
	return true
}

// Unknown complains about a member that is not declared, and skips it.
func (r *Reader) Unknown() {
	r.Skip()
	if !r.broken {
		r.Reject("is not a known field")
	}
}

// String reads a string.
func (r *Reader) String() string {
	if !r.want(r.peek() == '"', "a string") {
		return ""
	}
	return string(r.text())
}

// Text reads a string that ok approves of. Another one is a complaint, that it
// must be so, and reads as "".
func (r *Reader) Text(ok func(string) bool, must string) string {
	before := len(r.Problems)
	v := r.String()
	if len(r.Problems) == before && !ok(v) {
		r.Reject("must " + must)
	}
	if len(r.Problems) > before {
		return ""
	}
	return v
}

// Bytes reads a string; the bytes may lie in the document itself.
func (r *Reader) Bytes() []byte {
	if !r.want(r.peek() == '"', "a string") {
		return nil
	}
	return r.text()
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	c := r.peek()
	if !r.want(c == 't' || c == 'f', "true or false") {
		return false
	}
	r.Skip()
	return c == 't' && !r.broken
}

// Int reads a whole number of at most 19 digits.
func (r *Reader) Int() int64 {
	c := r.peek()
	if !r.want(c == '-' || c >= '0' && c <= '9', "a whole number") {
		return 0
	}
	raw := r.Raw()
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil && !r.broken {
		r.Reject("must be a whole number")
	}
	return n
}

// Raw reads any value and gives its bytes as they stand.
func (r *Reader) Raw() []byte {
	r.space()
	start := r.pos
	r.Skip()
	if r.broken {
		return nil
	}
	return r.src[start:r.pos]
}

// Skip reads any value and forgets it.
func (r *Reader) Skip() {
	switch c := r.peek(); {
	case r.broken:
	case c == '{':
		r.Object(func([]byte) { r.Skip() })
	case c == '[':
		r.Array(func(int) { r.Skip() })
	case c == '"':
		r.text()
	case c == '-' || c >= '0' && c <= '9':
		r.number()
	default:
		for _, word := range [...]string{"true", "false", "null"} {
			if bytes.HasPrefix(r.src[r.pos:], []byte(word)) {
				r.pos += len(word)
				return
			}
		}
		r.malformed()
	}
}
