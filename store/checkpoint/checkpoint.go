// Package checkpoint has the form of checkpoints, which a directory signs, and of the files in which they and
// their keys stand:
//
//	signed, err := checkpoint.Newest(fsys)
//	public, err := checkpoint.PublicKey(fsys)
//	c, err := checkpoint.Parse(signed, public)
//
// A [Log] makes them and keeps them: the newest in a file of its own, all in a log, with what witnesses have
// added. Package store decides when.
//
//	log := checkpoint.Log{FS: fsys, Origin: origin, Key: key}
//	err := log.Open()
//	err = log.Sign(&checkpoint.Checkpoint{Origin: origin, Head: head, Root: root})
package checkpoint

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// A Checkpoint says that a journal had a line, with everything before it. An auditor who keeps one elsewhere
// can prove later whether the journal of that day extends the earlier one. It is a signed note (C2SP,
// signed-note) in the form of a tlog-checkpoint. The Ed25519 key is made with the directory:
//
//	waybill/<the id in FORMAT>
//	48213
//	<the root of the tree of all lines so far, base64>
//	hash <the line's hash, 64 hex> time 2026-11-20T16:39:00.123Z
//
//	— waybill/<the id in FORMAT> <base64: 4 bytes of the key, 64 of signature>
//
// The newest stands in the file checkpoint, all of them in checkpoints.log, a blank line after each.
type Checkpoint struct {
	Origin string // waybill/<the id in FORMAT>, or the name that a line of the type forked has given
	journal.Head
	Root tree.Hash // of the tree of the lines up to this one
}

// text returns the text that is signed.
func (c *Checkpoint) text() []byte {
	at := c.Time.UTC().Format(journal.TimeLayout)
	root := base64.StdEncoding.EncodeToString(c.Root[:])
	return fmt.Appendf(nil, "%s\n%d\n%s\nhash %x time %s\n", c.Origin, c.Seq, root, c.Hash, at)
}

// Sign returns the checkpoint as a signed note.
func (c *Checkpoint) Sign(key ed25519.PrivateKey) []byte {
	return note.Sign(c.text(), c.Origin, key)
}

// Parse reads a checkpoint that the key has signed. Others may have signed it too.
func Parse(signed []byte, key ed25519.PublicKey) (Checkpoint, error) {
	n, err := note.Parse(signed)
	if err != nil {
		return Checkpoint{}, errForm
	}
	c, ok := Read(n.Text)
	if !ok {
		return c, errForm
	}
	_, err = n.Verify(note.NewKey(c.Origin, key))
	return c, err
}

var errForm = errors.New("is not a checkpoint")

// Read reads the text of a checkpoint, and reports whether it is one.
func Read(text []byte) (c Checkpoint, ok bool) {
	// Sscanf is lenient, so the result is written again and compared.
	var root, at string
	var hash []byte
	const form = "%s\n%d\n%44s\nhash %64x time %s\n"
	fmt.Sscanf(string(text), form, &c.Origin, &c.Seq, &root, &hash, &at)
	decoded, _ := base64.StdEncoding.DecodeString(root)
	copy(c.Root[:], decoded)
	copy(c.Hash[:], hash)
	c.Time, _ = time.Parse(journal.TimeLayout, at)
	return c, bytes.Equal(text, c.text())
}
