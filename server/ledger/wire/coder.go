package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Coder writes a form of JSON that only this program reads, or reads it. One description of an object, its
// members in order, does both, so that writer and reader cannot disagree:
//
//	func (p *point) code(c *wire.Coder) {
//		c.Object("point", func() {
//			wire.Number(c, "x", &p.x)
//			if c.Optional("name", p.name != "") {
//				c.String("name", &p.name)
//			}
//		})
//	}
//
// What is read is what was written, byte for byte in its form: the members in the same order, and no blanks.
// Anything else is an error of the Reader.
type Coder struct {
	W *Writer // nil when reading
	R *Reader // nil when writing
}

// Writing reports whether the Coder writes.
func (c *Coder) Writing() bool {
	return c.W != nil
}

// Object codes an object with the members that members codes.
func (c *Coder) Object(name string, members func()) {
	c.Open(name)
	members()
	c.Close()
}

// Open begins an object, whose members follow.
func (c *Coder) Open(name string) {
	if c.Writing() {
		c.W.Object(name)
		return
	}
	c.R.Member(name)
	c.R.Literal("{")
}

// Close ends the object that was begun last.
func (c *Coder) Close() {
	if c.Writing() {
		c.W.EndObject()
		return
	}
	c.R.Literal("}")
}

// Optional reports whether a member is there. When writing, there says so.
func (c *Coder) Optional(name string, there bool) bool {
	if c.Writing() {
		return there
	}
	return c.R.At(name)
}

// Ignore passes over a member that may come next, when reading. It writes nothing.
func (c *Coder) Ignore(name string) {
	if !c.Writing() && c.R.At(name) {
		c.R.Member(name)
		c.R.Skip()
	}
}

// String codes a text.
func (c *Coder) String(name string, v *string) {
	if c.Writing() {
		c.W.String(name, *v)
		return
	}
	c.R.Member(name)
	*v = c.R.String()
}

// JSON codes a value that is rare enough for encoding/json; v points to it. A value that has no JSON is a
// mistake of the program and panics.
func (c *Coder) JSON(name string, v any) {
	if c.Writing() {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("wire: %T cannot be written: %v", v, err))
		}
		c.W.Raw(name, text)
		return
	}
	c.R.Member(name)
	text := c.R.Raw()
	c.R.Unmarshal(text, v)
}

// Unmarshal reads a value that is rare enough for encoding/json, as Raw has returned it; v points to it. What
// json.Marshal writes otherwise is an error: other members, in another order, or an optional one of no value.
func (r *Reader) Unmarshal(text []byte, v any) {
	if r.broken {
		return
	}
	var kind *json.UnmarshalTypeError
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	err := in.Decode(v)
	if errors.As(err, &kind) {
		r.Reject(kind.Field + " is of another kind")
	} else if err != nil {
		_, member, _ := strings.Cut(err.Error(), "unknown field ")
		r.Reject("is not as this version writes it " + member)
	} else if again, err := json.Marshal(v); err != nil || !bytes.Equal(again, text) {
		r.Reject("is not as this version writes it")
	}
}

// Number codes a whole number.
func Number[T ~int | ~int16 | ~int32 | ~int64 | ~uint8](c *Coder, name string, v *T) {
	if c.Writing() {
		c.W.Int(name, int64(*v))
		return
	}
	c.R.Member(name)
	n := c.R.Int()
	*v = T(n)
	if int64(*v) != n || n == 0 && bytes.HasSuffix(c.R.src[:c.R.pos], []byte("-0")) {
		c.R.Reject(fmt.Sprintf("%s %d is out of range", name, n))
	}
}

// ID codes 128 bits.
func ID[T ~[16]byte](c *Coder, name string, v *T) {
	if c.Writing() {
		c.W.ID(name, [16]byte(*v))
		return
	}
	c.R.Member(name)
	text := c.R.Bytes()
	var room [18]byte
	n, err := strictBase64.Decode(room[:], text[:min(len(text), idLength)])
	if err != nil || n != 16 || len(text) != idLength {
		c.R.Reject(name + " is not an id")
	}
	*v = T(room[:16])
}

// Text codes a value that has a form in text.
func Text[T any](c *Coder, name string, v *T, format func(T) string, parse func(string) (T, bool)) {
	if c.Writing() {
		c.W.String(name, format(*v))
		return
	}
	c.R.Member(name)
	text := c.R.String()
	value, ok := parse(text)
	if !ok {
		c.R.Reject(fmt.Sprintf("%s %q is not what is expected", name, text))
	}
	*v = value
}

// Optional codes an array that is left out where it is empty.
func Optional[T any](c *Coder, name string, v *[]T, item func(*T)) {
	if !c.Optional(name, len(*v) > 0) {
		return
	}
	List(c, name, v, item)
	if !c.Writing() && len(*v) == 0 {
		c.R.Reject(name + " is empty")
	}
}

// List codes an array, whose elements item codes.
func List[T any](c *Coder, name string, v *[]T, item func(*T)) {
	if c.Writing() {
		c.W.Array(name)
		for i := range *v {
			item(&(*v)[i])
		}
		c.W.EndArray()
		return
	}
	c.R.Member(name)
	c.R.Literal("[")
	for c.R.More() {
		*v = append(*v, *new(T))
		item(&(*v)[len(*v)-1])
	}
}
