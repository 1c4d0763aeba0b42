package oidc

import (
	"strings"
	"testing"
)

// RFC 7517, 5: a key that is not understood is passed over, the others stay good.
func TestOddKeysArePassedOver(t *testing.T) {
	passedOver(t, map[string]string{
		"n a number":       `{"kty":"future","n":5}`,
		"kid a number":     `{"kty":"future","kid":5}`,
		"key_ops a string": `{"kty":"RSA","key_ops":"verify"}`,
		"a string":         `"x"`,
		"OKPEd25519":       strings.Replace(signers()["EdDSA"].jwk(""), `"kty":"OKP","crv":"Ed25519"`, `"kty":"OKPEd25519"`, 1),
		"E + CP-256":       strings.Replace(signers()["ES256"].jwk(""), `"kty":"EC","crv":"P-256"`, `"kty":"E","crv":"CP-256"`, 1),
	})
}

// A key set's members are read in their own case: a second one does not replace the first.
func TestKeysInAnotherCaseAreNotKeys(t *testing.T) {
	text := `{"keys":[` + signers()["EdDSA"].jwk("") + `],"Keys":[` + signers()["foreign"].jwk("") + `]}`
	if set, err := parseKeySet([]byte(text)); err == nil {
		t.Errorf("%d keys", len(set.keys))
	}
}

// Two subjects never become one: half a surrogate pair is no text.
func TestHalfASurrogatePairIsNoSubject(t *testing.T) {
	for _, sub := range []string{`"a\ud800"`, `"a\udfff"`} {
		refuses(t, published(t, "EdDSA"), signers()["EdDSA"].token(good().with("sub", sub).String()))
	}
}
