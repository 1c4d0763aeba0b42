package store

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/note"
	"waybill/store/tree"
)

// Witnesses are others who sign what they have seen: that the directory's history has only grown. Who asks
// them is not the store's business; it keeps what they say.

// KeepWitnesses notes who the witnesses are, for those who read the directory. It proves nothing.
func (st *Store[S, E]) KeepWitnesses(keys []note.Key) error {
	return checkpoint.KeepWitnesses(st.cfg.FS, keys)
}

// Sign makes a checkpoint of the newest durable line, unless there is one, and returns the newest.
func (st *Store[S, E]) Sign() ([]byte, error) {
	st.checkpoint()
	return checkpoint.Newest(st.cfg.FS)
}

// Key returns the name that the directory signs with, and the key that checks it.
func (st *Store[S, E]) Key() note.Key {
	return note.NewKey(st.signer.Origin, st.signer.Public())
}

// NewestKey reads the key that the newest checkpoint of a directory is checked with, and the name.
func NewestKey(fsys durable.FS) (note.Key, error) {
	signed, err := checkpoint.Newest(fsys)
	if err != nil {
		return note.Key{}, err
	}
	public, err := checkpoint.PublicKey(fsys)
	if err != nil {
		return note.Key{}, err
	}
	c, err := checkpoint.Parse(signed, public)
	if err != nil {
		return note.Key{}, journal.InFile(checkpoint.File, err.Error())
	}
	return note.NewKey(c.Origin, public), nil
}

// Extends returns the proof that the journal of the first size lines, which a checkpoint vouches for, extends
// that of the first old ones.
func (st *Store[S, E]) Extends(old, size uint64) ([]tree.Hash, error) {
	return tree.Consistency(st.cfg.FS, old, size)
}

// Cosign adds lines with the signatures of witnesses, or none, to a checkpoint of the directory. all says
// that every witness has signed, be it before.
func (st *Store[S, E]) Cosign(signed []byte, lines string, all bool) error {
	st.signing.Lock()
	defer st.signing.Unlock()
	return st.signer.Cosign(signed, lines, all)
}

// Witnessed is what a witness has signed of a journal.
type Witnessed struct {
	Key note.Key
	Seq uint64    // the last line that it vouches for; 0: it has signed nothing
	At  time.Time // when it has signed that, by its clock
}

// signers returns those of the witnesses asked for that have signed a checkpoint. Whether the journal has
// what they signed is known once the line is read.
func (s *scan) signers(signed []byte) (list []Witnessed, err error) {
	n, err := note.Parse(signed)
	if err != nil {
		return nil, err
	}
	for _, w := range s.witnessed {
		at, err := n.Verify(w.Key)
		switch {
		case err == nil:
			list = append(list, Witnessed{Key: w.Key, At: at})
		case !errors.Is(err, note.ErrNotSigned) && !errors.Is(err, note.ErrOtherKey):
			return nil, fmt.Errorf("%s: %w", w.Key.Name, err)
		}
	}
	return list, nil
}

// credit notes that witnesses have signed the lines up to one that the journal has.
func (s *scan) credit(signers []Witnessed, seq uint64) {
	for _, signer := range signers {
		i := slices.IndexFunc(
			s.witnessed,
			func(w Witnessed) bool { return w.Key.String() == signer.Key.String() },
		)
		s.witnessed[i].Seq = seq
		s.witnessed[i].At = signer.At
	}
}
