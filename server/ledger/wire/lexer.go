package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// accept reads these bytes if they come next.
func (r *Reader) accept(text string) bool {
	end := r.pos + len(text)
	if r.broken || end > len(r.src) || string(r.src[r.pos:end]) != text {
		return false
	}
	r.pos = end
	return true
}

func startsNumber(c byte) bool {
	return c == '-' || c >= '0' && c <= '9'
}

func (r *Reader) digits() bool {
	start := r.pos
	for r.pos < len(r.src) && r.src[r.pos]-'0' <= 9 {
		r.pos++
	}
	return r.pos > start
}

func (r *Reader) number() {
	r.accept("-")
	ok := r.accept("0") || r.digits()
	if ok && r.accept(".") {
		ok = r.digits()
	}
	if ok && (r.accept("e") || r.accept("E")) {
		_ = r.accept("+") || r.accept("-")
		ok = r.digits()
	}
	if !ok {
		r.malformed()
	}
}

// text reads a string, whose opening quote is next. Without an escape it is the document's own bytes; nil is
// none.
func (r *Reader) text() []byte {
	var decoded []byte
	src := r.src
	i := r.pos + 1
	plain := i // where in src the rest begins that is not yet in decoded
	for i += ordinary(src[i:]); i < len(src) && src[i] >= ' '; i += ordinary(src[i:]) {
		c := src[i]
		i++
		if c == '"' {
			r.pos = i
			if decoded == nil {
				return src[plain : i-1]
			}
			return append(decoded, src[plain:i-1]...)
		}
		if c == '\\' {
			decoded = append(decoded, src[plain:i-1]...)
			char, size := escape(src[i:])
			i += size
			plain = i
			if char < 0 {
				break
			}
			decoded = utf8.AppendRune(decoded, char)
		}
	}
	r.pos = min(i, len(src))
	r.malformed()
	return nil
}

// ordinary returns how many bytes at the start of b stand in a string as they are: up to a quote, a backslash
// or a control character. It looks at eight bytes at a time, as strings are most of what a start reads.
func ordinary(b []byte) (n int) {
	const each = 0x0101010101010101 // times a byte: eight of it
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote := x ^ each*'"'
		slash := x ^ each*'\\'
		// Subtracting borrows from the top bit of a byte that is too small: of one below a blank, and, where
		// bytes are 0 that are sought, of one below 1. What is above the first such byte does not count.
		found := (x-each*' ')&^x | (quote-each)&^quote | (slash-each)&^slash
		if found &= each << 7; found != 0 {
			return n + bits.TrailingZeros64(found)/8
		}
	}
	for n < len(b) && b[n] >= ' ' && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// escape decodes what follows a backslash, and returns its length; -1 is no escape. Half a surrogate pair is
// none.
func escape(b []byte) (char rune, size int) {
	if len(b) == 0 {
		return -1, 0
	}
	if k := strings.IndexByte(letters, b[0]); k >= 0 {
		return rune(escaped[k]), len(`n`)
	}
	if b[0] != 'u' {
		return -1, 0
	}
	char = hex4(b[1:])
	if !utf16.IsSurrogate(char) {
		return char, len(`u0041`)
	}
	if low, ok := bytes.CutPrefix(b[5:], []byte(`\u`)); ok {
		if pair := utf16.DecodeRune(char, hex4(low)); pair != utf8.RuneError {
			return pair, len(`ud83d\ude00`)
		}
	}
	return -1, 0
}

// hex4 reads four hexadecimal digits; -1 is anything else.
func hex4(b []byte) rune {
	v, err := strconv.ParseUint(string(b[:min(4, len(b))]), 16, 16)
	if err != nil || len(b) < 4 {
		return -1
	}
	return rune(v)
}

// The methods Literal, Member, At and More read a document whose exact form is
// known, because a [Writer] wrote it: members in order, no white space.

// Literal reads exactly these bytes.
func (r *Reader) Literal(text string) {
	if !r.accept(text) {
		r.malformed()
	}
}

// Member reads the name of the next member, which must be this one, or, for "", the comma before an array's
// element.
func (r *Reader) Member(name string) {
	if start := r.pos; !r.member(name) {
		r.syntax(fmt.Sprintf("has no %q where it should be, at byte %d", name, start))
	}
}

// At reports whether the next member has this name.
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
	if name == "" {
		return true
	}
	rest := r.src[r.pos:]
	end := len(`"":`) + len(name)
	ok := len(rest) >= end &&
		rest[0] == '"' &&
		string(rest[1:1+len(name)]) == name &&
		rest[end-2] == '"' &&
		rest[end-1] == ':'
	if ok {
		r.pos += end
	}
	return ok
}

// More reports whether the array goes on; at its end it reads the bracket.
func (r *Reader) More() bool {
	return !r.accept("]") && !r.broken
}
