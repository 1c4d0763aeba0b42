package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"time"
)

// A Checkpoint says that a journal had a line, with everything before it: what an auditor keeps elsewhere, to prove
// later that today's journal extends the one of then. It is a signed note (C2SP, signed-note) with an Ed25519 key that
// the directory's creation makes:
//
//	waybill/<the id in FORMAT>
//	48213
//	<the line's hash, 64 hex>
//	2026-11-20T16:39:00.123Z
//
//	— waybill/<the id in FORMAT> <base64: 4 bytes that tell the key, and 64 of signature over the lines above the blank one>
//
// The newest stands in the file checkpoint, all of them in checkpoints.log, a blank line after each.
type Checkpoint struct {
	Origin string // waybill/<the id in FORMAT>
	Head
}

const (
	checkpointFile = "checkpoint"
	checkpointLog  = "checkpoints.log"
	privateKeyFile = "checkpoint.key" // PKCS #8, PEM
	publicKeyFile  = "checkpoint.pub" // PKIX, PEM

	signatureStart = "\n— "
	maxCheckpoint  = 1 << 10 // bytes
)

func (c *Checkpoint) text() []byte {
	return fmt.Appendf(nil, "%s\n%d\n%x\n%s\n", c.Origin, c.Seq, c.Hash, c.Time.UTC().Format(timeLayout))
}

// keyID tells a signer's keys apart, as signed-note defines it.
func keyID(name string, key ed25519.PublicKey) []byte {
	const algorithm = 1 // Ed25519
	sum := sha256.Sum256(append(append([]byte(name), '\n', algorithm), key...))
	return sum[:4]
}

// sign gives the checkpoint as a signed note.
func (c *Checkpoint) sign(key ed25519.PrivateKey) []byte {
	text := c.text()
	signature := append(keyID(c.Origin, key.Public().(ed25519.PublicKey)), ed25519.Sign(key, text)...)
	return fmt.Appendf(text, signatureStart+"%s %s\n", c.Origin, base64.StdEncoding.EncodeToString(signature))
}

// ParseCheckpoint reads a checkpoint whose one signature is by the key.
func ParseCheckpoint(note []byte, key ed25519.PublicKey) (c Checkpoint, err error) {
	var hash []byte
	var at, name, encoded string
	// Sscanf is lenient; what it reads must come out the same when it is written.
	fmt.Sscanf(string(note), "%s\n%d\n%64x\n%s\n"+signatureStart+"%s %s\n", &c.Origin, &c.Seq, &hash, &at, &name, &encoded)
	c.Time, _ = time.Parse(timeLayout, at)
	copy(c.Hash[:], hash)
	text := c.text()
	if string(note) != fmt.Sprintf("%s"+signatureStart+"%s %s\n", text, c.Origin, encoded) {
		return c, errors.New("is not a checkpoint")
	}
	signature, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch id := keyID(c.Origin, key); {
	case err != nil || len(signature) != len(id)+ed25519.SignatureSize:
		return c, errors.New("has a signature in no known form")
	case !bytes.Equal(signature[:len(id)], id):
		return c, errors.New("is signed with another key")
	case !ed25519.Verify(key, text, signature[len(id):]):
		return c, errors.New("has a signature that is not of these lines")
	}
	return c, nil
}

// SplitCheckpoints is a bufio.SplitFunc for checkpoints that follow each other, with blank lines between. It leaves the
// newline of the blank line, so that its lack is seen.
func SplitCheckpoints(data []byte, atEOF bool) (advance int, note []byte, err error) {
	start := len(data) - len(bytes.TrimLeft(data, "\n"))
	end := -1
	if i := bytes.Index(data[start:], []byte(signatureStart)); i >= 0 {
		from := start + i + len(signatureStart)
		if k := bytes.IndexByte(data[from:], '\n'); k >= 0 {
			end = from + k + 1
		}
	}
	switch {
	case end >= 0 && end == len(data) && !atEOF: // the blank line is still to come
	case end >= 0:
		end += len(data[end:]) - len(bytes.TrimPrefix(data[end:], newline))
		return end, data[start:end], nil
	case atEOF && start < len(data), len(data)-start > maxCheckpoint:
		return len(data), data[start:], nil
	}
	return start, nil, nil
}

// ParsePublicKey reads a checkpoint.pub.
func ParsePublicKey(text []byte) (ed25519.PublicKey, error) {
	if block, _ := pem.Decode(text); block != nil {
		if key, err := x509.ParsePKIXPublicKey(block.Bytes); err == nil {
			if key, ok := key.(ed25519.PublicKey); ok {
				return key, nil
			}
		}
	}
	return nil, errors.New("is not an Ed25519 public key in PEM")
}

// PublicKey reads the key that the directory's checkpoints are signed with.
func PublicKey(fsys FS) (ed25519.PublicKey, error) {
	text, err := readFile(fsys, publicKeyFile)
	if err != nil {
		return nil, err
	}
	key, err := ParsePublicKey(text)
	if err != nil {
		err = inFile(publicKeyFile, err.Error())
	}
	return key, err
}

// NewestCheckpoint reads the file checkpoint as it stands.
func NewestCheckpoint(fsys FS) ([]byte, error) { return readFile(fsys, checkpointFile) }

// readFile reads a small file.
func readFile(fsys FS, name string) (text []byte, err error) {
	err = reading(fsys, name, func(f *io.SectionReader) error {
		text, err = io.ReadAll(f)
		return err
	})
	return text, err
}
