package oidc

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"waybill/auth"
)

// FuzzVerify: nothing is accepted that was not signed, and what is refused is so as ErrCredentials (decision
// idtoken.checked).
func FuzzVerify(f *testing.F) {
	all := published(f, algs...)
	var signed []string // what comes before the signature
	for _, alg := range algs {
		token := signers()[alg].token(good().String())
		signed = append(signed, token[:strings.LastIndexByte(token, '.')])
		f.Add(token)
	}
	for _, seed := range []string{"", "..", "a.b.c", "eyJhbGciOiJub25lIn0.e30.",
		enc64([]byte(`{"alg":"EdDSA","kid":"d"}`)) + ".e30.AAAA",
		signers()["foreign"].token(good().String())} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, token string) {
		who, err := all.Verify(token, ours, noon)
		if err != nil {
			if !errors.Is(err, auth.ErrCredentials) || who != nil {
				t.Fatalf("%+v, %v", who, err)
			}
			return
		}
		if i := strings.LastIndexByte(token, '.'); !slices.Contains(signed, token[:i]) {
			t.Fatalf("%q was never signed: %+v", token, who)
		}
	})
}

// FuzzClaims: whatever a provider signs, only what says that it is ours, and of now, is accepted (decision
// idtoken.checked).
func FuzzClaims(f *testing.F) {
	key := signers()["EdDSA"]
	all := published(f, "EdDSA")
	for _, seed := range []string{good().String(), "{}", "", "null", `{"iss":1}`,
		good().and("iss", "1").String(), good().with("exp", "1e999").String()} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, claims string) {
		if len(claims) > 4096 {
			return
		}
		who, err := all.Verify(key.token(claims), ours, noon)
		if err != nil {
			if !errors.Is(err, auth.ErrCredentials) || who != nil {
				t.Fatalf("%+v, %v", who, err)
			}
			return
		}
		if who.Issuer != ours.Issuer || who.Subject == "" || len(who.Subject) > 4*255 {
			t.Fatalf("%q is accepted as %+v", claims, who)
		}
	})
}

// FuzzParseKeySet: whatever a provider publishes, a set has a key, and none verifies what its key did not
// sign (decision idtoken.checked).
func FuzzParseKeySet(f *testing.F) {
	var forged []string
	for _, name := range []string{"weak", "foreign", "other curve point"} {
		s := signers()[name]
		forged = append(forged, s.token(good().String()), s.signs(`{"alg":"`+s.alg+`"}`, good().String()))
	}
	for _, alg := range algs {
		f.Add([]byte(setOf(signers()[alg].jwk(""))))
		f.Add([]byte(setOf(signers()[alg].jwk(`,"use":"sig","alg":"` + alg + `"`))))
	}
	f.Add([]byte(setOf(signers()["RS256"].jwk(""), `{"kty":"oct","k":"AAAA"}`)))
	f.Add([]byte(`{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}`))
	f.Add([]byte(`{"keys":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		set, err := parseKeySet(text)
		if err != nil {
			if set != nil {
				t.Fatal("a set and an error")
			}
			return
		}
		if len(set.keys) == 0 {
			t.Fatalf("%q is a set of no keys", text)
		}
		for _, token := range forged {
			if who, err := set.Verify(token, ours, noon); err == nil {
				t.Fatalf("with %q, %q is accepted as %+v", text, token, who)
			}
		}
	})
}
