// Package ids holds what bookings, tickets, partners, users and runs are named by, and how that is written:
// as URL-safe text in which every bit counts, so that two texts never name the same.
package ids

import (
	"bytes"
	"encoding/base64"
	"fmt"
)

// ID names a booking, a ticket, a partner, a user or a session: 128 random bits.
type ID [16]byte

// RunID names a run in the form it was sold in, by its content.
type RunID [12]byte

// String returns the id as 22 URL-safe characters.
func (id ID) String() string {
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// String returns the id as 16 URL-safe characters.
func (id RunID) String() string {
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// Parse reads what ID.String returns, and nothing else.
func Parse(s string) (id ID, ok bool) {
	ok = parse(id[:], s)
	return id, ok
}

// Of reads an id. A text that is not one of our ids is the zero ID, which names nothing.
func Of(text string) ID {
	id, ok := Parse(text)
	if !ok {
		return ID{}
	}
	return id
}

// ParseRun reads what RunID.String returns, and nothing else.
func ParseRun(s string) (id RunID, ok bool) {
	ok = parse(id[:], s)
	return id, ok
}

// strict is base64url in one form. Strict makes it anew with each call, and a start reads millions of ids.
var strict = base64.RawURLEncoding.Strict()

// parse fills an id. Line ends, which base64 skips, leave the text too short.
func parse(id []byte, s string) bool {
	if len(s) != base64.RawURLEncoding.EncodedLen(len(id)) {
		return false
	}
	n, err := strict.Decode(id, []byte(s))
	return err == nil && n == len(id)
}

// Unknown is the error of an event that names what no line before it has.
func Unknown(what string, id any) error {
	return fmt.Errorf("%s %v does not exist: no earlier line has it", what, id)
}

// Compare orders ids, where the order of a map must not count.
func (id ID) Compare(other ID) int {
	return bytes.Compare(id[:], other[:])
}

// MarshalText writes the id as String does.
func (id ID) MarshalText() ([]byte, error) {
	return []byte(id.String()), nil
}

// MarshalText writes the id as String does.
func (id RunID) MarshalText() ([]byte, error) {
	return []byte(id.String()), nil
}

// UnmarshalText reads what MarshalText writes, and nothing else.
func (id *RunID) UnmarshalText(text []byte) error {
	if !parse(id[:], string(text)) {
		return fmt.Errorf("ids: %q is not a run's id", text)
	}
	return nil
}

// UnmarshalText reads what MarshalText writes, and nothing else.
func (id *ID) UnmarshalText(text []byte) error {
	if !parse(id[:], string(text)) {
		return fmt.Errorf("ids: %q is not an id", text)
	}
	return nil
}
