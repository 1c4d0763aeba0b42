package note

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// The types of signatures (C2SP, signed-note).
const (
	typeEd25519     = 1
	typeCosignature = 4
)

const (
	idSize      = 4 // bytes of the key's id, before a signature
	secondsSize = 8 // bytes of the time in a cosignature
)

// Key is a public key with the name that it signs for, in the form of a verifier key, or vkey (C2SP,
// signed-note): <name>+<8 hex digits>+<base64>.
type Key struct {
	Name string

	kind   byte
	public ed25519.PublicKey
}

// NewKey returns the key of a text's author.
func NewKey(name string, public ed25519.PublicKey) Key {
	return Key{name, typeEd25519, public}
}

// NewWitnessKey returns the key of a witness (C2SP, tlog-cosignature).
func NewWitnessKey(name string, public ed25519.PublicKey) Key {
	return Key{name, typeCosignature, public}
}

// wrapping is what editors and mail programs put around a line.
var wrapping = regexp.MustCompile(`^(\x{FEFF}|> ?)+|[\s\v\p{Zs}]+$`)

// Unwrap returns a line that people hand back as it was given to them: without a byte order mark and > before
// it, and blanks and CR after it.
func Unwrap(line string) string { return wrapping.ReplaceAllString(line, "") }

// ParseKey reads a vkey, of an author or a witness.
func ParseKey(vkey string) (Key, error) {
	none := errors.New("is not a verifier key as in name+0a1b2c3d+base64")
	name, rest, _ := strings.Cut(vkey, "+")
	id, encoded, found := strings.Cut(rest, "+")
	material, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch {
	case !found || err != nil || len(material) == 0 || name == "" ||
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return Key{}, none
	case material[0] != typeEd25519 && material[0] != typeCosignature:
		return Key{}, fmt.Errorf("is of type %d, which this program cannot check: it checks Ed25519, "+
			"types %d and %d", material[0], typeEd25519, typeCosignature)
	case len(material) != 1+ed25519.PublicKeySize:
		return Key{}, none
	}
	k := Key{name, material[0], ed25519.PublicKey(material[1:])}
	if id != hex.EncodeToString(k.id()) {
		return Key{}, errors.New("has an id that does not fit its name and key: part of it is mistyped")
	}
	return k, nil
}

// ParseWitnessKey reads a vkey of a witness, as people hand it back.
func ParseWitnessKey(vkey string) (Key, error) {
	key, err := ParseKey(Unwrap(vkey))
	if err == nil && !key.IsWitness() {
		err = errors.New("is an author's (type 1), not a witness's (type 4)")
	}
	return key, err
}

// String returns the vkey.
func (k Key) String() string {
	material := append([]byte{k.kind}, k.public...)
	return fmt.Sprintf("%s+%x+%s", k.Name, k.id(), base64.StdEncoding.EncodeToString(material))
}

// IsWitness reports whether the key is of a witness, which signs what a directory has signed.
func (k Key) IsWitness() bool { return k.kind == typeCosignature }

// Public returns the key itself.
func (k Key) Public() ed25519.PublicKey { return k.public }

// Equal reports whether two keys, and their names, are the same.
func (k Key) Equal(other Key) bool {
	return k.Name == other.Name && k.kind == other.kind && k.public.Equal(other.public)
}

// id returns the four bytes by which a signature names its key.
func (k Key) id() []byte {
	text := append([]byte(k.Name), '\n', k.kind)
	sum := sha256.Sum256(append(text, k.public...))
	return sum[:idSize]
}

// verify checks a signature without its id, and returns the time at which a witness has signed. The signature
// must be of the key's own type.
func (k Key) verify(text, signature []byte) (at time.Time, err error) {
	if k.IsWitness() {
		if len(signature) != secondsSize+ed25519.SignatureSize {
			return at, ErrSignatureForm
		}
		seconds := binary.BigEndian.Uint64(signature)
		if seconds > math.MaxInt64 {
			return at, ErrSignatureForm
		}
		at = time.Unix(int64(seconds), 0).UTC()
		text = cosigned(text, seconds)
		signature = signature[secondsSize:]
	}
	switch {
	case len(signature) != ed25519.SignatureSize:
		return at, ErrSignatureForm
	case !ed25519.Verify(k.public, text, signature):
		return at, ErrSignature
	}
	return at, nil
}

// cosigned returns the bytes that a witness signs for a text.
func cosigned(text []byte, seconds uint64) []byte {
	return append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", seconds), text...)
}
