package oidc

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"waybill/auth"
)

// Decision idtoken.checked: RS256, ES256 and EdDSA are accepted, from a set of one key and of several.
func TestTokensOfTheThreeAlgorithmsAreAccepted(t *testing.T) {
	all := published(t, algs...)
	for _, alg := range algs {
		want := &auth.Identity{
			Issuer:        "https://idp.example",
			Subject:       "subject-1",
			Email:         "anna@example.com",
			EmailVerified: true,
		}
		for name, keys := range map[string]*KeySet{"of several": all, "of one": published(t, alg)} {
			t.Run(alg+" "+name, func(t *testing.T) {
				diff := cmp.Diff(want, accepts(t, keys, signers()[alg].token(good().String())))
				if diff != "" {
					t.Error(diff)
				}
			})
		}
	}
	s := signers()["EdDSA"]
	for name, header := range map[string]string{
		"RFC 9864": `{"alg":"Ed25519","kid":"d"}`,
		"no typ":   `{"alg":"EdDSA","kid":"d"}`, "typ jwt": `{"alg":"EdDSA","kid":"d","typ":"jwt"}`,
		"members nobody knows": `{"alg":"EdDSA","kid":"d","cty":"x","x":{"alg":"none"},"x5t":"y"}`,
		"spaces":               " {\n\"alg\" : \"EdDSA\", \"kid\":\"d\"}\t",
	} {
		t.Run(name, func(t *testing.T) { accepts(t, all, s.signs(header, good().String())) })
	}
	t.Run("no kid, one key", func(t *testing.T) {
		accepts(t, published(t, "EdDSA"), s.signs(`{"alg":"EdDSA"}`, good().String()))
	})
}

// Decision idtoken.checked: only the three algorithms, each only for its own type of key, and a key only from
// the set.
func TestHeadersOfHostileTokensAreRefused(t *testing.T) {
	all := published(t, algs...)
	one := published(t, "EdDSA")
	s := signers()["EdDSA"]
	for name, header := range map[string]string{
		"alg none":                  `{"alg":"none","kid":"d"}`,
		"alg None":                  `{"alg":"None","kid":"d"}`,
		"alg NONE":                  `{"alg":"NONE","kid":"d"}`,
		"alg empty":                 `{"alg":"","kid":"d"}`,
		"alg absent":                `{"kid":"d"}`,
		"alg null":                  `{"alg":null,"kid":"d"}`,
		"alg a number":              `{"alg":1,"kid":"d"}`,
		"alg an array":              `{"alg":["EdDSA"],"kid":"d"}`,
		"alg eddsa":                 `{"alg":"eddsa","kid":"d"}`,
		"alg padded":                `{"alg":"EdDSA ","kid":"d"}`,
		"alg with NUL":              `{"alg":"EdDSA\u0000","kid":"d"}`,
		"alg Ed448":                 `{"alg":"Ed448","kid":"d"}`,
		"alg ed25519":               `{"alg":"ed25519","kid":"d"}`,
		"alg Ed25519 of an EC key":  `{"alg":"Ed25519","kid":"e"}`,
		"alg HS256":                 `{"alg":"HS256","kid":"d"}`,
		"alg RS512":                 `{"alg":"RS512","kid":"r"}`,
		"alg PS256":                 `{"alg":"PS256","kid":"r"}`,
		"alg RS1":                   `{"alg":"RS1","kid":"r"}`,
		"alg ES384":                 `{"alg":"ES384","kid":"e"}`,
		"alg ES256K":                `{"alg":"ES256K","kid":"e"}`,
		"alg of another key, RS256": `{"alg":"RS256","kid":"d"}`,
		"alg of another key, ES256": `{"alg":"ES256","kid":"d"}`,
		"kid of an RSA key":         `{"alg":"EdDSA","kid":"r"}`,
		"kid of an EC key":          `{"alg":"EdDSA","kid":"e"}`,
		"kid unknown":               `{"alg":"EdDSA","kid":"x"}`,
		"kid empty":                 `{"alg":"EdDSA","kid":""}`,
		"kid null":                  `{"alg":"EdDSA","kid":null}`,
		"kid a number":              `{"alg":"EdDSA","kid":4}`,
		"kid an array":              `{"alg":"EdDSA","kid":["d"]}`,
		"kid an object":             `{"alg":"EdDSA","kid":{"kid":"d"}}`,
		"kid in another case":       `{"alg":"EdDSA","kid":"D"}`,
		"kid a path":                `{"alg":"EdDSA","kid":"../../dev/null"}`,
		"kid with NUL":              `{"alg":"EdDSA","kid":"d\u0000"}`,
		"jku":                       `{"alg":"EdDSA","kid":"d","jku":"https://evil.example/keys"}`,
		"x5u":                       `{"alg":"EdDSA","kid":"d","x5u":"https://evil.example/cert"}`,
		"jwk":                       `{"alg":"EdDSA","kid":"d","jwk":` + s.jwk("") + `}`,
		"x5c":                       `{"alg":"EdDSA","kid":"d","x5c":["MIIB"]}`,
		"crit":                      `{"alg":"EdDSA","kid":"d","crit":["b64"],"b64":false}`,
		"crit empty":                `{"alg":"EdDSA","kid":"d","crit":[]}`,
		"jku null":                  `{"alg":"EdDSA","kid":"d","jku":null}`,
		"typ at+jwt":                `{"alg":"EdDSA","kid":"d","typ":"at+jwt"}`,
		"typ logout+jwt":            `{"alg":"EdDSA","kid":"d","typ":"logout+jwt"}`,
		"typ empty":                 `{"alg":"EdDSA","kid":"d","typ":""}`,
		"typ null":                  `{"alg":"EdDSA","kid":"d","typ":null}`,
		"typ a number":              `{"alg":"EdDSA","kid":"d","typ":1}`,
		"typ JOSE":                  `{"alg":"EdDSA","kid":"d","typ":"JOSE"}`,
		"Alg":                       `{"Alg":"EdDSA","kid":"d"}`,
		"ALG besides":               `{"alg":"EdDSA","ALG":"none","kid":"d"}`,
		"Kid":                       `{"alg":"EdDSA","Kid":"d"}`,
		"JKU":                       `{"alg":"EdDSA","kid":"d","JKU":"x"}`,
		"alg twice":                 `{"alg":"none","alg":"EdDSA","kid":"d"}`,
		"alg twice, escaped":        `{"\u0061lg":"none","alg":"EdDSA","kid":"d"}`,
		"kid twice":                 `{"alg":"EdDSA","kid":"x","kid":"d"}`,
		"not an object":             `"EdDSA"`,
		"an array":                  `[{"alg":"EdDSA","kid":"d"}]`,
		"null":                      `null`,
		"empty":                     ``,
		"two objects":               `{"alg":"EdDSA","kid":"d"}{}`,
		"cut off":                   `{"alg":"EdDSA","kid":"d"`,
		"something after it":        `{"alg":"EdDSA","kid":"d"}x`,
		"a comma too many":          `{"alg":"EdDSA","kid":"d",}`,
		"not UTF-8":                 "{\"alg\":\"EdDSA\",\"kid\":\"d\",\"x\":\"\xff\"}",
		"BOM":                       "\ufeff" + `{"alg":"EdDSA","kid":"d"}`,
	} {
		t.Run(name, func(t *testing.T) { refuses(t, all, s.signs(header, good().String())) })
	}
	t.Run("kid absent, several keys", func(t *testing.T) {
		for _, alg := range algs {
			accepts(t, all, signers()[alg].signs(`{"alg":"`+alg+`"}`, good().String()))
		}
	})
	t.Run("kid absent, a key that is not in the set", func(t *testing.T) {
		token := s.signs(`{"alg":"EdDSA"}`, good().String())
		others := published(t, "RS256", "ES256")
		refuses(t, others, token)
		dot := strings.LastIndex(token, ".")
		token = token[:dot+1] + strings.Repeat("A", len(token)-dot-1) // which is no signature of any key
		if _, err := all.Verify(token, ours, noon); !errors.Is(err, errUnknownKey) {
			t.Errorf("%v: nobody would look for a newer key", err)
		}
	})
	t.Run("kid of another type, one key", func(t *testing.T) {
		refuses(t, one, s.signs(`{"alg":"EdDSA","kid":4}`, good().String()))
	})
	t.Run("kid unknown, one key", func(t *testing.T) {
		token := s.signs(`{"alg":"EdDSA","kid":"x"}`, good().String())
		refuses(t, one, token)
		if _, err := one.Verify(token, ours, noon); !errors.Is(err, errUnknownKey) {
			t.Errorf("%v: nobody would look for a newer key", err)
		}
	})
	t.Run("alg of another key, one key", func(t *testing.T) {
		for _, header := range []string{`{"alg":"ES256","kid":"d"}`, `{"alg":"RS256"}`} {
			_, err := one.Verify(s.signs(header, good().String()), ours, noon)
			if !errors.Is(err, auth.ErrCredentials) || errors.Is(err, errUnknownKey) {
				t.Errorf("%v: a newer key is of no help", err)
			}
		}
	})
	t.Run("no key at all", func(t *testing.T) { refuses(t, new(KeySet), s.token(good().String())) })
}

// Decision idtoken.checked: a secret that everyone knows signs nothing (RFC 8725, 2.1).
func TestAPublicKeyIsNoSecret(t *testing.T) {
	all := published(t, algs...)
	for _, alg := range algs {
		s := signers()[alg]
		der, err := x509.MarshalPKIXPublicKey(s.key.Public())
		if err != nil {
			t.Fatal(err)
		}
		secrets := map[string][]byte{
			"DER":     der,
			"PEM":     pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
			"JWK":     []byte(s.jwk("")),
			"nothing": nil,
		}
		if k, ok := s.key.Public().(*rsa.PublicKey); ok {
			secrets["modulus"] = k.N.Bytes()
		}
		for name, secret := range secrets {
			for _, claimed := range []string{"HS256", alg} {
				t.Run(alg+" as "+claimed+" with "+name, func(t *testing.T) {
					input := enc64(fmt.Appendf(nil, `{"alg":%q,"kid":%q}`, claimed, s.kid)) + "." +
						enc64([]byte(good().String()))
					mac := hmac.New(sha256.New, secret)
					mac.Write([]byte(input))
					refuses(t, all, input+"."+enc64(mac.Sum(nil)))
				})
			}
		}
	}
}

// Decision idtoken.checked: a signature is accepted in the one form that its algorithm has.
func TestSignaturesInAnotherFormAreRefused(t *testing.T) {
	all := published(t, append(algs, "weak")...)
	zero := make([]byte, 32)
	e := signers()["ES256"]
	input := enc64([]byte(e.header())) + "." + enc64([]byte(good().String()))
	sig := e.signature(input)
	accepts(t, all, input+"."+enc64(sig))
	der, err := asn1.Marshal(struct{ R, S *big.Int }{new(big.Int).SetBytes(sig[:32]),
		new(big.Int).SetBytes(sig[32:])})
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{
		"63 bytes":          sig[:63],
		"65 bytes":          append(sig[:64:64], 0),
		"65 bytes, 0 first": append([]byte{0}, sig...),
		"DER":               der,
		"none":              nil,
		"r alone":           sig[:32],
		"r zero":            append(zero[:32:32], sig[32:]...),
		"s zero":            append(sig[:32:32], zero...),
		"both zero":         make([]byte, 64),
		"all ones":          []byte(strings.Repeat("\xff", 64)),
		"s of 33 bytes":     append(append(sig[:32:32], 0), sig[32:]...),
		"s and r":           append(sig[32:64:64], sig[:32]...),
		"twice":             append(sig[:64:64], sig...),
	} {
		t.Run("ES256 "+name, func(t *testing.T) { refuses(t, all, input+"."+enc64(b)) })
	}
	for _, alg := range []string{"RS256", "EdDSA"} {
		s := signers()[alg]
		input := enc64([]byte(s.header())) + "." + enc64([]byte(good().String()))
		sig := s.signature(input)
		for name, b := range map[string][]byte{
			"short":           sig[:len(sig)-1],
			"long":            append(sig[:len(sig):len(sig)], 0),
			"0 first":         append([]byte{0}, sig...),
			"none":            nil,
			"zero":            make([]byte, len(sig)),
			"all ones":        []byte(strings.Repeat("\xff", len(sig))),
			"of other claims": s.signature(input + "A"),
		} {
			t.Run(alg+" "+name, func(t *testing.T) { refuses(t, all, input+"."+enc64(b)) })
		}
	}
	t.Run("RSA of 1024 bits", func(t *testing.T) {
		refuses(t, all, signers()["weak"].token(good().String()))
	})
	t.Run("another's key", func(t *testing.T) {
		refuses(t, all, signers()["foreign"].token(good().String()))
	})
	t.Run("another's point", func(t *testing.T) {
		refuses(t, all, signers()["other curve point"].token(good().String()))
	})
}

// Decision idtoken.checked: three parts of URL-safe base64, each written in its one form, at
// most 8 KiB.
func TestTokensInAnotherFormAreRefused(t *testing.T) {
	all := published(t, algs...)
	for _, alg := range algs {
		s := signers()[alg]
		// ÿ and ? give both characters in which the alphabets differ; the spaces leave stray bits.
		h := odd(s.header())
		c := odd(good().with("x", `"ÿÿ??>>~~"`).String())
		token := s.raw(h, c)
		accepts(t, all, token)
		p := strings.Split(token, ".")
		std := strings.NewReplacer("-", "+", "_", "/")
		cases := map[string]string{
			"2 parts":                     p[0] + "." + p[1],
			"4 parts":                     token + ".",
			"4 parts, the last something": token + "." + p[2],
			"1 part":                      p[0],
			"nothing":                     "",
			"two dots":                    "..",
			"no header":                   s.raw("", p[1]),
			"no claims":                   s.raw(p[0], ""),
			"no signature":                p[0] + "." + p[1] + ".",
			"5 parts":                     "." + token + ".",
			"Bearer":                      "Bearer " + token,
			"in quotes":                   `"` + token + `"`,
			"dots":                        strings.ReplaceAll(token, ".", "\uff0e"),
		}
		for i := range p {
			put := func(name, part string) {
				cases[fmt.Sprintf("part %d %s", i+1, name)] = rebuilt(s, p, i, part)
			}
			put("padded", p[i]+"==")
			put("padded with one character", p[i]+"=")
			for name, x := range map[string]string{
				"newline":  "\n",
				"CR":       "\r",
				"CRLF":     "\r\n",
				"space":    " ",
				"tab":      "\t",
				"NUL":      "\x00",
				"byte 255": "\xff",
			} {
				put(name+" after", p[i]+x)
				put(name+" before", x+p[i])
				put(name+" within", p[i][:4]+x+p[i][4:])
			}
			put("with stray bits", strayBits(p[i]))
			if changed := std.Replace(p[i]); changed != p[i] {
				put("of the standard alphabet", changed)
			}
		}
		if _, ok := cases["part 2 of the standard alphabet"]; !ok {
			t.Error("the claims have no character in which the alphabets differ")
		}
		for name, hostile := range cases {
			t.Run(alg+" "+name, func(t *testing.T) { refuses(t, all, hostile) })
		}
		t.Run(alg+" of 8 KiB and more", func(t *testing.T) { testLengths(t, s, all) })
	}
}

// rebuilt puts another text for a part of a token; when it is not the signature, what it says is signed anew.
func rebuilt(s *issuer, parts []string, i int, part string) string {
	switch i {
	case 0:
		return s.raw(part, parts[1])
	case 1:
		return s.raw(parts[0], part)
	}
	return parts[0] + "." + parts[1] + "." + part
}

// odd encodes JSON with spaces after it, as many as leave bits of the last character unused.
func odd(text string) string {
	for len(text)%3 != 1 {
		text += " "
	}
	return enc64([]byte(text))
}

// strayBits returns base64 that a lax reader takes for the same.
func strayBits(s string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := len(s) - 1
	changed := s[:last] + string(alphabet[strings.IndexByte(alphabet, s[last])|1])
	lax, err := base64.RawURLEncoding.DecodeString(changed)
	if err != nil || changed == s || enc64(lax) != s {
		panic("not the same bytes")
	}
	return changed
}

// testLengths: a token of exactly 8 KiB is accepted, a longer one is not.
func testLengths(t *testing.T, s *issuer, keys *KeySet) {
	var exact, longer bool
	for n := (8<<10-len(s.token(good().String())))*3/4 - 20; !longer; n++ {
		token := s.token(good().with("x", `"`+strings.Repeat("x", n)+`"`).String())
		if _, err := keys.Verify(token, ours, noon); len(token) <= 8<<10 && err != nil {
			t.Fatalf("%d characters: %v", len(token), err)
		}
		exact = exact || len(token) >= 8<<10-1 && len(token) <= 8<<10
		if longer = len(token) > 8<<10; longer {
			refuses(t, keys, token)
		}
	}
	if !exact {
		t.Error("no token came close to the limit")
	}
}

// Decision idtoken.checked: no part of a token says the same in another way; a changed character is refused.
func TestAnyChangedCharacterOfAnIDTokenIsRefused(t *testing.T) {
	all := published(t, algs...)
	for _, alg := range algs {
		token := []byte(signers()[alg].token(good().String()))
		for i, c := range token {
			for _, other := range []byte{c ^ 1, c ^ 0x20, 'A', '.', '\n'} {
				if token[i] = other; other == c {
					continue
				}
				if _, err := all.Verify(string(token), ours, noon); !errors.Is(err, auth.ErrCredentials) {
					t.Errorf("%s: character %d may be %q instead of %q: %v", alg, i, other, c, err)
				}
			}
			token[i] = c
		}
		for i := range token {
			if _, err := all.Verify(string(token[:i]), ours, noon); !errors.Is(err, auth.ErrCredentials) {
				t.Errorf("%s: the first %d characters do: %v", alg, i, err)
			}
		}
	}
}

// Decision idtoken.builtin: without an identity provider the built-in one is trusted, for its own audience
// and an hour.
func TestTokensOfTheDevelopmentProvider(t *testing.T) {
	key := signers()["EdDSA"].key.(ed25519.PrivateKey)
	keys := developmentKeys(key.Public().(ed25519.PublicKey))
	token := Mint(key, "Anna@Example.com", noon)
	who, err := keys.Verify(token, Development, noon)
	if err != nil || who.Email != "Anna@Example.com" || !who.EmailVerified ||
		who.Issuer != Development.Issuer {
		t.Fatalf("%+v, %v", who, err)
	}
	again, err := keys.Verify(Mint(key, "anna@example.COM", noon), Development, noon)
	if err != nil || again.Subject != who.Subject {
		t.Errorf("the same user is two subjects: %+v, %v", again, err)
	}
	for name, at := range map[string]time.Time{
		"too late":  noon.Add(time.Hour + time.Minute),
		"too early": noon.Add(-time.Minute - time.Millisecond),
	} {
		if _, err := keys.Verify(token, Development, at); !errors.Is(err, auth.ErrCredentials) {
			t.Errorf("%s: %v", name, err)
		}
	}
	refuses(t, keys, token)
	if _, err := keys.Verify(Mint(signers()["foreign"].key.(ed25519.PrivateKey), "anna@example.com", noon),
		Development, noon); !errors.Is(err, auth.ErrCredentials) {
		t.Errorf("another's key: %v", err)
	}
}
