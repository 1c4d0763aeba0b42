package oidc

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"errors"
	"math/big"
	"net/http"
	"strings"
	"testing"
)

// member returns a JSON object of strings, for keys that a provider should not publish.
func member(pairs ...string) string {
	var m members
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, [2]string{pairs[i], `"` + pairs[i+1] + `"`})
	}
	return m.String()
}

// passedOver checks that keys are not used: beside a good one it alone is left, and without it there is no
// set.
func passedOver(t *testing.T, cases map[string]string) {
	t.Helper()
	beside := signers()["EdDSA"]
	for name, key := range cases {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{setOf(key, beside.jwk("")), setOf(beside.jwk(""), key)} {
				set, err := parseKeySet([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				if len(set.keys) != 1 || set.keys[0].id != beside.kid {
					t.Errorf("it is one of the %d keys", len(set.keys))
				}
				accepts(t, set, beside.token(good().String()))
			}
			if set, err := parseKeySet([]byte(setOf(key))); err == nil || set != nil {
				t.Errorf("a set of it alone is one of %d keys", len(set.keys))
			}
		})
	}
}

// Decision idtoken.checked: only keys for RS256, ES256 and EdDSA are of use, others are passed over.
func TestKeysForSomethingElseArePassedOver(t *testing.T) {
	cases := map[string]string{
		"symmetric":  member("kty", "oct", "kid", "d", "k", enc64(make([]byte, 32)), "alg", "HS256"),
		"no kty":     strings.Replace(signers()["EdDSA"].jwk(""), `"kty":"OKP",`, "", 1),
		"kty okp":    strings.Replace(signers()["EdDSA"].jwk(""), "OKP", "okp", 1),
		"kty AKP":    member("kty", "AKP", "kid", "m", "alg", "ML-DSA-44", "pub", enc64(make([]byte, 1312))),
		"empty":      `{}`,
		"null":       `null`,
		"Ed448":      member("kty", "OKP", "crv", "Ed448", "x", enc64(make([]byte, 57))),
		"X25519":     member("kty", "OKP", "crv", "X25519", "x", enc64(make([]byte, 32))),
		"no curve":   strings.Replace(signers()["EdDSA"].jwk(""), `"crv":"Ed25519",`, "", 1),
		"OKP P-256":  strings.Replace(signers()["EdDSA"].jwk(""), "Ed25519", "P-256", 1),
		"EC Ed25519": strings.Replace(signers()["ES256"].jwk(""), "P-256", "Ed25519", 1),
		"EC P-384":   strings.Replace(signers()["ES256"].jwk(""), "P-256", "P-384", 1),
		"secp256k1":  strings.Replace(signers()["ES256"].jwk(""), "P-256", "secp256k1", 1),
		"RSA curve":  strings.Replace(signers()["RS256"].jwk(""), `"kty":"RSA"`, `"kty":"RSA","crv":"P-256"`, 1),
	}
	for name, more := range map[string]string{
		"use enc":                  `,"use":"enc"`,
		"use in another case":      `,"use":"SIG"`,
		"key_ops encrypt":          `,"key_ops":["encrypt","wrapKey"]`,
		"key_ops sign":             `,"key_ops":["sign"]`,
		"key_ops none":             `,"key_ops":[]`,
		"use sig, key_ops encrypt": `,"use":"sig","key_ops":["encrypt"]`,
		"use enc, key_ops verify":  `,"use":"enc","key_ops":["verify"]`,
		"alg none":                 `,"alg":"none"`,
		"alg HS256":                `,"alg":"HS256"`,
	} {
		for _, alg := range algs {
			cases[alg+" "+name] = signers()[alg].jwk(more)
		}
	}
	for _, alg := range []string{"PS256", "RS512", "RS1", "RSA-OAEP", "RSA1_5", "ES256"} {
		cases["RSA for "+alg] = signers()["RS256"].jwk(`,"alg":"` + alg + `"`)
	}
	cases["EC for ECDH-ES"] = signers()["ES256"].jwk(`,"alg":"ECDH-ES"`)
	passedOver(t, cases)
}

// RFC 7518, 6.3 and RFC 8017: an RSA key has 2048 bits or more, and an odd exponent above 1.
func TestWeakAndMisshapenRSAKeysArePassedOver(t *testing.T) {
	n := signers()["RS256"].key.Public().(*rsa.PublicKey).N
	modulus := func(bits uint) string { // no product of two primes, but passed over for its length alone
		x := new(big.Int).Lsh(big.NewInt(1), bits-1)
		return enc64(x.Add(x, big.NewInt(1)).Bytes())
	}
	good64 := enc64(n.Bytes())
	key := func(n, e string) string { return member("kty", "RSA", "kid", "r", "n", n, "e", e) }
	passedOver(t, map[string]string{
		"1024 bits":                        signers()["weak"].jwk(""),
		"2047 bits":                        key(modulus(2047), "AQAB"),
		"16384 bits":                       key(modulus(16384), "AQAB"),
		"1024 bits with zeros before":      key(enc64(append(make([]byte, 256), 0xff)), "AQAB"),
		"no modulus":                       member("kty", "RSA", "e", "AQAB"),
		"no exponent":                      member("kty", "RSA", "n", good64),
		"exponent 0":                       key(good64, "AA"),
		"exponent 1":                       key(good64, "AQ"),
		"exponent 2":                       key(good64, "Ag"),
		"exponent 65536":                   key(good64, enc64([]byte{1, 0, 0})),
		"exponent 2^31+1":                  key(good64, enc64([]byte{0x80, 0, 0, 1})),
		"exponent 2^32+1":                  key(good64, enc64([]byte{1, 0, 0, 0, 1})),
		"exponent 2^64+65537":              key(good64, enc64([]byte{1, 0, 0, 0, 0, 0, 1, 0, 1})),
		"exponent as long as the modulus":  key(good64, good64),
		"modulus padded":                   key(good64+"==", "AQAB"),
		"modulus of the standard alphabet": key("+/"+good64, "AQAB"),
		"modulus with a newline":           key(good64+`\n`, "AQAB"),
		"exponent padded":                  key(good64, "AQAB===="),
		"modulus decimal":                  key(n.String()+"!", "AQAB"),
	})
	for name, e := range map[string]string{
		"3":      "Aw",
		"65537":  "AQAB",
		"2^31-1": enc64([]byte{0x7f, 0xff, 0xff, 0xff}),
	} {
		if _, err := parseKeySet([]byte(setOf(key(good64, e)))); err != nil {
			t.Errorf("exponent %s: %v", name, err)
		}
	}
	// Keys that no signature can fit do no harm where they are taken.
	for name, odd := range map[string]*big.Int{
		"even":     new(big.Int).Lsh(big.NewInt(1), 2047),
		"all ones": new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 2048), big.NewInt(1)),
	} {
		if set, err := parseKeySet([]byte(setOf(key(enc64(odd.Bytes()), "AQAB")))); err == nil {
			t.Run("a modulus that is "+name, func(t *testing.T) {
				refuses(t, set, signers()["RS256"].token(good().String()))
			})
		}
	}
}

// RFC 7518, 6.2 and RFC 8037, 2: a point has coordinates of 32 bytes and lies on the curve.
func TestPointsThatAreNoneArePassedOver(t *testing.T) {
	point, err := signers()["ES256"].key.Public().(*ecdsa.PublicKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	x := point[1:33]
	y := point[33:]
	edwards := signers()["EdDSA"].key.Public().(ed25519.PublicKey)
	ec := func(x, y []byte) string {
		return member("kty", "EC", "crv", "P-256", "kid", "e", "x", enc64(x), "y", enc64(y))
	}
	okp := func(x string) string { return member("kty", "OKP", "crv", "Ed25519", "kid", "d", "x", x) }
	zero := make([]byte, 32)
	ones := bytes.Repeat([]byte{255}, 32)
	passedOver(t, map[string]string{
		"x of 31 bytes":          ec(x[:31], y),
		"y of 31 bytes":          ec(x, y[:31]),
		"x of 33 bytes, y of 31": ec(point[1:34], point[34:]),
		"x of 31 bytes, y of 33": ec(point[1:32], point[32:]),
		"x of 33 bytes":          ec(append([]byte{0}, x...), y),
		"x and y of 65 bytes":    ec(point, nil),
		"no y":                   ec(x, nil),
		"no x":                   ec(nil, y),
		"neither":                ec(nil, nil),
		"compressed":             ec(append([]byte{2 + y[31]&1}, x...), nil),
		"x and y exchanged":      ec(y, x),
		"twice x":                ec(x, x),
		"zero":                   ec(zero, zero),
		"all ones":               ec(ones, ones),
		"x zero":                 ec(zero, y),
		"x padded":               member("kty", "EC", "crv", "P-256", "x", enc64(x)+"=", "y", enc64(y)),
		"Ed25519 of 31 bytes":    okp(enc64(edwards[:31])),
		"Ed25519 of 33 bytes":    okp(enc64(append(edwards[:32:32], 0))),
		"Ed25519 of none":        okp(""),
		"Ed25519 padded":         okp(enc64(edwards) + "="),
		"Ed25519 in hex":         okp(strings.Repeat("ab", 32)),
		"Ed25519 private key":    okp(enc64(signers()["EdDSA"].key.(ed25519.PrivateKey))),
		"Ed25519 with a space":   okp(enc64(edwards) + " "),
	})
}

// RFC 7517, 4.5: keys of different types may share a kid; the algorithm tells which is meant.
func TestKeysOfDifferentTypesMayShareAKid(t *testing.T) {
	for _, kid := range []string{"k", ""} {
		var list []string
		for _, alg := range algs {
			list = append(list, strings.Replace(signers()[alg].jwk(""), `"kid":"`+signers()[alg].kid+`"`,
				`"kid":"`+kid+`"`, 1))
		}
		set, err := parseKeySet([]byte(setOf(list...)))
		if err != nil || len(set.keys) != 3 {
			t.Fatalf("%v: %v", set, err)
		}
		for _, alg := range algs {
			t.Run(alg+" kid "+kid, func(t *testing.T) {
				s := signers()[alg]
				named := s.signs(`{"alg":"`+alg+`","kid":"`+kid+`"}`, good().String())
				unnamed := s.signs(`{"alg":"`+alg+`"}`, good().String())
				accepts(t, set, unnamed)
				if kid == "" {
					refuses(t, set, named) // no key has a name
				} else {
					accepts(t, set, named)
				}
			})
		}
	}
}

// RFC 7517, 4 and 5: members that are not understood are ignored, of the set and of a key.
func TestMembersThatAreNotUnderstoodAreIgnored(t *testing.T) {
	for _, alg := range algs {
		for _, more := range []string{`,"use":"sig","key_ops":["verify"],"alg":"` + alg + `"`,
			`,"key_ops":["sign","verify"]`, `,"x5c":["MIIB"],"x5t":"x","ext":true,"iat":1,"exp":1e9`,
			`,"alg":null,"use":null,"key_ops":null`} {
			set, err := parseKeySet([]byte(`{"next":{"keys":1},"keys":[` + signers()[alg].jwk(more) +
				`],"x":[]}` + "\n"))
			if err != nil {
				t.Errorf("%s%s: %v", alg, more, err)
				continue
			}
			t.Run(alg+more, func(t *testing.T) { accepts(t, set, signers()[alg].token(good().String())) })
		}
	}
}

// Decision idtoken.checked: a key may be called Ed25519 (RFC 9864), and a set may begin with the mark that
// editors put before a text.
func TestASetAsOthersWriteIt(t *testing.T) {
	for _, alg := range []string{"EdDSA", "Ed25519"} {
		set, err := parseKeySet([]byte("\ufeff" + setOf(signers()["EdDSA"].jwk(`,"alg":"`+alg+`"`))))
		if err != nil {
			t.Fatal(alg, err)
		}
		for _, named := range []string{"EdDSA", "Ed25519"} {
			accepts(t, set, signers()["EdDSA"].signs(`{"alg":"`+named+`","kid":"d"}`, good().String()))
		}
	}
}

// Decision idtoken.checked: a set that no ID token could be verified with is an error, not a set without
// keys.
func TestATextThatIsNoKeySetIsAnError(t *testing.T) {
	set := setOf(signers()["EdDSA"].jwk(""))
	for _, text := range []string{
		"", " ", "null", "true", "1", "[]", "{}", `"keys"`, `{"keys":null}`, `{"keys":[]}`, `{"keys":{}}`,
		`{"keys":"x"}`, `{"keys":[null]}`, `{"keys":[{}]}`, `{"keys":[[]]}`, `{"keys":["x"]}`,
		"<html><body>404</body></html>", "not found", set[:len(set)-1], set + "x", set + set, set +
			"\x00", "\ufeff\ufeff" + set, "[" + set + "]", strings.ReplaceAll(set, `"`, "'"), signers()["EdDSA"].jwk(""),
		strings.Repeat("[", 20000), `{"error":"temporarily_unavailable"}`, "-----BEGIN PUBLIC KEY-----",
	} {
		if set, err := parseKeySet([]byte(text)); err == nil || set != nil {
			t.Errorf("%.60q: a set of %d keys", text, len(set.keys))
		}
	}
}

// What is wrong with a key set is said, by key, and again where a token names that key.
func TestWhatIsWrongWithAKeySetIsSaid(t *testing.T) {
	rs := func(more string) string { return signers()["RS256"].jwk(more) }
	padded := strings.Replace(rs(""), "AQAB", "AQAB==", 1)
	for key, why := range map[string]string{
		rs(`,"alg":"RS512"`):         `has the alg "RS512", not RS256`,
		rs(`,"use":"enc"`):           `has the use "enc", not sig`,
		rs(`,"key_ops":["encrypt"]`): `has key_ops without verify`,
		rs(`,"x5t":"","key_ops":""`): `has a member of another type`,
		signers()["weak"].jwk(""):    `is none of RSA of 2048 to 8192 bits (n, e),`,
		padded:                       `base64url without padding: kty "RSA", crv ""`,

		`{"kty":"RSA","kid":"r","x5c":["MIIB"]}`:                 `is none of RSA of 2048 to 8192 bits (n, e),`,
		`{"kty":"EC","crv":"P-384","kid":"r","x":"AA","y":"AA"}`: `kty "EC", crv "P-384"`,
		`{"kty":"oct","kid":"r","k":"c2VjcmV0LXRoYXQtbm9ib2R5"}`: `kty "oct", crv ""`,
	} {
		_, err := parseKeySet([]byte(setOf(`{}`, key)))
		if err == nil || !strings.Contains(err.Error(), why) || strings.Contains(err.Error(), "c2Vjcm") ||
			!strings.Contains(err.Error(), `key 2, kid "`) {
			t.Errorf("%s: %v", key, err)
		}
		set, err := parseKeySet([]byte(setOf(signers()["EdDSA"].jwk(""), key)))
		if err != nil {
			t.Fatal(err)
		}
		for _, kid := range []string{"r", "w"} {
			token := signers()["RS256"].signs(`{"alg":"RS256","kid":"`+kid+`"}`, good().String())
			_, err = set.Verify(token, ours, noon)
			named := strings.Contains(key, `"kid":"`+kid+`"`)
			if !errors.Is(err, errUnknownKey) || strings.Contains(err.Error(), why) != named {
				t.Errorf("%s, a token of the key %s: %v", key, kid, err)
			}
		}
	}
}

// What is no key set is told by its line, or by what it is instead.
func TestWhatIsNoKeySetIsToldByItsLine(t *testing.T) {
	for text, why := range map[string]string{
		"{\"keys\":[\n{},\n]}":           "invalid character ']' looking for beginning of value, in line 3",
		"-----BEGIN PUBLIC KEY-----\n":   "in numeric literal, in line 1",
		"\ufeff<html>":                   "invalid character '<' looking for beginning of value, in line 1",
		"":                               "unexpected end of JSON input, in line 1",
		"\xff\xfe{\x00":                  "but not UTF-8",
		"[" + setOf() + "]":              "but not a JSON object",
		signers()["EdDSA"].jwk(""):       "an object without a list of keys",
		`{"jwks_uri":"https://x/certs"}`: "the provider's configuration, whose jwks_uri names the key set",
		`{"keys":[],"keys":[]}`:          `"keys" is given twice`,
	} {
		_, err := parseKeySet([]byte(text))
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, want %s", text, err, why)
		}
	}
}

// Decision idtoken.checked: what is wrong with a token is said to who must mend it, without the token.
func TestWhatIsWrongWithATokenIsSaid(t *testing.T) {
	all := published(t, algs...)
	d := signers()["EdDSA"]
	with := func(name, value string) string { return d.token(good().with(name, value).String()) }
	headed := func(header string) string { return d.signs(header, good().String()) }
	for why, token := range map[string]string{
		`iss is "https://idp.example/", not "https://idp.example"`: with("iss", `"https://idp.example/"`),

		`iss is absent, not`:                      with("iss", ""),
		`aud is ["account"], not "waybill-app"`:   with("aud", `["account"]`),
		`azp is "phone", not "waybill-app"`:       with("azp", `"phone"`),
		`exp is "1795", not a number of seconds`:  with("exp", `"1795"`),
		`iat is 1e13, not a number of seconds in`: with("iat", "1e13"),
		`sub is not a text of 1 to 255`:           with("sub", "7"),
		`alg is "RS512", not RS256, ES256 or`:     headed(`{"alg":"RS512"}`),
		`typ is "at+jwt", not JWT`:                headed(`{"alg":"EdDSA","typ":"at+jwt"}`),
		`the kid "z" is not in the key set`:       headed(`{"alg":"EdDSA","kid":"z"}`),
		`8192 characters, but in 3 parts and`:     with("x", `"`+strings.Repeat("x", 8000)+`"`),
		`but in 5 parts`:                          "a.b.c.d.e",
		`part 1 is not base64url without padding`: "Bearer " + with("x", "1"),
		`part 3 is not base64url without padding`: with("x", "1") + "\n",
	} {
		_, err := all.Verify(token, ours, noon)
		if err == nil || !strings.Contains(err.Error(), why) || len(err.Error()) > 200 {
			t.Errorf("%v, want %s", err, why)
		}
	}
}

// The environment leads no call elsewhere: keys come from where -idp-jwks says, not through a proxy.
func TestKeysAreFetchedWithoutAProxy(t *testing.T) {
	c, err := New(Config{Provider: ours, JWKS: "http://idp.example/keys"})
	if err != nil {
		t.Fatal(err)
	}
	if tr, ok := c.http.Transport.(*http.Transport); !ok || tr.Proxy != nil {
		t.Error("the environment may name a proxy")
	}
}
