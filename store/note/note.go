// Package note signs a text so that anybody with the public key can check it, with any tool: as a signed note
// (C2SP, signed-note) with one Ed25519 signature. A note is the text, a blank line, and a line of who signed
// it:
//
//	waybill/6f3k
//	48213
//
//	— waybill/6f3k <base64: 4 bytes that tell the key, and 64 of signature over the text>
//
// The package knows nothing of what a text says:
//
//	signed := note.Sign(text, "waybill/6f3k", key)
//	n, err := note.Parse(signed)
//	err = n.Verify(public) // then n.Text is what the key's owner has said
package note

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// signatureStart stands between a text, which ends in a newline, and the name of who signed it.
const signatureStart = "\n— "

// MaxNote is how many bytes [Split] looks through for the end of a note.
const MaxNote = 1 << 10

// The errors.
var (
	// ErrForm is returned for what is no note with one signature.
	ErrForm = errors.New("is not a signed note")
	// ErrSignatureForm is returned for a signature in no known form.
	ErrSignatureForm = errors.New("has a signature in no known form")
	// ErrOtherKey is returned where another key has signed.
	ErrOtherKey = errors.New("is signed with another key")
	// ErrSignature is returned where the text is not what was signed.
	ErrSignature = errors.New("has a signature that is not of these lines")
)

// Sign returns a text, which ends in a newline, as a note that name has signed.
func Sign(text []byte, name string, key ed25519.PrivateKey) []byte {
	signature := keyID(name, key.Public().(ed25519.PublicKey))
	signature = append(signature, ed25519.Sign(key, text)...)
	encoded := base64.StdEncoding.EncodeToString(signature)
	return fmt.Appendf(bytes.Clone(text), signatureStart+"%s %s\n", name, encoded)
}

// keyID tells the keys of a name apart, as signed-note defines it.
func keyID(name string, key ed25519.PublicKey) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\n\x01%s", name, key)) // 1 is Ed25519
	return sum[:4]
}

// Note is a note that was read. What it says is only good once it is verified.
type Note struct {
	Text []byte // with the newline at its end
	Name string // who says to have signed it

	signature string // in base64
}

// Parse reads a note. The error is ErrForm.
func Parse(note []byte) (Note, error) {
	text, rest, found := bytes.Cut(note, []byte(signatureStart))
	line, ended := strings.CutSuffix(string(rest), "\n")
	name, signature, signed := strings.Cut(line, " ")
	if !found || !ended || !signed || strings.ContainsAny(signature, " \n") {
		return Note{}, ErrForm
	}
	return Note{Text: text, Name: name, signature: signature}, nil
}

// Verify checks that the key has signed the note's text. Errors: ErrSignatureForm, ErrOtherKey, ErrSignature.
func (n *Note) Verify(key ed25519.PublicKey) error {
	id := keyID(n.Name, key)
	signature, err := base64.StdEncoding.Strict().DecodeString(n.signature)
	switch {
	case err != nil || len(signature) != len(id)+ed25519.SignatureSize:
		return ErrSignatureForm
	case !bytes.Equal(signature[:len(id)], id):
		return ErrOtherKey
	case !ed25519.Verify(key, n.Text, signature[len(id):]):
		return ErrSignature
	}
	return nil
}

// Split is a bufio.SplitFunc for notes that follow each other, with a blank line after each. It leaves the
// newline of the blank line, so that its lack is seen.
func Split(data []byte, atEOF bool) (advance int, note []byte, err error) {
	newline := []byte("\n")
	start := len(data) - len(bytes.TrimLeft(data, "\n"))
	_, signature, _ := bytes.Cut(data[start:], []byte(signatureStart))
	_, rest, whole := bytes.Cut(signature, newline)
	switch {
	case whole && len(rest) == 0 && !atEOF:
		return start, nil, nil // the blank line is still to come
	case whole:
		end := len(data) - len(bytes.TrimPrefix(rest, newline))
		return end, data[start:end], nil
	case atEOF && start < len(data), len(data)-start > MaxNote:
		return len(data), data[start:], nil
	}
	return start, nil, nil
}
