package ticket

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"

	"waybill/server/ledger"
	"waybill/store/durable"
)

// PublicFile is the file of the key that checks a directory's ticket codes: PKIX, PEM. It is no secret:
// inspectors get it.
const PublicFile = ledger.TicketsPub

// PublishKey writes the public half of a key into its file, unless it is there, and reports whether the file
// had another key: codes that were printed before are not good with the new key.
func PublishKey(fsys durable.FS, key ed25519.PrivateKey) (replaced bool, err error) {
	text, err := publicText(key)
	if err != nil {
		return false, err
	}
	have, err := durable.ReadFile(fsys, PublicFile)
	if err == nil && bytes.Equal(have, text) {
		return false, nil
	}
	replaced = err == nil
	return replaced, durable.PublishText(fsys, ".", PublicFile, text)
}

// publicText returns the public half of a key in the form of its file.
func publicText(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// PublicKey returns the key that checks a directory's codes, in the form of its file: what the file has, or
// where there is none, as in a backup, the public half of the key that signs. Errors: fs.ErrNotExist of a
// directory that has neither.
func PublicKey(fsys durable.ReadFS) ([]byte, error) {
	text, err := durable.ReadFile(fsys, PublicFile)
	if !errors.Is(err, fs.ErrNotExist) {
		return text, err
	}
	seed, err := ledger.ReadSecret(fsys, ledger.TicketFile, ledger.ParseSecret)
	if err != nil {
		return nil, err
	}
	return publicText(ed25519.NewKeyFromSeed(seed))
}
