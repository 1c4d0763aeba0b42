package store

import (
	"crypto/ed25519"
	"errors"
	"waybill/store/checkpoint"
	"waybill/store/tree"
)

// begin journals the start, after what gives the directory a name of its own if it has none. It holds the key
// that it signs with before its first line, and after the line that names it.
func (st *Store[S, E]) begin(r *replay[S, E]) error {
	key, err := checkpoint.PrivateKey(r.fsys)
	if err != nil {
		return err
	}
	st.signer.Origin = r.name()
	if key != nil {
		err = r.ownKey(key.Public().(ed25519.PublicKey))
	}
	if err != nil {
		return err
	}
	var own *forked
	if key == nil && r.head.Seq == 0 {
		if key, err = checkpoint.NewKey(st.cfg.Random); err != nil {
			return err
		}
		err = errors.Join(checkpoint.PublishPrivateKey(r.fsys, key), checkpoint.PublishPublicKey(r.fsys, key))
	} else if key == nil {
		own, err = newForked(r.name(), r.head, st.cfg.Random)
	}
	if err != nil {
		return err
	}
	at := st.instant()
	if own != nil {
		st.w.add(Stamp{Seq: st.seq, Time: at}, KindForked, own.data(), nil)
		st.seq++
		st.signer.Origin = own.Origin
		key = own.key
	}
	st.signer.Key = key
	st.w.add(Stamp{Seq: st.seq, Time: at}, kindOpened, r.opened(), nil)
	if own == nil {
		return errors.Join(st.signer.Open(), st.flush())
	}
	if err := st.flush(); err != nil {
		return err
	}
	st.cfg.Log.Warn("there is no "+checkpoint.PrivateKeyFile+": the directory is a copy, and has a name of its own from here on",
		"name", own.Origin, "parent", own.Parent.Origin, "left", own.Parent.Seq)
	return errors.Join(own.settle(r.fsys), st.signer.Open())
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
