package wire

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Writer appends JSON to B. Every method takes the member's name first; inside an array the name is "".
// Commas are placed by looking at the last byte, so a Writer has no state besides B and can be filled, cut
// and reused freely.
type Writer struct{ B []byte }

// Key writes a member's name (nothing for ""), with the comma before it.
func (w *Writer) Key(name string) {
	if !atStart(w.B) {
		w.B = append(w.B, ',')
	}
	if name != "" {
		w.B = append(w.B, '"')
		w.B = append(w.B, name...)
		w.B = append(w.B, '"', ':')
	}
}

// atStart reports whether no comma belongs between b and the next value.
func atStart(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	switch b[len(b)-1] {
	case '{', '[', ':', '\n':
		return true
	}
	return false
}

// Object opens an object; EndObject closes it.
func (w *Writer) Object(name string) {
	w.Key(name)
	w.B = append(w.B, '{')
}

// EndObject closes the innermost object.
func (w *Writer) EndObject() {
	w.B = append(w.B, '}')
}

// Array opens an array; EndArray closes it.
func (w *Writer) Array(name string) {
	w.Key(name)
	w.B = append(w.B, '[')
}

// EndArray closes the innermost array.
func (w *Writer) EndArray() {
	w.B = append(w.B, ']')
}

// Each writes an array; write writes each element.
func Each[T any](w *Writer, name string, list []T, write func(T)) {
	w.Array(name)
	for _, x := range list {
		write(x)
	}
	w.EndArray()
}

// Record writes an object whose members are strings: name, value, name, value.
func (w *Writer) Record(name string, pairs ...string) {
	w.Object(name)
	w.Texts(pairs...)
	w.EndObject()
}

// EmptyArray writes [], for an array that is always empty.
func (w *Writer) EmptyArray(name string) {
	w.Key(name)
	w.B = append(w.B, '[', ']')
}

// Raw writes a value that is JSON already.
func (w *Writer) Raw(name string, value []byte) {
	w.Key(name)
	w.B = append(w.B, value...)
}

// Null writes an explicit null.
func (w *Writer) Null(name string) {
	w.Key(name)
	w.B = append(w.B, "null"...)
}

// Bool writes true or false.
func (w *Writer) Bool(name string, v bool) {
	w.Key(name)
	w.B = strconv.AppendBool(w.B, v)
}

// Int writes a whole number.
func (w *Writer) Int(name string, v int64) {
	w.Key(name)
	w.B = strconv.AppendInt(w.B, v, 10)
}

// idLength is how many characters an id has in text.
const idLength = 22

// ID writes 128 bits as 22 characters of base64url.
func (w *Writer) ID(name string, id [16]byte) {
	w.Key(name)
	w.B = append(w.B, '"')
	w.B = base64.RawURLEncoding.AppendEncode(w.B, id[:])
	w.B = append(w.B, '"')
}

// Base64 writes bytes as base64url.
func (w *Writer) Base64(name, bytes string) {
	w.Key(name)
	w.B = append(w.B, '"')
	at := len(w.B)
	n := base64.RawURLEncoding.EncodedLen(len(bytes))
	w.B = slices.Grow(w.B, n)[:at+n]
	base64.RawURLEncoding.Encode(w.B[at:], []byte(bytes))
	w.B = append(w.B, '"')
}

// Float writes a coordinate in the shortest form that reads back the same. A number that JSON cannot hold
// becomes 0.
func (w *Writer) Float(name string, v float64) {
	w.Key(name)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	w.B = strconv.AppendFloat(w.B, v, 'f', -1, 64)
}

// Hundredths writes v/100 as a number with at most two decimals: money in minor units, or a percentage in
// hundredths.
func (w *Writer) Hundredths(name string, v int64) {
	w.Key(name)
	if v < 0 {
		w.B = append(w.B, '-')
		v = -v
	}
	w.B = strconv.AppendInt(w.B, v/100, 10)
	if c := v % 100; c != 0 {
		w.B = append(w.B, '.', byte('0'+c/10))
		if c%10 != 0 {
			w.B = append(w.B, byte('0'+c%10))
		}
	}
}

// Texts writes members that are strings: name, value, name, value.
func (w *Writer) Texts(pairs ...string) {
	for i := 0; i < len(pairs); i += 2 {
		w.String(pairs[i], pairs[i+1])
	}
}

// Strings writes an array of strings, [] when there are none.
func (w *Writer) Strings(name string, list []string) {
	w.Array(name)
	for _, s := range list {
		w.String("", s)
	}
	w.EndArray()
}

// OptionalString writes null for "".
func (w *Writer) OptionalString(name, v string) {
	if v == "" {
		w.Null(name)
		return
	}
	w.String(name, v)
}

// OptionalTime writes null for the zero time.
func (w *Writer) OptionalTime(name string, t time.Time) {
	if t.IsZero() {
		w.Null(name)
		return
	}
	w.Time(name, t)
}

// Time writes an instant as 2026-11-20T08:30:00.000Z.
func (w *Writer) Time(name string, t time.Time) {
	w.LocalTime(name, t, 0, true)
}

// LocalTime writes the wall clock at an offset of seconds from UTC, as
// 2026-11-20T10:30:00.000+02:00, or with a plain Z.
func (w *Writer) LocalTime(name string, t time.Time, offset int, utc bool) {
	w.Key(name)
	wall := t.UTC().Add(time.Duration(offset) * time.Second)
	// RFC 3339 is the one layout that package time is quick at; milliseconds go in place of its Z.
	b := wall.AppendFormat(append(w.B, '"'), time.RFC3339)
	milli := wall.Nanosecond() / 1e6
	b = append(b[:len(b)-1], '.', byte('0'+milli/100), byte('0'+milli/10%10), byte('0'+milli%10))
	if utc {
		w.B = append(b, 'Z', '"')
		return
	}
	sign := byte('+')
	minutes := offset / 60
	if minutes < 0 {
		sign = '-'
		minutes = -minutes
	}
	h := minutes / 60
	m := minutes % 60
	w.B = append(b, sign, byte('0'+h/10), byte('0'+h%10), ':', byte('0'+m/10), byte('0'+m%10), '"')
}

// The characters that a string may have as a backslash and a letter, and the letters. The Writer
// uses the first five; it has no need of \/ and writes the others as \u0008 and \u000c.
const (
	escaped = "\"\\\n\r\t/\b\f"
	letters = `"\nrt/bf`
)

// String writes a string; bytes that are no UTF-8 become U+FFFD.
func (w *Writer) String(name, s string) {
	w.Joined(name, s)
}

// Joined writes a string that consists of parts; a character must not begin in one and end in another.
func (w *Writer) Joined(name string, parts ...string) {
	w.Key(name)
	w.B = append(w.B, '"')
	for _, s := range parts {
		w.B = appendEscaped(w.B, s)
	}
	w.B = append(w.B, '"')
}

// plainByte reports the characters of ASCII that stand for themselves in a string.
var plainByte = func() (plain [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		plain[c] = c != '"' && c != '\\'
	}
	return plain
}()

func appendEscaped(b []byte, s string) []byte {
	plain := 0 // where in s the rest begins that is not yet in b
	for i := 0; i < len(s); i++ {
		if plainByte[s[i]] {
			continue
		}
		c := rune(s[i])
		size := 1
		if c >= utf8.RuneSelf {
			c, size = utf8.DecodeRuneInString(s[i:])
			if c != utf8.RuneError || size > 1 {
				i += size - 1
				continue
			}
		}
		b = append(b, s[plain:i]...)
		plain = i + 1 // each bad byte is a character of its own
		if k := strings.IndexRune(escaped[:5], c); k >= 0 {
			b = append(b, '\\', letters[k])
		} else {
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(b, s[plain:]...)
}

// Reply writes {"data":{…}}, the members written by write.
func Reply(w *Writer, write func(w *Writer)) {
	w.Object("")
	w.Object("data")
	write(w)
	w.EndObject()
	w.EndObject()
}
