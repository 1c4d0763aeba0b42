package ticket

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"

	"waybill/store/durable"
)

// PublicFile is the file of the key that checks a directory's ticket codes: PKIX, PEM. It is no secret, and
// is what inspectors get.
const PublicFile = "tickets.pub"

// PublishKey writes the public half of a key into its file, unless it is there.
func PublishKey(fsys durable.FS, key ed25519.PrivateKey) error {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	have, err := durable.ReadFile(fsys, PublicFile)
	if err == nil && bytes.Equal(have, text) {
		return nil
	}
	return durable.PublishText(fsys, ".", PublicFile, text)
}
