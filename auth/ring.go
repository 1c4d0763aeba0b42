package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"hash"
	"io"
	"sync"
	"time"
)

// ErrMalformed is returned for a token that this ring did not sign, whatever is wrong with it.
var ErrMalformed = errors.New("auth: malformed token")

// MaxToken is the length of the longest token, in characters.
const MaxToken = 1 << 10

// NewSigningKey makes a key that follows the one with the id before, from random bytes.
func NewSigningKey(random io.Reader, before byte) SigningKey {
	k := SigningKey{ID: before + 1}
	fill(random, k.Secret[:])
	return k
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

// Keys returns the keys, to be kept.
func (r *Ring) Keys() []SigningKey {
	var keys []SigningKey
	for _, s := range r.signers {
		keys = append(keys, s.SigningKey)
	}
	return keys
}

func (r *Ring) current() *signer {
	return r.signers[len(r.signers)-1]
}

// Rotated returns a ring with a new key, from random bytes, without keys that were retired before gone.
func (r *Ring) Rotated(random io.Reader, now, gone time.Time) *Ring {
	var keys []SigningKey
	for _, k := range r.Keys() {
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
