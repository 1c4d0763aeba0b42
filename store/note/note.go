// Package note signs a text so that anybody with the public key can check it, with any tool: as a signed note
// (C2SP, signed-note) with Ed25519 signatures. A note is the text, a blank line, and a line of each who
// signed it, the text's author first:
//
//	waybill/6f3k
//	48213
//
//	— waybill/6f3k <base64: 4 bytes that tell the key, and 64 of signature over the text>
//	— witness.example <base64: 4 bytes, 8 of a time, and 64 of signature over both>
//
// The second is a cosignature (C2SP, tlog-cosignature): of a witness that has seen the text and that it
// extends those that it had seen before.
//
// The package knows nothing of what a text says:
//
//	signed := note.Sign(text, "waybill/6f3k", private)
//	n, err := note.Parse(signed)
//	_, err = n.Verify(note.NewKey("waybill/6f3k", public)) // then the key's owner has signed n.Text
package note

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"
)

// signatureStart stands before the name of a signer. Before the first there is the blank line that ends the
// text.
const signatureStart = "— "

const (
	// MaxNote is how many bytes [Split] looks through for the end of a note.
	MaxNote = 8 << 10
	// MaxSignatures is how many signatures a note has at most.
	MaxSignatures = 17
)

// The errors.
var (
	// ErrForm is returned for what is no signed note.
	ErrForm = errors.New("is not a signed note")
	// ErrSignatureForm is returned for a signature in no known form.
	ErrSignatureForm = errors.New("has a signature in no known form")
	// ErrOtherKey is returned where somebody of that name has signed with another key.
	ErrOtherKey = errors.New("is signed with another key")
	// ErrNotSigned is returned where nobody of that name has signed.
	ErrNotSigned = errors.New("is not signed by that name")
	// ErrSignature is returned where the text is not what was signed.
	ErrSignature = errors.New("has a signature that is not of these lines")
)

// Sign returns a text, which ends in a newline, as a note that name has signed.
func Sign(text []byte, name string, key ed25519.PrivateKey) []byte {
	public := NewKey(name, key.Public().(ed25519.PublicKey))
	return append(append(bytes.Clone(text), '\n'), public.line(ed25519.Sign(key, text))...)
}

// line returns the line of a signature.
func (k Key) line(signature []byte) []byte {
	encoded := base64.StdEncoding.EncodeToString(append(k.id(), signature...))
	return fmt.Appendf(nil, "%s%s %s\n", signatureStart, k.Name, encoded)
}

// Note is a note that was read. What it says is only good once it is verified.
type Note struct {
	Text       []byte // with the newline at its end
	Signatures []Signature
}

// Signature is a line below a note's text.
type Signature struct {
	Name string // who says to have signed

	encoded string // in base64
}

// Line returns the signature as it stands in a note, with its newline.
func (s *Signature) Line() string {
	return signatureStart + s.Name + " " + s.encoded + "\n"
}

// Parse reads a note. The error is ErrForm.
func Parse(note []byte) (Note, error) {
	// The text may have blank lines; the last one is before the signatures.
	i := bytes.LastIndex(note, []byte("\n\n"))
	if i < 0 || len(note) > MaxNote {
		return Note{}, ErrForm
	}
	signatures, err := ParseSignatures(string(note[i+2:]))
	return Note{note[:i+1], signatures}, err
}

// ParseSignatures reads the lines of signatures. The error is ErrForm.
func ParseSignatures(text string) (list []Signature, err error) {
	for line := range strings.Lines(text) {
		rest, started := strings.CutPrefix(line, signatureStart)
		rest, ended := strings.CutSuffix(rest, "\n")
		name, encoded, both := strings.Cut(rest, " ")
		if !started || !ended || !both || name == "" || strings.Contains(encoded, " ") ||
			len(list) == MaxSignatures {
			return nil, ErrForm
		}
		list = append(list, Signature{name, encoded})
	}
	if len(list) == 0 {
		return nil, ErrForm
	}
	return list, nil
}

// Verify checks that the key has signed the note's text, and returns the time of a witness's signature. A
// note with a bad signature by a known key is not good, also where others have signed it. Errors:
// ErrNotSigned, ErrSignatureForm, ErrOtherKey, ErrSignature.
func (n *Note) Verify(key Key) (at time.Time, err error) {
	err = ErrNotSigned
	for _, s := range n.Signatures {
		if s.Name != key.Name {
			continue
		}
		signature, malformed := base64.StdEncoding.Strict().DecodeString(s.encoded)
		if malformed != nil || len(signature) < idSize {
			return at, ErrSignatureForm
		}
		if !bytes.Equal(signature[:idSize], key.id()) {
			if err == ErrNotSigned {
				err = ErrOtherKey
			}
			continue
		}
		at, err = key.verify(n.Text, signature[idSize:])
		if err != nil {
			return at, err
		}
	}
	return at, err
}

// Split is a bufio.SplitFunc for notes that follow each other, with a blank line after each. It leaves the
// newline of the blank line, so that its lack is seen.
func Split(data []byte, atEOF bool) (advance int, note []byte, err error) {
	start := len(data) - len(bytes.TrimLeft(data, "\n"))
	signatures := bytes.Index(data[start:], []byte("\n\n"+signatureStart))
	if signatures >= 0 {
		signed := start + signatures + len("\n\n")
		if i := bytes.Index(data[signed:], []byte("\n\n")); i >= 0 {
			end := signed + i + len("\n\n")
			return end, data[start:end], nil
		}
	}
	if atEOF && start < len(data) || len(data)-start > MaxNote {
		return len(data), data[start:], nil
	}
	return start, nil, nil
}
