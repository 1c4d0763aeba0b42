package store

import (
	"waybill/store/checkpoint"
	"waybill/store/note"
	"waybill/store/tree"
)

// Witnesses sign what they have seen: that the directory's history has only grown. The caller asks them; the
// store keeps what they have signed.

// KeepWitnesses records the witnesses, for those that read the directory. It proves nothing.
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
