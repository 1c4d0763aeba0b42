package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
)

const (
	// PrivateKeyFile is the key that signs: PKCS #8, PEM.
	PrivateKeyFile = "checkpoint.key"
	// PublicKeyFile is the key that checks: PKIX, PEM.
	PublicKeyFile = "checkpoint.pub"
)

// ParsePublicKey reads a checkpoint.pub.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		parsed, _ := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := parsed.(ed25519.PublicKey); ok {
			return key, nil
		}
	}
	return nil, errors.New("is not an Ed25519 public key in PEM")
}

// PublicKey reads the key that the directory's checkpoints are signed with.
func PublicKey(fsys durable.FS) (ed25519.PublicKey, error) {
	return ReadPublicKey(fsys, PublicKeyFile)
}

// NewestKey reads the key that the newest checkpoint of a directory is checked with, and the name.
func NewestKey(fsys durable.FS) (note.Key, error) {
	signed, err := Newest(fsys)
	if err != nil {
		return note.Key{}, err
	}
	public, err := PublicKey(fsys)
	if err != nil {
		return note.Key{}, err
	}
	c, err := Parse(signed, public)
	if err != nil {
		return note.Key{}, journal.InFile(File, err.Error())
	}
	return note.NewKey(c.Origin, public), nil
}

// ReadPublicKey reads a file of a public key.
func ReadPublicKey(fsys durable.FS, name string) (ed25519.PublicKey, error) {
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

// PrivateKey reads the directory's key, nil where there is none. Its public half must be the one that is in
// its file; where that is missing, it is made again.
func PrivateKey(fsys durable.FS) (ed25519.PrivateKey, error) {
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
		return key, PublishPublicKey(fsys, key)
	case err == nil && !bytes.Equal(public, encodePublicKey(key)):
		err = journal.InFile(PublicKeyFile, "is not the public half of the private key")
	}
	return key, err
}

// PublishPublicKey writes what the directory's checkpoints are checked with.
func PublishPublicKey(fsys durable.FS, key ed25519.PrivateKey) error {
	return durable.PublishText(fsys, ".", PublicKeyFile, encodePublicKey(key))
}

// encodePublicKey returns the public half of a key as it stands in its file.
func encodePublicKey(key ed25519.PrivateKey) []byte {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		panic("store: an Ed25519 key that cannot be encoded: " + err.Error())
	}
	return pem.EncodeToMemory(&pem.Block{
		Type:  "PUBLIC KEY",
		Bytes: der,
	})
}
