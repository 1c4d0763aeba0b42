package ticket

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"

	"waybill/store/durable"
	"waybill/store/durable/readonly"
)

// PublicFile is the file of the key that checks a directory's ticket codes: PKIX, PEM. It is no secret:
// inspectors get it.
const PublicFile = "tickets.pub"

// PublishKey writes the public half of a key into its file, unless it is there, and reports whether the file
// had another key: codes that were printed before are not good with the new key.
func PublishKey(fsys durable.FS, key ed25519.PrivateKey) (replaced bool, err error) {
	der, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return false, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	have, err := readonly.ReadFile(fsys, PublicFile)
	if err == nil && bytes.Equal(have, text) {
		return false, nil
	}
	replaced = err == nil
	return replaced, durable.PublishText(fsys, ".", PublicFile, text)
}
