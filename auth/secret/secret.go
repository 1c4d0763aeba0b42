// Package secret has what callers show. API keys and the tokens of sessions are random ([NewKey],
// [NewToken]); package auth remembers their hashes, and finds the caller by them. A password is derived
// slowly, and checked by [IsPassword]. The tokens of offers are signed by a [Ring], so that what was shown is
// what is charged, without anything being stored per offer.
//
//	key, hash := secret.NewKey(rand.Reader)
//	ring := secret.NewRing([]auth.SigningKey{secret.NewSigningKey(rand.Reader, 0)})
//	token := ring.Sign(nil, payload) // payload[0] is spare
//	payload, err := ring.Open(string(token))
package secret

import (
	"encoding/base64"
	"io"

	"waybill/auth"
)

const keyPrefix = "wb_"

// NewKey makes an API key and its hash. The key itself is shown once and kept nowhere.
func NewKey(random io.Reader) (key string, hash auth.Hash) {
	key = keyPrefix + NewToken(random)
	return key, auth.HashOf(key)
}

// NewToken makes a secret, as access and refresh tokens are: 256 random bits.
func NewToken(random io.Reader) string {
	var b [32]byte
	fill(random, b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// fill fills b with random bytes. A source that has none leaves nothing that could go on.
func fill(random io.Reader, b []byte) {
	if _, err := io.ReadFull(random, b); err != nil {
		panic("auth: no random bytes: " + err.Error())
	}
}
