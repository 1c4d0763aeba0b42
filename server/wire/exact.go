package wire

import (
	"bytes"
	"fmt"
)

// The methods Literal, Member, At and More read a document whose exact form is
// known, because a [Writer] wrote it: members in order, no white space.

// Literal reads exactly these bytes.
func (r *Reader) Literal(text string) {
	if r.broken || !bytes.HasPrefix(r.src[r.pos:], []byte(text)) {
		r.malformed()
		return
	}
	r.pos += len(text)
}

// Member reads the name of the next member, which must be this one, or before
// the element of an array, where the name is "", the comma.
func (r *Reader) Member(name string) {
	if !r.At(name) {
		r.syntax(fmt.Sprintf("has no %q where it should be, at byte %d", name, r.pos))
		return
	}
	if r.comma() {
		r.pos++
	}
	if name != "" {
		r.pos += len(name) + len(`"":`)
	}
}

// At tells whether the next member has this name.
func (r *Reader) At(name string) bool {
	rest := r.src[r.pos:]
	if r.broken {
		return false
	}
	if r.comma() {
		if len(rest) == 0 || rest[0] != ',' {
			return false
		}
		rest = rest[1:]
	}
	n := len(name)
	return n == 0 || len(rest) > n+2 && rest[0] == '"' && string(rest[1:n+1]) == name && rest[n+1] == '"' && rest[n+2] == ':'
}

// comma tells whether a comma must come before the next member or element.
func (r *Reader) comma() bool {
	return r.pos > 0 && r.src[r.pos-1] != '{' && r.src[r.pos-1] != '[' && r.src[r.pos-1] != ':'
}

// More tells whether the array goes on; at its end it reads the bracket.
func (r *Reader) More() bool {
	if !r.broken && r.pos < len(r.src) && r.src[r.pos] == ']' {
		r.pos++
		return false
	}
	return !r.broken
}
