package signing

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/note"
)

// NewKey makes a key from random bytes.
func NewKey(random io.Reader) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// PublishPrivateKey makes a key the directory's.
func PublishPrivateKey(fsys durable.FS, key ed25519.PrivateKey) error {
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	return durable.PublishText(fsys, ".", checkpoint.PrivateKeyFile, pem.EncodeToMemory(&pem.Block{
		Type:  "PRIVATE KEY",
		Bytes: private,
	}))
}

// SetAside puts the notes that are there, and the key that checks them, under the name that signed them. Its
// error is also of notes without the key.
func SetAside(fsys durable.FS) error {
	id, err := checkpoint.SignedBy(fsys)
	if err != nil {
		return err
	}
	key, err := durable.ReadFile(fsys, checkpoint.PublicKeyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist) && id != "":
		return fmt.Errorf("%s has notes of waybill/%s, and %s, which checks them, is not there", checkpoint.LogFile, id,
			checkpoint.PublicKeyFile)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// The newest note is in the log too. It goes first: without its log it would seem that somebody took that
	// away.
	if err := remove(fsys, checkpoint.File, checkpoint.WitnessedFile); err != nil {
		return err
	}
	if id != "" {
		// The copy of the key comes before its notes, which prove nothing without it.
		if err := durable.PublishText(fsys, ".", checkpoint.EarlierOf(id).Key, key); err != nil {
			return err
		}
		if err := fsys.Rename(checkpoint.LogFile, checkpoint.EarlierOf(id).Log); err != nil {
			return err
		}
	}
	return remove(fsys, checkpoint.LogFile, checkpoint.PublicKeyFile)
}

// remove removes files that may not be there, and makes that durable.
func remove(fsys durable.FS, names ...string) error {
	for _, name := range names {
		if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return fsys.SyncDir(".")
}

// KeepWitnesses notes who the witnesses are, for those who read the directory. It proves nothing. What others
// have signed is not what these have: it stays in the log only.
func KeepWitnesses(fsys durable.FS, keys []note.Key) error {
	var text strings.Builder
	for _, key := range keys {
		fmt.Fprintln(&text, key)
	}
	have, err := durable.ReadFile(fsys, checkpoint.WitnessKeysFile)
	if err == nil && string(have) == text.String() || errors.Is(err, fs.ErrNotExist) && len(keys) == 0 {
		return nil
	}
	if err := fsys.Remove(checkpoint.WitnessedFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return durable.PublishText(fsys, ".", checkpoint.WitnessKeysFile, []byte(text.String()))
}
