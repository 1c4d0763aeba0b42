package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"math/big"
	"slices"
)

// KeySet is the public keys of an identity provider: a JSON Web Key Set (RFC 7517).
type KeySet struct{ keys []publicKey }

type publicKey struct {
	id  string // "" has none
	alg string // the one algorithm it is for, which its type decides
	key crypto.PublicKey
}

// algorithms are those an ID token may be signed with: whether a signature by key is good.
var algorithms = map[string]func(key crypto.PublicKey, signed, signature []byte) bool{
	"RS256": func(key crypto.PublicKey, signed, signature []byte) bool {
		sum := sha256.Sum256(signed)
		return rsa.VerifyPKCS1v15(key.(*rsa.PublicKey), crypto.SHA256, sum[:], signature) == nil
	},
	"ES256": func(key crypto.PublicKey, signed, signature []byte) bool {
		if len(signature) != 64 {
			return false
		}
		sum := sha256.Sum256(signed)
		r, s := new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])
		return ecdsa.Verify(key.(*ecdsa.PublicKey), sum[:], r, s)
	},
	"EdDSA": func(key crypto.PublicKey, signed, signature []byte) bool {
		return ed25519.Verify(key.(ed25519.PublicKey), signed, signature)
	},
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

// ParseKeySet reads a JSON Web Key Set. Keys that cannot verify an ID token (for
// encryption, symmetric, of another curve, RSA below 2048 bits, no key at all) are passed over;
// a set without any other is an error.
func ParseKeySet(text []byte) (*KeySet, error) {
	doc, err := parseObject(text, []string{"keys"})
	var members []json.RawMessage
	if err != nil || json.Unmarshal(doc["keys"], &members) != nil {
		return nil, errors.New("auth: not a JSON Web Key Set")
	}
	set := new(KeySet)
	for _, member := range members {
		var j jwk
		if json.Unmarshal(member, &j) != nil {
			continue
		}
		key, alg := j.public()
		if key == nil || j.Use != "" && j.Use != "sig" || j.Ops != nil && !slices.Contains(j.Ops, "verify") || j.Alg != "" && j.Alg != alg {
			continue
		}
		set.keys = append(set.keys, publicKey{j.ID, alg, key})
	}
	if set.keys == nil {
		return nil, errors.New("auth: the JSON Web Key Set has no key that could verify an ID token")
	}
	return set, nil
}

const minRSA, maxRSA = 2048, 8192 // bits

// public gives the key and the algorithm that it is for; nil is none of ours.
func (j *jwk) public() (crypto.PublicKey, string) {
	n, e, x, y := decode64(j.N), decode64(j.E), decode64(j.X), decode64(j.Y)
	switch j.Type + " " + j.Curve {
	case "RSA ":
		k := &rsa.PublicKey{N: new(big.Int).SetBytes(n)}
		exponent := new(big.Int).SetBytes(e)
		if bits := k.N.BitLen(); bits < minRSA || bits > maxRSA || exponent.BitLen() < 2 || exponent.BitLen() > 31 || exponent.Bit(0) == 0 {
			return nil, ""
		}
		k.E = int(exponent.Int64())
		return k, "RS256"
	case "EC P-256":
		if k, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), slices.Concat([]byte{4}, x, y)); err == nil && len(x) == 32 {
			return k, "ES256"
		}
	case "OKP Ed25519":
		if len(x) == ed25519.PublicKeySize {
			return ed25519.PublicKey(x), "EdDSA"
		}
	}
	return nil, ""
}

// find gives the key that a token's header names. A header may name none where there is only one.
func (k *KeySet) find(header object) (*publicKey, error) {
	_, named := header["kid"]
	id, alg := header.text("kid"), header.text("alg")
	known := false
	for i := range k.keys {
		key := &k.keys[i]
		if named && (id == "" || key.id != id) || !named && len(k.keys) > 1 {
			continue
		}
		if known = true; key.alg == alg {
			return key, nil
		}
	}
	if known {
		return nil, refused("alg is not the key's")
	}
	return nil, ErrUnknownKey
}
