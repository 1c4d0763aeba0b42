package auth

import (
	"encoding/base64"
	"io"
)

const keyPrefix = "wb_"

// NewKey makes an API key and its hash. The key itself is shown once and kept nowhere.
func NewKey(random io.Reader) (key string, hash Hash) {
	key = keyPrefix + NewToken(random)
	return key, HashOf(key)
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
