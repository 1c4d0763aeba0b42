package wire

import (
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// Writer appends JSON to B. Every method takes the member's name first; inside
// an array the name is "". Commas are placed by looking at the last byte, so a
// Writer has no state besides B and can be filled, cut and reused freely.
type Writer struct{ B []byte }

// Key writes a member's name (nothing for ""), with the comma before it.
func (w *Writer) Key(name string) {
	if n := len(w.B); n > 0 {
		switch w.B[n-1] {
		case '{', '[', ':', '\n':
		default:
			w.B = append(w.B, ',')
		}
	}
	if name != "" {
		w.B = append(w.B, '"')
		w.B = append(w.B, name...)
		w.B = append(w.B, '"', ':')
	}
}

// Object opens an object; EndObject closes it.
func (w *Writer) Object(name string) { w.Key(name); w.B = append(w.B, '{') }

// EndObject closes the innermost object.
func (w *Writer) EndObject() { w.B = append(w.B, '}') }

// Array opens an array; EndArray closes it.
func (w *Writer) Array(name string) { w.Key(name); w.B = append(w.B, '[') }

// EndArray closes the innermost array.
func (w *Writer) EndArray() { w.B = append(w.B, ']') }

// Each writes an array of what write writes of each element.
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

// EmptyArray writes [], for what is always empty.
func (w *Writer) EmptyArray(name string) { w.Key(name); w.B = append(w.B, '[', ']') }

// Raw writes a value that is JSON already.
func (w *Writer) Raw(name string, value []byte) { w.Key(name); w.B = append(w.B, value...) }

// Null writes an explicit null.
func (w *Writer) Null(name string) { w.Key(name); w.B = append(w.B, "null"...) }

// Bool writes true or false.
func (w *Writer) Bool(name string, v bool) { w.Key(name); w.B = strconv.AppendBool(w.B, v) }

// Int writes a whole number.
func (w *Writer) Int(name string, v int64) { w.Key(name); w.B = strconv.AppendInt(w.B, v, 10) }

// Float writes a coordinate in the shortest form that reads back the same; what JSON cannot hold becomes 0.
func (w *Writer) Float(name string, v float64) {
	w.Key(name)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = 0
	}
	w.B = strconv.AppendFloat(w.B, v, 'f', -1, 64)
}

// Hundredths writes v/100 as a number with at most two decimals: money in
// minor units, or a percentage in hundredths.
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
func (w *Writer) Time(name string, t time.Time) { w.LocalTime(name, t, 0, true) }

// LocalTime writes the wall clock at an offset of seconds from UTC, as
// 2026-11-20T10:30:00.000+02:00, or with a plain Z.
func (w *Writer) LocalTime(name string, t time.Time, offset int, utc bool) {
	w.Key(name)
	w.B = append(w.B, '"')
	w.B = AppendTime(w.B, t, offset, utc)
	w.B = append(w.B, '"')
}

// AppendTime appends what LocalTime writes, without quotes.
func AppendTime(b []byte, t time.Time, offset int, utc bool) []byte {
	ms := t.UnixMilli() + int64(offset)*1000
	wall := time.UnixMilli(ms).UTC()
	year, month, day := wall.Date()
	hour, minute, second := wall.Clock()
	b = append(digits2(digits2(b, year/100), year%100), '-')
	b = append(digits2(b, int(month)), '-')
	b = append(digits2(b, day), 'T')
	b = append(digits2(b, hour), ':')
	b = append(digits2(b, minute), ':')
	b = append(digits2(b, second), '.')
	milli := wall.Nanosecond() / 1e6
	b = append(digits2(b, milli/10), byte('0'+milli%10))
	if utc {
		return append(b, 'Z')
	}
	sign := byte('+')
	if offset < 0 {
		sign, offset = '-', -offset
	}
	b = append(digits2(append(b, sign), offset/3600), ':')
	return digits2(b, offset/60%60)
}

func digits2(b []byte, n int) []byte { return append(b, byte('0'+n/10%10), byte('0'+n%10)) }

const hex = "0123456789abcdef"

// String writes a string; bytes that are no UTF-8 become U+FFFD.
func (w *Writer) String(name, s string) {
	w.Key(name)
	b := append(w.B, '"')
	start := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(b, s[start:i]...)
			b = append(b, `\ufffd`...)
			start = i + size
		}
		i += size
	}
	b = append(b, s[start:]...)
	w.B = append(b, '"')
}
