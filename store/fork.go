package store

import (
	"crypto/ed25519"
	"encoding/base32"
	"fmt"
	"io"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// A directory whose checkpoint.key is missing is a copy: a backup, a standby, a world of a test bench. It
// must not sign under the name of the directory that it was copied from, which may go on. So its first start
// gives it a name and a key of its own, and says so in a line. The notes of before are set aside with the key
// that checks them.

// newForked makes a name and a key for a copy. head is the last line of the directory that was copied.
func newForked(parent string, head journal.Head,
	random io.Reader) (*journal.Forked, ed25519.PrivateKey, error) {
	key, err := checkpoint.NewKey(random)
	if err != nil {
		return nil, nil, err
	}
	origin := journal.OriginStart + newID(random)
	return &journal.Forked{
		Origin: origin,
		Key:    note.NewKey(origin, key.Public().(ed25519.PublicKey)).String(),
		Parent: journal.ForkedParent{
			Origin: parent,
			Seq:    head.Seq,
			Hash:   fmt.Sprintf("%x", head.Hash),
		},
	}, key, nil
}

// newID makes the name of a new directory.
func newID(random io.Reader) string {
	const length = 26 // characters of five bits each
	var b [17]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		panic("store: no random bytes: " + err.Error())
	}
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:])[:length]
}

// publishOwnKey makes a key the directory's own, once the line that says it is durable. The private key
// comes last. A start that finds no key makes another name, and nothing was signed under this one.
func publishOwnKey(fsys durable.FS, key ed25519.PrivateKey) error {
	if err := checkpoint.SetAside(fsys); err != nil {
		return err
	}
	if err := checkpoint.PublishPublicKey(fsys, key); err != nil {
		return err
	}
	return checkpoint.PublishPrivateKey(fsys, key)
}

// Forked says where a copy has left its directory.
type Forked struct {
	Origin       string // the parent's name
	journal.Head        // the last line that both have
}

// Fork copies the open directory, as it is now, into a new one. It has the same lines and the notes that
// vouch for them, and no key: its first start gives it a name of its own. dirs are directories that the store
// knows nothing of. The caller keeps an erasure away meanwhile; of one that is not complete the error is
// [ErrErasing].
//
// FORMAT comes after all that: what a crash leaves of a fork does not start.
func (st *Store[S, E]) Fork(to durable.FS, dirs ...string) (Forked, error) {
	left := Forked{Origin: st.signer.Origin}
	c := inspect.Copy{From: st.cfg.FS, To: to}
	if err := c.Begin(); err != nil {
		return left, err
	}
	// The notes and hashes of this moment come first: they must not be of lines that are not copied.
	st.checkpoint()
	if err := st.copyNotes(c); err != nil {
		return left, err
	}
	write, head, err := st.freeze()
	if err != nil {
		return left, err
	}
	left.Head = head
	err = durable.Publish(to, "snapshots", journal.Name(head.Seq), func(f io.Writer) error {
		_, err := journal.WriteSnapshot(f, head, write)
		return err
	})
	if err != nil {
		return left, err
	}
	if _, err := c.Lines(head.Seq, nil); err != nil {
		return left, err
	}
	return left, c.Finish(dirs)
}

// copyNotes copies the notes and the hashes of the tree. No note is made meanwhile.
func (st *Store[S, E]) copyNotes(c inspect.Copy) error {
	st.signing.Lock()
	defer st.signing.Unlock()
	if err := c.Notes(); err != nil {
		return err
	}
	return c.Dir(tree.Dir)
}
