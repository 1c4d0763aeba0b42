package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/auth"
)

// ours is the provider that the tests trust.
var ours = Provider{Issuer: "https://idp.example", Audience: "waybill-app"}

// issuer is a key that a provider signs with.
type issuer struct {
	kid, alg string
	key      crypto.Signer
}

// signers are the provider's keys, by algorithm, a weak one and another's; making RSA keys takes long, so
// they are made once.
var signers = sync.OnceValue(func() map[string]*issuer {
	rsaKey := func(bits int) crypto.Signer {
		k, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			panic(err)
		}
		return k
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	other, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, edwards, err3 := ed25519.GenerateKey(rand.Reader)
	_, foreign, err4 := ed25519.GenerateKey(rand.Reader)
	if err := errors.Join(err, err2, err3, err4); err != nil {
		panic(err)
	}
	return map[string]*issuer{
		"RS256":             {"r", "RS256", rsaKey(2048)},
		"ES256":             {"e", "ES256", curve},
		"EdDSA":             {"d", "EdDSA", edwards},
		"weak":              {"w", "RS256", rsaKey(1024)},
		"foreign":           {"d", "EdDSA", foreign},
		"other curve point": {"e", "ES256", other},
	}
})

// algs are the three algorithms of decision idtoken.checked.
var algs = []string{"RS256", "ES256", "EdDSA"}

func enc64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// signature returns the bytes of a signature in the form that RFC 7518 and RFC 8037 want.
func (s *issuer) signature(input string) []byte {
	sum := sha256.Sum256([]byte(input))
	switch k := s.key.(type) {
	case *rsa.PrivateKey:
		b, err := rsa.SignPKCS1v15(nil, k, crypto.SHA256, sum[:])
		if err != nil {
			panic(err)
		}
		return b
	case *ecdsa.PrivateKey:
		r, q, err := ecdsa.Sign(rand.Reader, k, sum[:])
		if err != nil {
			panic(err)
		}
		return slices.Concat(r.FillBytes(make([]byte, 32)), q.FillBytes(make([]byte, 32)))
	}
	return ed25519.Sign(s.key.(ed25519.PrivateKey), []byte(input))
}

// raw signs a header and claims that are encoded already, well or not.
func (s *issuer) raw(header, claims string) string {
	return header + "." + claims + "." + enc64(s.signature(header+"."+claims))
}

// signs signs a header and claims given as JSON text, well-formed or not.
func (s *issuer) signs(header, claims string) string {
	return s.raw(enc64([]byte(header)), enc64([]byte(claims)))
}

// header is the one that a token of the signer has.
func (s *issuer) header() string { return fmt.Sprintf(`{"alg":%q,"kid":%q,"typ":"JWT"}`, s.alg, s.kid) }

// token signs claims under the signer's header.
func (s *issuer) token(claims string) string { return s.signs(s.header(), claims) }

// jwk returns the public key as a member of a JSON Web Key Set; more are members put after it.
func (s *issuer) jwk(more string) string {
	switch k := s.key.Public().(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf(`{"kty":"RSA","kid":%q,"n":%q,"e":"AQAB"%s}`, s.kid, enc64(k.N.Bytes()), more)
	case *ecdsa.PublicKey:
		point, err := k.Bytes()
		if err != nil {
			panic(err)
		}
		return fmt.Sprintf(`{"kty":"EC","crv":"P-256","kid":%q,"x":%q,"y":%q%s}`, s.kid, enc64(point[1:33]),
			enc64(point[33:]), more)
	}
	return fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":%q,"x":%q%s}`, s.kid,
		enc64(s.key.Public().(ed25519.PublicKey)), more)
}

// setOf is a key set as a provider publishes it.
func setOf(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }

// published parses the set of the signers that are named.
func published(t testing.TB, names ...string) *KeySet {
	t.Helper()
	var keys []string
	for _, name := range names {
		keys = append(keys, signers()[name].jwk(""))
	}
	set, err := parseKeySet([]byte(setOf(keys...)))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// members are those of a JSON object, in order: name and value as JSON text.
type members [][2]string

// good are the claims of a token that is accepted at noon.
func good() members {
	return members{
		{"iss", `"https://idp.example"`}, {"sub", `"subject-1"`}, {"aud", `"waybill-app"`},
		{"exp", fmt.Sprint(noon.Add(time.Hour).Unix())}, {"iat", fmt.Sprint(noon.Unix())},
		{"email", `"anna@example.com"`}, {"email_verified", `true`},
	}
}

// with changes a member, adds it at the end, or with "" removes it.
func (m members) with(name, value string) members {
	n := slices.DeleteFunc(slices.Clone(m), func(x [2]string) bool { return x[0] == name })
	if value != "" {
		n = append(n, [2]string{name, value})
	}
	return n
}

// and adds a member, also one that is there already.
func (m members) and(name, value string) members {
	return append(slices.Clone(m), [2]string{name, value})
}

func (m members) String() string {
	var list []string
	for _, x := range m {
		list = append(list, `"`+x[0]+`":`+x[1])
	}
	return "{" + strings.Join(list, ",") + "}"
}

// later is an instant so far from noon, as a claim has it.
func later(d time.Duration) string {
	return fmt.Sprintf("%.3f", float64(noon.Add(d).UnixMilli())/1000)
}

// refuses checks that a token is refused, and that what is logged of it could not be used as one.
func refuses(t *testing.T, keys *KeySet, token string) {
	t.Helper()
	who, err := keys.Verify(token, ours, noon)
	if err == nil {
		t.Fatalf("accepted as %+v", who)
	}
	if !errors.Is(err, auth.ErrCredentials) || who != nil {
		t.Errorf("%v, %v: want an ErrCredentials and nobody", who, err)
	}
	i := strings.LastIndexByte(token, '.')
	if i >= 0 && len(token)-i > 4 && strings.Contains(err.Error(), token[i+1:]) {
		t.Errorf("the error tells the signature: %v", err)
	}
}

// accepts checks that a token is accepted.
func accepts(t *testing.T, keys *KeySet, token string) *auth.Identity {
	t.Helper()
	who, err := keys.Verify(token, ours, noon)
	if err != nil {
		t.Fatalf("refused: %v", err)
	}
	return who
}

// noon is when the tests' tokens are shown: a whole second, so that leeways can be told to the millisecond.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
