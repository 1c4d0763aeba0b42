package oidc

import (
	"bytes"
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/auth"
)

var (
	// errUnknownKey is the ErrCredentials of an ID token whose key is not in the set: the provider may have a
	// newer one.
	errUnknownKey = fmt.Errorf("%w: no such key", auth.ErrCredentials)
)

// Provider is what an ID token must say of who made it, and for whom.
type Provider struct {
	Issuer     string // exactly, a slash at the end included
	Audience   string
	EmailClaim string // the claim that holds the e-mail; "" is email
}

const (
	maxIDToken = 8 << 10 // characters
	leeway     = 60      // seconds that clocks may differ by (decision idtoken.checked)
)

// The names that mean something in a token, in this case only.
var (
	headerNames = []string{"alg", "kid", "typ", "crit", "jku", "jwk", "x5u", "x5c"}
	claimNames  = []string{"iss", "sub", "aud", "azp", "exp", "nbf", "iat", "email", "email_verified"}
)

// Verify checks an ID token (OpenID Connect Core, 3.1.3.7; decision idtoken.checked) at an instant. A key is
// only ever taken from the set, never from the token. The error is an ErrCredentials.
func (k *KeySet) Verify(token string, want Provider, now time.Time) (*auth.Identity, error) {
	parts := strings.Split(token, ".")
	if len(token) > maxIDToken || len(parts) != 3 {
		return nil, auth.Refused(fmt.Sprintf("not a signed token in three parts and at most %d characters, "+
			"but in %d parts and %d", maxIDToken, len(parts), len(token)))
	}
	for i, part := range parts {
		if auth.Decode64(part) == nil {
			return nil, auth.Refused(fmt.Sprintf("part %d is not base64url without padding", i+1))
		}
	}
	header, err := parseObject(auth.Decode64(parts[0]), headerNames)
	if err != nil {
		return nil, auth.Refused("header: " + err.Error())
	}
	for _, name := range headerNames[3:] {
		if header[name] != nil {
			return nil, auth.Refused("header: " + name + " is not accepted")
		}
	}
	if header["typ"] != nil && !strings.EqualFold(header.text("typ"), "JWT") {
		return nil, auth.Refused("header: typ is " + header.said("typ") + ", not JWT")
	}
	if !slices.Contains([]string{"RS256", "ES256", "EdDSA"}, algorithm(header.text("alg"))) {
		return nil, auth.Refused("header: alg is " + header.said("alg") + ", not RS256, ES256 or EdDSA")
	}
	if err := k.check(header, []byte(parts[0]+"."+parts[1]), auth.Decode64(parts[2])); err != nil {
		return nil, err
	}
	claims, err := parseObject(auth.Decode64(parts[1]), claimNames)
	if err != nil {
		return nil, auth.Refused("claims: " + err.Error())
	}
	return claims.identity(want, float64(now.UnixMilli())/1000)
}

// identity checks the claims of a token whose signature is good.
func (o object) identity(want Provider, now float64) (*auth.Identity, error) {
	who := &auth.Identity{
		Issuer:  o.text("iss"),
		Subject: o.text("sub"),
	}
	who.Email = o.text(cmp.Or(want.EmailClaim, "email"))
	who.EmailVerified = string(o["email_verified"]) == "true"
	if who.Subject == "" || utf8.RuneCountInString(who.Subject) > auth.MaxSubject {
		return nil, auth.Refused(fmt.Sprintf("sub is not a text of 1 to %d characters", auth.MaxSubject))
	}
	// A claim that is not a number is NaN, which compares to nothing.
	for _, rule := range []struct {
		kept        bool
		claim, want string
	}{
		{who.Issuer == want.Issuer && want.Issuer != "", "iss", strconv.Quote(want.Issuer)},
		{slices.Contains(o.audience(), want.Audience) && want.Audience != "", "aud", strconv.Quote(want.Audience)},
		{o["azp"] == nil || o.text("azp") == want.Audience, "azp", strconv.Quote(want.Audience)},
		{now < o.date("exp", math.NaN())+leeway, "exp", "a number of seconds in the future"},
		{now >= o.date("nbf", 0)-leeway, "nbf", "a number of seconds in the past"},
		{now >= o.date("iat", 0)-leeway, "iat", "a number of seconds in the past"},
	} {
		if !rule.kept {
			return nil, auth.Refused(rule.claim + " is " + o.said(rule.claim) + ", not " + rule.want)
		}
	}
	return who, nil
}

// object is a JSON object's members; what is absent is nil, what is null is not.
type object map[string]json.RawMessage

// parseObject reads one object, strictly: valid UTF-8, no name twice, none of names in another case, nothing
// after it.
func parseObject(text []byte, names []string) (object, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	o := object{}
	for d.More() {
		var value json.RawMessage
		t, err := d.Token()
		name, _ := t.(string)
		if err != nil || d.Decode(&value) != nil {
			return nil, errors.New("not well-formed JSON")
		}
		if o[name] != nil {
			return nil, fmt.Errorf("%q is given twice", name)
		}
		lower := strings.ToLower(name)
		if lower != name && slices.Contains(names, lower) {
			return nil, fmt.Errorf("%q is in the wrong case", name)
		}
		o[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errors.New("not well-formed JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("there is data after the object")
	}
	return o, nil
}

// said returns a member as it is written, for a message.
func (o object) said(name string) string {
	return fmt.Sprintf("%.200s", cmp.Or(string(o[name]), "absent"))
}

// text returns a member that is a string, else "". Half a surrogate pair is none: as U+FFFD two subjects
// would be one.
func (o object) text(name string) (s string) {
	raw := o[name]
	if raw == nil || raw[0] != '"' || json.Unmarshal(raw, &s) != nil ||
		strings.ContainsRune(s, utf8.RuneError) {
		return ""
	}
	return s
}

// date returns a member that is a number of seconds since 1970; NaN when it is anything else.
func (o object) date(name string, absent float64) float64 {
	if o[name] == nil {
		return absent
	}
	n, err := strconv.ParseFloat(string(o[name]), 64)
	if err != nil || n < 0 {
		return math.NaN()
	}
	return n
}

// audience returns aud, which is a string or an array of strings.
func (o object) audience() (list []string) {
	if json.Unmarshal(o["aud"], &list) != nil {
		return []string{o.text("aud")}
	}
	return list
}

// Development is the built-in identity provider, for directories without a real one.
var Development = Provider{Issuer: "urn:waybill:development", Audience: "waybill"}

// Mint makes an ID token of the development provider for an e-mail, good for an hour.
func Mint(key ed25519.PrivateKey, email string, now time.Time) string {
	claims, err := json.Marshal(map[string]any{
		"iss":            Development.Issuer,
		"aud":            Development.Audience,
		"sub":            auth.HashOf(auth.FoldEmail(email)).String(),
		"email":          email,
		"email_verified": true,
		"iat":            now.Unix(),
		"exp":            now.Add(time.Hour).Unix(),
	})
	if err != nil {
		panic("auth: claims cannot be written: " + err.Error())
	}
	base64URL := base64.RawURLEncoding.EncodeToString
	signed := base64URL([]byte(`{"alg":"EdDSA","typ":"JWT"}`)) + "." + base64URL(claims)
	return signed + "." + base64URL(ed25519.Sign(key, []byte(signed)))
}

// developmentKeys is the key set of the development provider.
func developmentKeys(key ed25519.PublicKey) *KeySet {
	return &KeySet{keys: []publicKey{{"", "EdDSA", key}}}
}

// KeySet is the public keys of an identity provider: a JSON Web Key Set (RFC 7517).
type KeySet struct {
	keys  []publicKey
	unfit map[string]string // by id: why a key of the set verifies no ID token
}

type publicKey struct {
	id  string // "" has none
	alg string // the one algorithm it is for, which its type decides
	key crypto.PublicKey
}

func (k *publicKey) verifies(signed, signature []byte) bool {
	sum := sha256.Sum256(signed)
	switch key := k.key.(type) {
	case *rsa.PublicKey:
		return rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], signature) == nil
	case *ecdsa.PublicKey:
		half := len(signature) / 2
		r := new(big.Int).SetBytes(signature[:half])
		s := new(big.Int).SetBytes(signature[half:])
		return len(signature) == 64 && ecdsa.Verify(key, sum[:], r, s)
	case ed25519.PublicKey:
		return ed25519.Verify(key, signed, signature)
	}
	return false
}

// jwk is a member of the set; the other members of RFC 7517 and 7518 are ignored.
type jwk struct {
	Type       string   `json:"kty"`
	ID         string   `json:"kid"`
	Use        string   `json:"use"`
	Ops        []string `json:"key_ops"`
	Alg        string   `json:"alg"`
	Curve      string   `json:"crv"`
	N, E, X, Y string
}

// parseKeySet reads a JSON Web Key Set. Keys that cannot verify an ID token (for encryption, symmetric, of
// another curve, RSA below 2048 bits, no key at all) are passed over, and so is a byte order mark, with which
// editors begin a file; a set without any other key is an error, which says what each key lacks.
func parseKeySet(text []byte) (*KeySet, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	doc, err := parseObject(text, []string{"keys"})
	var members []json.RawMessage
	var form *json.SyntaxError
	switch {
	case err != nil && utf8.Valid(text) && errors.As(json.Unmarshal(text, &members), &form):
		err = fmt.Errorf("%w, in line %d", form, 1+bytes.Count(text[:form.Offset], []byte("\n")))
	case err == nil && doc["jwks_uri"] != nil:
		err = errors.New("the provider's configuration, whose jwks_uri names the key set")
	case err == nil && json.Unmarshal(doc["keys"], &members) != nil:
		err = errors.New("an object without a list of keys")
	}
	if err != nil {
		return nil, fmt.Errorf(`auth: not a JSON Web Key Set, as in {"keys":[{"kty":"RSA",…}]}, but %w`, err)
	}
	set := &KeySet{unfit: map[string]string{}}
	var unfit []string
	for i, member := range members {
		var j jwk
		wrong := json.Unmarshal(member, &j)
		key, alg := j.public()
		why := ""
		switch {
		case wrong != nil:
			why = "has a member of another type than RFC 7517 says"
		case key == nil:
			why = fmt.Sprintf("is none of RSA of %d to %d bits (n, e), EC P-256 (x, y), OKP Ed25519 (x), each "+
				"in base64url without padding: kty %.20q, crv %.20q", minRSA, maxRSA, j.Type, j.Curve)
		case j.Use != "" && j.Use != "sig":
			why = fmt.Sprintf("has the use %.20q, not sig", j.Use)
		case j.Ops != nil && !slices.Contains(j.Ops, "verify"):
			why = "has key_ops without verify"
		case j.Alg != "" && algorithm(j.Alg) != alg:
			why = fmt.Sprintf("has the alg %.20q, not %s", j.Alg, alg)
		default:
			set.keys = append(set.keys, publicKey{j.ID, alg, key})
			continue
		}
		set.unfit[j.ID] = why
		unfit = append(unfit, fmt.Sprintf("; key %d, kid %.60q, %s", i+1, j.ID, why))
	}
	if set.keys == nil {
		return nil, fmt.Errorf("auth: the JSON Web Key Set has no key that could verify an ID token%.2000s",
			strings.Join(unfit, ""))
	}
	return set, nil
}

// algorithm returns our name of an algorithm: EdDSA with Ed25519 has a name of its own, too (RFC 9864).
func algorithm(alg string) string {
	if alg == "Ed25519" {
		return "EdDSA"
	}
	return alg
}

const minRSA, maxRSA = 2048, 8192 // bits

// public returns the key and the algorithm that it is for; nil is none of ours.
func (j *jwk) public() (crypto.PublicKey, string) {
	x := auth.Decode64(j.X)
	y := auth.Decode64(j.Y)
	switch j.Type + " " + j.Curve {
	case "RSA ":
		n := new(big.Int).SetBytes(auth.Decode64(j.N))
		e := new(big.Int).SetBytes(auth.Decode64(j.E))
		bits := n.BitLen()
		if bits >= minRSA && bits <= maxRSA && e.BitLen() >= 2 && e.BitLen() <= 31 && e.Bit(0) == 1 {
			return &rsa.PublicKey{
				N: n,
				E: int(e.Int64()),
			}, "RS256"
		}
	case "EC P-256":
		k, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y))
		if err == nil && len(x) == 32 {
			return k, "ES256"
		}
	case "OKP Ed25519":
		if len(x) == ed25519.PublicKeySize {
			return ed25519.PublicKey(x), "EdDSA"
		}
	}
	return nil, ""
}

// check verifies a signature with the key that the token's header names. Where a header names none, each key
// that fits is tried (OpenID Connect Core, 10.1). The error is an ErrCredentials; it is errUnknownKey where a
// newer set of keys may have the right one.
func (k *KeySet) check(header object, signed, signature []byte) error {
	id := header.text("kid")
	named := header["kid"] != nil
	meant := 0
	fitting := 0 // keys
	for i := range k.keys {
		key := &k.keys[i]
		if named && (id == "" || key.id != id) {
			continue
		}
		meant++
		if key.alg != algorithm(header.text("alg")) {
			continue
		}
		fitting++
		if key.verifies(signed, signature) {
			return nil
		}
	}
	switch {
	case meant == 0:
		return fmt.Errorf("%w: the kid %.60q %s", errUnknownKey, id,
			cmp.Or(k.unfit[id], "is not in the key set"))
	case fitting == 0:
		return auth.Refused("alg is not the key's")
	case !named: // it may be of a key that is newer than the set
		return errUnknownKey
	}
	return auth.Refused("the signature is wrong")
}
