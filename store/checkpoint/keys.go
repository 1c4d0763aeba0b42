package checkpoint

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"waybill/store/durable"
	"waybill/store/journal"
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
	return durable.PublishText(fsys, ".", PrivateKeyFile, pem.EncodeToMemory(&pem.Block{
		Type:  "PRIVATE KEY",
		Bytes: private,
	}))
}

// OwnKey reads the key that the directory signs with, nil where there is none. Where the file of its public
// half is missing, OwnKey makes it again.
func OwnKey(fsys durable.FS) (ed25519.PrivateKey, error) {
	key, err := PrivateKey(fsys)
	if err != nil || key == nil {
		return nil, err
	}
	_, err = durable.ReadFile(fsys, PublicKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = PublishPublicKey(fsys, key)
	}
	return key, err
}

// PublishPublicKey writes the key that checks the directory's checkpoints.
func PublishPublicKey(fsys durable.FS, key ed25519.PrivateKey) error {
	return durable.PublishText(fsys, ".", PublicKeyFile, EncodePublicKey(key))
}

// SetAside moves the notes that are there, and the key that checks them, to files that are called after the
// name that signed them. Notes without the key are an error.
func SetAside(fsys durable.FS) error {
	id, err := signedBy(fsys)
	if err != nil {
		return err
	}
	key, err := durable.ReadFile(fsys, PublicKeyFile)
	_, bad := PublicKey(fsys)
	switch {
	case errors.Is(err, fs.ErrNotExist) && id != "":
		return journal.InFile(PublicKeyFile, fmt.Sprintf(
			"is missing, and %s has notes of waybill/%s, which it is the key of", LogFile, id))
	case id != "" && bad != nil:
		return bad
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	// The newest note is in the log too. It goes first: without its log it would seem that somebody took that
	// away.
	if err := remove(fsys, File, WitnessedFile); err != nil {
		return err
	}
	if id != "" {
		// The copy of the key comes before its notes, which prove nothing without it.
		if err := durable.PublishText(fsys, ".", EarlierOf(id).Key, key); err != nil {
			return err
		}
		if err := fsys.Rename(LogFile, EarlierOf(id).Log); err != nil {
			return err
		}
	}
	return remove(fsys, LogFile, PublicKeyFile)
}

// signedBy returns the id in the name that the notes of the log are signed with, which is the same for all;
// "" where the log has no whole note. A part of one, as a crash leaves it, may stand at its end.
func signedBy(fsys durable.ReadFS) (id string, err error) {
	err = durable.Read(fsys, LogFile, func(f *io.SectionReader) error {
		notes := bufio.NewScanner(f)
		notes.Split(note.Split)
		for id == "" && notes.Scan() {
			signed, _ := bytes.CutSuffix(notes.Bytes(), journal.Newline)
			n, err := note.Parse(signed)
			if err != nil {
				continue
			}
			origin, _, _ := strings.Cut(string(n.Text), "\n")
			id = IDOf(origin)
		}
		return notes.Err()
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return id, err
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
