// Package note signs texts as signed notes (C2SP, signed-note) with Ed25519 signatures, which many tools can
// check with the public key. A note is the text, a blank line, and a line for each signature, that of the
// text's author first:
//
//	waybill/6f3k
//	48213
//
//	— waybill/6f3k <base64: the key's id, 4 bytes, and the signature of the text, 64>
//	— witness.example <base64: the key's id, 4 bytes, a time, 8, and the signature of both, 64>
//
// The second is a cosignature (C2SP, tlog-cosignature). With it a witness says that it has seen the text, and
// that the text extends those that the witness had seen before.
//
// The package knows nothing of the meaning of texts:
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
	"unicode/utf8"
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
	// ErrForm is returned for a text that is no signed note.
	ErrForm = errors.New("is not a signed note")
	// ErrEncoding is returned for a whole note that is not in UTF-8.
	ErrEncoding = errors.New("is not in UTF-8")
	// ErrSignatureForm is returned for a signature in no known form.
	ErrSignatureForm = errors.New("has a signature of an unknown form")
	// ErrOtherKey is returned where all signatures of that name are with other keys.
	ErrOtherKey = errors.New("is signed with another key")
	// ErrNotSigned is returned where there is no signature of that name.
	ErrNotSigned = errors.New("is not signed by that name")
	// ErrSignature is returned for a signature of another text.
	ErrSignature = errors.New("has a signature that is not over these lines")
)

// Sign returns the note of a text, which ends in a newline, signed under a name.
func Sign(text []byte, name string, key ed25519.PrivateKey) []byte {
	public := NewKey(name, key.Public().(ed25519.PublicKey))
	return append(append(bytes.Clone(text), '\n'), public.line(ed25519.Sign(key, text))...)
}

// line returns the line of a signature.
func (k Key) line(signature []byte) []byte {
	encoded := base64.StdEncoding.EncodeToString(append(k.id(), signature...))
	return fmt.Appendf(nil, "%s%s %s\n", signatureStart, k.Name, encoded)
}

// Note is a note that was read. Nothing is known of its signatures until Verify has checked them.
type Note struct {
	Text       []byte // with the newline at its end
	Signatures []Signature
}

// Signature is a line below a note's text.
type Signature struct {
	Name string // of the signer, as the line says

	encoded string // the key's id and the signature, in base64
}

// Line returns the signature as it stands in a note, with its newline.
func (s *Signature) Line() string {
	return signatureStart + s.Name + " " + s.encoded + "\n"
}

// Parse reads a note. Errors: ErrForm, ErrEncoding.
func Parse(note []byte) (Note, error) {
	// The text may have blank lines. The last one is that before the signatures.
	i := bytes.LastIndex(note, []byte("\n\n"))
	if i < 0 || len(note) > MaxNote {
		return Note{}, ErrForm
	}
	signatures, err := ParseSignatures(string(note[i+2:]))
	if err == nil && !utf8.Valid(note) {
		err = ErrEncoding
	}
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

// Verify checks that the note has a signature by the key, and returns the time in it where the key is of a
// witness. Each signature by the key must be good. Errors: ErrNotSigned, ErrSignatureForm, ErrOtherKey,
// ErrSignature.
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

// Split is a bufio.SplitFunc for notes that follow each other, with a blank line after each. A note that it
// returns ends in the newline of that blank line, unless the line is missing.
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
