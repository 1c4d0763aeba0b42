package wire

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

func (r *Reader) digits() bool {
	start := r.pos
	for r.pos < len(r.src) && r.src[r.pos]-'0' <= 9 {
		r.pos++
	}
	return r.pos > start
}

func (r *Reader) number() {
	at := func(set string) bool {
		if r.pos < len(r.src) && bytes.IndexByte([]byte(set), r.src[r.pos]) >= 0 {
			r.pos++
			return true
		}
		return false
	}
	at("-")
	ok := at("0") || r.digits()
	if ok && at(".") {
		ok = r.digits()
	}
	if ok && at("eE") {
		at("+-")
		ok = r.digits()
	}
	if !ok {
		r.malformed()
	}
}

// text reads a string's contents; the next byte is its opening quote.
func (r *Reader) text() []byte {
	start := r.pos + 1
	for i := start; i < len(r.src); i++ {
		switch c := r.src[i]; {
		case c == '"':
			r.pos = i + 1
			return r.src[start:i]
		case c == '\\':
			return r.escaped(start, i)
		case c < ' ':
			r.pos = i
			r.malformed()
			return nil
		}
	}
	r.pos = len(r.src)
	r.malformed()
	return nil
}

// escaped goes on where text met the first backslash, at i.
func (r *Reader) escaped(start, i int) []byte {
	b := append([]byte(nil), r.src[start:i]...)
	for i < len(r.src) {
		c := r.src[i]
		i++
		switch {
		case c == '"':
			r.pos = i
			return b
		case c < ' ':
			r.pos = i - 1
			r.malformed()
			return nil
		case c != '\\':
			b = append(b, c)
			continue
		}
		var char rune
		if char, i = r.escape(i); char < 0 {
			r.pos = min(i, len(r.src))
			r.malformed()
			return nil
		}
		b = utf8.AppendRune(b, char)
	}
	r.pos = len(r.src)
	r.malformed()
	return nil
}

// escape decodes what follows a backslash at i, and gives where it ends; -1 is no escape.
func (r *Reader) escape(i int) (rune, int) {
	if i >= len(r.src) {
		return -1, i
	}
	if c := r.src[i]; c != 'u' {
		const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
		if k := bytes.IndexByte([]byte(from), c); k >= 0 {
			return rune(to[k]), i + 1
		}
		return -1, i
	}
	high := r.hex4(i + 1)
	if !utf16.IsSurrogate(high) {
		return high, i + 5
	}
	if bytes.HasPrefix(r.src[min(i+5, len(r.src)):], []byte(`\u`)) {
		if pair := utf16.DecodeRune(high, r.hex4(i+7)); pair != utf8.RuneError {
			return pair, i + 11
		}
	}
	return -1, i
}

func (r *Reader) hex4(i int) rune {
	if i+4 > len(r.src) {
		return -1
	}
	var v rune
	for _, c := range r.src[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			v = v<<4 | rune(c-'0')
		case c|32 >= 'a' && c|32 <= 'f':
			v = v<<4 | rune(c|32-'a'+10)
		default:
			return -1
		}
	}
	return v
}
