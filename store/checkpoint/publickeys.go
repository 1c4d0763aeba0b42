package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"strings"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

const (
	// PrivateKeyFile has the key that signs: PKCS #8, PEM.
	PrivateKeyFile = "checkpoint.key"
	// PublicKeyFile has the key that checks: PKIX, PEM.
	PublicKeyFile = "checkpoint.pub"
)

// ParsePublicKey reads the text of a file of a public key, which somebody may have sent by mail.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		lines[i] = note.Unwrap(line)
	}
	if block, _ := pem.Decode([]byte(strings.Join(lines, "\n"))); block != nil {
		parsed, _ := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := parsed.(ed25519.PublicKey); ok {
			return key, nil
		}
	}
	if _, err := note.ParseKey(strings.TrimSpace(string(text))); err == nil {
		return nil, errors.New("is a verifier key, as witnesses take it: give " + PublicKeyFile)
	}
	return nil, errors.New("is not an Ed25519 public key in PEM")
}

// PublicKey reads the key that checks the directory's checkpoints.
func PublicKey(fsys durable.ReadFS) (ed25519.PublicKey, error) {
	return ReadPublicKey(fsys, PublicKeyFile)
}

// ReadPublicKey reads a file of a public key.
func ReadPublicKey(fsys durable.ReadFS, name string) (ed25519.PublicKey, error) {
	text, err := durable.ReadFile(fsys, name)
	if err != nil {
		return nil, err
	}
	key, err := ParsePublicKey(text)
	if err != nil {
		err = journal.InFile(name, err.Error())
	}
	return key, err
}

// PrivateKey reads the key that the directory signs with, nil where there is none. Where there is a file of
// its public half, that must be its own.
func PrivateKey(fsys durable.ReadFS) (ed25519.PrivateKey, error) {
	text, err := durable.ReadFile(fsys, PrivateKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var key ed25519.PrivateKey
	if block, _ := pem.Decode(text); block != nil {
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = parsed.(ed25519.PrivateKey)
	}
	if key == nil {
		return nil, journal.InFile(PrivateKeyFile, "is not an Ed25519 private key in PEM")
	}
	public, err := durable.ReadFile(fsys, PublicKeyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return key, nil
	case err == nil && !bytes.Equal(public, EncodePublicKey(key)):
		err = journal.InFile(PublicKeyFile, "is not the public half of the private key")
	}
	return key, err
}

// EncodePublicKey returns the public half of a key in the form of its file.
func EncodePublicKey(key ed25519.PrivateKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic("store: an Ed25519 key that cannot be encoded: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{
		Type:  "PUBLIC KEY",
		Bytes: der,
	})
}
