package auth

import (
	"crypto/rand"
	"encoding/base64"
	"strings"
	"testing"
)

func TestKeysAre256RandomBits(t *testing.T) {
	key, hash := NewKey(rand.Reader)
	other, _ := NewKey(rand.Reader)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(key, keyPrefix))
	if err != nil || len(raw) != 32 || key == other || HashOf(key) != hash {
		t.Fatalf("%q, %q: %v", key, other, err)
	}
	if x, y := NewToken(rand.Reader), NewToken(rand.Reader); x == y || len(x) != 43 {
		t.Errorf("%q and %q are not 256 random bits", x, y)
	}
}
