package server

import (
	"encoding/base64"
	"encoding/json"
	"fmt"

	"waybill/server/wire"
)

// coder writes the journal's and snapshots' JSON, or reads it: one description
// of an object, its members in order, does both, so that they cannot disagree.
// What it reads is what it wrote, byte for byte in its form.
type coder struct {
	w *wire.Writer // nil when reading
	r *wire.Reader
}

// writing tells the direction.
func (c *coder) writing() bool { return c.w != nil }

// object is an object with the given members.
func (c *coder) object(name string, members func()) {
	if c.writing() {
		c.w.Object(name)
		members()
		c.w.EndObject()
		return
	}
	c.r.Member(name)
	c.r.Literal("{")
	members()
	c.r.Literal("}")
}

// optional tells whether a member is there: when writing, as given.
func (c *coder) optional(name string, there bool) bool {
	if c.writing() {
		return there
	}
	return c.r.At(name)
}

func (c *coder) string(name string, v *string) {
	if c.writing() {
		c.w.String(name, *v)
		return
	}
	c.r.Member(name)
	*v = c.r.String()
}

func (c *coder) bool(name string, v *bool) {
	if c.writing() {
		c.w.Bool(name, *v)
		return
	}
	c.r.Member(name)
	*v = c.r.Bool()
}

// json is a value that is rare enough for encoding/json; v points to it.
func (c *coder) json(name string, v any) {
	if c.writing() {
		text, err := json.Marshal(v)
		if err != nil {
			panic(fmt.Sprintf("server: %T cannot be written: %v", v, err))
		}
		c.w.Raw(name, text)
		return
	}
	c.r.Member(name)
	if text := c.r.Raw(); text != nil {
		if err := json.Unmarshal(text, v); err != nil {
			c.r.Reject(err.Error())
		}
	}
}

// raw is a value that is JSON already.
func (c *coder) raw(name string, v *[]byte) {
	if c.writing() {
		c.w.Raw(name, *v)
		return
	}
	c.r.Member(name)
	*v = c.r.Raw()
}

// number is a whole number.
func number[T ~int | ~int16 | ~int32 | ~int64 | ~uint8](c *coder, name string, v *T) {
	if c.writing() {
		c.w.Int(name, int64(*v))
		return
	}
	c.r.Member(name)
	n := c.r.Int()
	if *v = T(n); int64(*v) != n {
		c.r.Reject(fmt.Sprintf("%s %d is out of range", name, n))
	}
}

// id is 128 random bits.
func id[T ~[16]byte](c *coder, name string, v *T) {
	if c.writing() {
		writeID(c.w, name, [16]byte(*v))
		return
	}
	c.r.Member(name)
	text := c.r.Bytes()
	var room [18]byte
	n, err := base64.RawURLEncoding.Strict().Decode(room[:], text[:min(len(text), 22)])
	if err != nil || n != 16 || len(text) != 22 {
		c.r.Reject(name + " is not an id")
	}
	*v = T(room[:16])
}

// text is a value with a form in text.
func text[T any](c *coder, name string, v *T, format func(T) string, parse func(string) (T, bool)) {
	if c.writing() {
		c.w.String(name, format(*v))
		return
	}
	c.r.Member(name)
	s := c.r.String()
	var ok bool
	if *v, ok = parse(s); !ok {
		c.r.Reject(fmt.Sprintf("%s %q is not what is expected", name, s))
	}
}

// list is an array whose elements item describes.
func list[T any](c *coder, name string, v *[]T, item func(*T)) {
	if c.writing() {
		c.w.Array(name)
		for i := range *v {
			item(&(*v)[i])
		}
		c.w.EndArray()
		return
	}
	c.r.Member(name)
	c.r.Literal("[")
	for c.r.More() {
		var x T
		item(&x)
		*v = append(*v, x)
	}
}

func (c *coder) strings(name string, v *[]string) {
	list(c, name, v, func(s *string) { c.string("", s) })
}
