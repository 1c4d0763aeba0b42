package auth

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
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

// NewSigningKey makes a key that follows the one with the id before.
func NewSigningKey(before byte) SigningKey {
	k := SigningKey{ID: before + 1}
	rand.Read(k.Secret[:])
	return k
}

// Ring signs with one key and knows tokens signed with its former ones. It is immutable and safe for concurrent use.
//
// A token is the URL-safe base64, without padding, of: the key's ID, the
// payload, and the HMAC-SHA256 of both. There is one string for each token.
type Ring struct {
	current *signer
	keys    map[byte]*signer
	list    []SigningKey
}

type signer struct {
	key  SigningKey
	macs sync.Pool // of hash.Hash: keying one costs as much as signing
}

// NewRing makes a ring; the last key signs.
func NewRing(keys []SigningKey) *Ring {
	r := &Ring{keys: map[byte]*signer{}, list: keys}
	for _, k := range keys {
		s := &signer{key: k}
		s.macs.New = func() any { return hmac.New(sha256.New, s.key.Secret[:]) }
		r.keys[k.ID], r.current = s, s
	}
	return r
}

// Rotated gives a ring with a new key, without keys that were retired before gone.
func (r *Ring) Rotated(now, gone time.Time) *Ring {
	var keys []SigningKey
	for _, k := range r.list {
		if k.Retired.IsZero() {
			k.Retired = now
		}
		if !k.Retired.Before(gone) {
			keys = append(keys, k)
		}
	}
	return NewRing(append(keys, NewSigningKey(r.current.key.ID)))
}

func (s *signer) mac(dst, message []byte) []byte {
	h := s.macs.Get().(hash.Hash)
	h.Reset()
	h.Write(message)
	dst = h.Sum(dst)
	s.macs.Put(h)
	return dst
}

// Sign appends the token of a payload to dst. The payload starts at one byte of
// spare room: payload[0] is overwritten with the key's ID.
func (r *Ring) Sign(dst, payload []byte) []byte {
	payload[0] = r.current.key.ID
	signed := r.current.mac(payload, payload)
	return base64.RawURLEncoding.AppendEncode(dst, signed)
}

// Open checks a token and gives its payload, with the key's ID as first byte.
func (r *Ring) Open(token string) ([]byte, error) {
	if len(token) > MaxToken {
		return nil, ErrMalformed
	}
	// The decoder passes over line breaks and stray bits at the end; neither is
	// in our alphabet, or there would be several strings for one token.
	for i := range len(token) {
		c := token[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' {
			return nil, ErrMalformed
		}
	}
	signed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(signed) < 1+sha256.Size {
		return nil, ErrMalformed
	}
	payload, mac := signed[:len(signed)-sha256.Size], signed[len(signed)-sha256.Size:]
	s := r.keys[payload[0]]
	if s == nil || !hmac.Equal(s.mac(nil, payload), mac) {
		return nil, ErrMalformed
	}
	return payload, nil
}

// Marshal writes the ring as lines of text, for a file only the server reads.
func (r *Ring) Marshal() []byte {
	var b []byte
	for _, k := range r.list {
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
		var k SigningKey
		var secret []byte
		var retired string
		if _, err := fmt.Sscanf(line, "%d %x %s", &k.ID, &secret, &retired); err != nil || len(secret) != len(k.Secret) {
			return nil, fmt.Errorf("auth: signing keys: line %d is not a key", n+1)
		}
		copy(k.Secret[:], secret)
		if retired != "-" {
			at, err := time.Parse(time.RFC3339Nano, retired)
			if err != nil {
				return nil, fmt.Errorf("auth: signing keys: line %d has no time of retirement", n+1)
			}
			k.Retired = at
		}
		keys = append(keys, k)
	}
	if len(keys) == 0 {
		return nil, errors.New("auth: signing keys: there are none")
	}
	return NewRing(keys), nil
}
