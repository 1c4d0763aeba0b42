package wire

import "fmt"

// The methods Literal, Member, At and More read a document whose exact form is
// known, because a [Writer] wrote it: members in order, no white space.

// Literal reads exactly these bytes.
func (r *Reader) Literal(text string) {
	if !r.accept(text) {
		r.malformed()
	}
}

// Member reads the name of the next member, which must be this one, or before
// the element of an array, where the name is "", the comma.
func (r *Reader) Member(name string) {
	start := r.pos
	if !r.member(name) {
		r.syntax(fmt.Sprintf("has no %q where it should be, at byte %d", name, start))
	}
}

// At tells whether the next member has this name.
func (r *Reader) At(name string) bool {
	start := r.pos
	ok := r.member(name)
	r.pos = start
	return ok
}

func (r *Reader) member(name string) bool {
	if r.broken || !atStart(r.src[:r.pos]) && !r.accept(",") {
		return false
	}
	return name == "" || r.accept(`"`) && r.accept(name) && r.accept(`":`)
}

// More tells whether the array goes on; at its end it reads the bracket.
func (r *Reader) More() bool { return !r.accept("]") && !r.broken }
