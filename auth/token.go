package auth

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrMalformed is returned for a token that this ring did not sign, whatever is wrong with it.
var ErrMalformed = errors.New("auth: malformed token")

// MaxToken is the length of the longest token, in characters.
const MaxToken = 1 << 10

// SigningKey signs tokens. Its ID stands in them.
type SigningKey struct {
	ID      byte
	Secret  [32]byte
	Retired time.Time // zero: signs; else what it signed before that is still good
}

// NewSigningKey makes a key that follows the one with the id before, from random bytes.
func NewSigningKey(random io.Reader, before byte) SigningKey {
	k := SigningKey{ID: before + 1}
	fill(random, k.Secret[:])
	return k
}

// fill fills b with random bytes. A source that has none leaves nothing that could go on.
func fill(random io.Reader, b []byte) {
	if _, err := io.ReadFull(random, b); err != nil {
		panic("auth: no random bytes: " + err.Error())
	}
}

// Ring signs with one key and knows tokens signed with its former ones. It is immutable and safe for
// concurrent use. A token is the URL-safe base64, in its one form without padding, of: key's ID, payload, and
// the HMAC-SHA256 of both.
type Ring struct{ signers []*signer } // the last signs

type signer struct {
	SigningKey
	macs sync.Pool // of hash.Hash: keying one costs as much as signing
}

// NewRing makes a ring; the last key signs.
func NewRing(keys []SigningKey) *Ring {
	r := new(Ring)
	for _, k := range keys {
		r.signers = append(r.signers, &signer{k, sync.Pool{New: func() any {
			return hmac.New(sha256.New, k.Secret[:])
		}}})
	}
	return r
}

func (r *Ring) current() *signer {
	return r.signers[len(r.signers)-1]
}

// Rotated returns a ring with a new key, from random bytes, without keys that were retired before gone.
func (r *Ring) Rotated(random io.Reader, now, gone time.Time) *Ring {
	var keys []SigningKey
	for _, s := range r.signers {
		k := s.SigningKey
		if k.Retired.IsZero() {
			k.Retired = now
		}
		if !k.Retired.Before(gone) {
			keys = append(keys, k)
		}
	}
	return NewRing(append(keys, NewSigningKey(random, r.current().ID)))
}

func (s *signer) mac(dst, message []byte) []byte {
	h := s.macs.Get().(hash.Hash)
	defer s.macs.Put(h)
	h.Reset()
	h.Write(message)
	return h.Sum(dst)
}

// Sign appends the token of a payload to dst, and writes the key's ID to payload[0], which is spare room.
func (r *Ring) Sign(dst, payload []byte) []byte {
	s := r.current()
	payload[0] = s.ID
	return base64.RawURLEncoding.AppendEncode(dst, s.mac(payload, payload))
}

// Open checks a token and returns its payload, with the key's ID as first byte.
func (r *Ring) Open(token string) ([]byte, error) {
	if len(token) > MaxToken {
		return nil, ErrMalformed
	}
	signed := Decode64(token)
	if len(signed) < 1+sha256.Size {
		return nil, ErrMalformed
	}
	payload := signed[:len(signed)-sha256.Size]
	mac := signed[len(signed)-sha256.Size:]
	for _, s := range r.signers {
		if s.ID == payload[0] && hmac.Equal(s.mac(nil, payload), mac) {
			return payload, nil
		}
	}
	return nil, ErrMalformed
}

// Decode64 decodes URL-safe base64 that is written in its one form: no padding, line breaks or stray bits;
// else nil.
func Decode64(s string) []byte {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || strings.ContainsAny(s, "\r\n") {
		return nil
	}
	return b
}

// Marshal writes the ring as lines of text, for a file only the server reads.
func (r *Ring) Marshal() []byte {
	var b []byte
	for _, k := range r.signers {
		retired := "-"
		if !k.Retired.IsZero() {
			retired = k.Retired.UTC().Format(time.RFC3339Nano)
		}
		b = fmt.Appendf(b, "%d %x %s\n", k.ID, k.Secret, retired)
	}
	return b
}

// ParseRing reads what Marshal wrote. Its error never shows a secret.
func ParseRing(text []byte) (*Ring, error) {
	var keys []SigningKey
	for n, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		k := SigningKey{}
		secret := []byte{}
		retired := ""
		_, err := fmt.Sscanf(line, "%d %x %s", &k.ID, &secret, &retired)
		if err != nil || len(secret) != len(k.Secret) {
			return nil, fmt.Errorf("auth: signing keys: line %d is not a key", n+1)
		}
		copy(k.Secret[:], secret)
		if retired != "-" {
			if k.Retired, err = time.Parse(time.RFC3339Nano, retired); err != nil {
				return nil, fmt.Errorf("auth: signing keys: line %d has no time of retirement", n+1)
			}
		}
		keys = append(keys, k)
	}
	return NewRing(keys), nil
}

// NewToken makes a secret, as access and refresh tokens are: 256 random bits.
func NewToken(random io.Reader) string {
	var b [32]byte
	fill(random, b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Password is what is kept of a password: PBKDF2-HMAC-SHA512, as pbkdf2-sha512$<iterations>$<salt>$<hash>.
type Password string

const (
	passwordScheme     = "pbkdf2-sha512"
	passwordIterations = 210_000 // decision passwords.hashed
	passwordBytes      = 32      // of the hash
)

// NewPassword makes a Password, which takes as long as checking it does.
func NewPassword(random io.Reader, password string) Password {
	var salt [16]byte
	fill(random, salt[:])
	return derive(password, salt[:], passwordIterations)
}

// nobodys is checked for those who are not known, so that they take as long as those who are. No password
// matches it.
var nobodys = Password(fmt.Sprintf("%s$%d$%022d$", passwordScheme, passwordIterations, 0))

func derive(password string, salt []byte, iterations int) Password {
	hash, err := pbkdf2.Key(sha512.New, password, salt, iterations, passwordBytes)
	if err != nil {
		panic("auth: " + err.Error()) // only for lengths that FIPS 140 does not allow
	}
	b64 := base64.RawStdEncoding.EncodeToString
	return Password(fmt.Sprintf("%s$%d$%s$%s", passwordScheme, iterations, b64(salt), b64(hash)))
}

// Matches reports whether this is the password, with the parameters it was kept with.
func (p Password) Matches(password string) bool {
	parts := strings.Split(string(p), "$")
	if len(parts) != 4 || parts[0] != passwordScheme {
		return false
	}
	iterations, err := strconv.Atoi(parts[1])
	salt, bad := base64.RawStdEncoding.DecodeString(parts[2])
	return err == nil && bad == nil && iterations >= 1 &&
		subtle.ConstantTimeCompare([]byte(derive(password, salt, iterations)), []byte(p)) == 1 &&
		!strings.Contains(password, "\x00") // to HMAC, zeros at a key's end are nothing
}
