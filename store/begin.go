package store

import (
	"crypto/ed25519"
	"io"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/tree"
)

// begin journals the start. The directory holds the key that it signs with before its first line. One that
// has lines and no key is a copy.
func (st *Store[S, E]) begin(r *replay[S, E]) error {
	key, err := checkpoint.PrivateKey(r.fsys)
	switch {
	case err != nil:
		return err
	case key != nil:
		err = r.ownKey(key.Public().(ed25519.PublicKey))
	case r.head.Seq == 0:
		key, err = makeKey(r.fsys, st.cfg.Random)
	default:
		return st.beginCopy(r)
	}
	if err != nil {
		return err
	}
	st.signer.Origin = r.name()
	st.signer.Key = key
	if err := st.signer.Open(); err != nil {
		return err
	}
	said := r.opened()
	// The key of a name that a copy was given stands in the line that gave it.
	if r.names[len(r.names)-1].saidAt == 0 && r.name() == r.origin {
		said.Key = st.Key().String()
	}
	st.w.add(Stamp{Seq: st.seq, Time: st.instant()}, kindOpened, said.data(), nil)
	return st.flush()
}

// makeKey makes the key of a new directory.
func makeKey(fsys durable.FS, random io.Reader) (ed25519.PrivateKey, error) {
	key, err := checkpoint.NewKey(random)
	if err != nil {
		return nil, err
	}
	if err := checkpoint.PublishPrivateKey(fsys, key); err != nil {
		return nil, err
	}
	return key, checkpoint.PublishPublicKey(fsys, key)
}

// beginCopy journals the first start of a copy, after a line that gives it a name of its own. It holds the
// key of that name once the line is durable.
func (st *Store[S, E]) beginCopy(r *replay[S, E]) error {
	own, err := newForked(r.name(), r.head, st.cfg.Random)
	if err != nil {
		return err
	}
	at := st.instant()
	st.w.add(Stamp{Seq: st.seq, Time: at}, KindForked, own.data(), nil)
	st.seq++
	st.w.add(Stamp{Seq: st.seq, Time: at}, kindOpened, r.opened().data(), nil)
	if err := st.flush(); err != nil {
		return err
	}
	if err := own.settle(r.fsys); err != nil {
		return err
	}
	st.signer.Origin = own.Origin
	st.signer.Key = own.key
	st.cfg.Log.Warn("there is no "+checkpoint.PrivateKeyFile+
		": the directory is a copy, and has a name of its own from here on",
		"name", own.Origin, "parent", own.Parent.Origin, "left", own.Parent.Seq)
	return st.signer.Open()
}

// plant takes up the tree of the lines as the newest checkpoint has it. Where its hashes are not there, or
// there is no such checkpoint, the whole journal is read.
func (r *replay[S, E]) plant() error {
	files, missing := tree.Open(r.fsys, r.anchor.Seq, r.anchorRoot())
	if missing != nil {
		r.cfg.Log.Info("the hashes of the tree are made again from the journal", "because", missing)
	}
	if files.Size() > 0 {
		r.names = []named{{origin: r.anchor.Origin}}
		r.namedAt = r.anchor.Seq
	}
	r.leaves = files
	r.tree = files
	return nil
}

// anchorRoot returns the root that the newest checkpoint says.
func (r *replay[S, E]) anchorRoot() tree.Hash {
	if r.anchor.Seq == 0 {
		return tree.Empty
	}
	return r.anchor.Root
}
