package store

import (
	"cmp"
	"crypto/ed25519"
	"io"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

// begin journals the start, and opens the state for updates. A new directory holds the key that it signs
// with before its first line; a directory with lines and no key is a copy.
func (st *Store[S, E]) begin(x *start[S, E]) error {
	key, err := checkpoint.OwnKey(x.fsys)
	switch {
	case err != nil:
		return err
	case key != nil:
		err = x.names.CheckOwnKey(key.Public().(ed25519.PublicKey))
	case x.end.Head.Seq == 0:
		key, err = makeKey(x.fsys, st.cfg.Random)
	default:
		return st.beginCopy(x)
	}
	if err != nil {
		return err
	}
	st.signer.Origin = x.names.Origin()
	st.signer.Key = key
	if err := st.signer.Open(); err != nil {
		return err
	}
	said := st.opened(x)
	if x.end.Head.Seq == 0 {
		said.Key = st.Key().String()
	}
	return st.openValue(x, live.Own{Type: journal.KindOpened, Data: journal.Data(said)})
}

// openValue opens the state for updates, after lines that say how it was opened.
func (st *Store[S, E]) openValue(x *start[S, E], lines ...live.Own) error {
	file, err := x.fsys.Append(x.end.Last)
	if err != nil {
		return err
	}
	cfg := live.Config[S, E]{Model: st.cfg.Model, Options: st.cfg.Options.Options}
	cfg.Durable = st.written
	if lock, can := st.lock.(durable.Checker); can {
		cfg.Check = lock.Check
		if err := lock.Check(x.end.Last, file, x.end.Size); err != nil { // nobody can have moved it yet
			st.cfg.Log.Warn("the file system gives no stable numbers: it is not seen if the directory is moved or "+
				"restored under the server", "err", err)
			cfg.Check = nil
		}
	}
	at := live.End{Name: x.end.Last, File: file, Size: x.end.Size, Head: x.end.Head}
	st.Value, err = live.Open(cfg, x.state, at, lines...)
	head, _ := st.stem.top()
	st.created = cmp.Or(x.first.Time, head.Time)
	return err
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
func (st *Store[S, E]) beginCopy(x *start[S, E]) error {
	own, key, err := newForked(x.names.Origin(), x.end.Head, st.cfg.Random)
	if err != nil {
		return err
	}
	err = st.openValue(x,
		live.Own{Type: journal.KindForked, Data: journal.Data(own)},
		live.Own{Type: journal.KindOpened, Data: journal.Data(st.opened(x))},
	)
	if err != nil {
		return err
	}
	err = publishOwnKey(x.fsys, key)
	if err == nil {
		st.signer.Origin = own.Origin
		st.signer.Key = key
		st.cfg.Log.Info("there is no "+checkpoint.PrivateKeyFile+
			": the directory is a copy, and gets its own name from here on",
			"name", own.Origin, "parent", own.Parent.Origin, "left", own.Parent.Seq)
		err = st.signer.Open()
	}
	if err != nil {
		st.Value.Close(nil)
	}
	return err
}

// opened returns the data of this start's line.
func (st *Store[S, E]) opened(x *start[S, E]) *journal.Opened {
	said := &journal.Opened{
		After:     "unclean end",
		Program:   st.cfg.Program,
		Witnesses: st.cfg.Witnesses,
	}
	still := st.cfg.Still != nil && st.cfg.Still(x.state)
	if last, signed := x.end.Head.Seq, x.notes.Fits(); last > signed && !still {
		said.Unsigned = &journal.OpenedUnsigned{From: signed + 1, Lines: last - signed}
	}
	if x.end.Head.Seq == 0 {
		said.After = "creation"
	} else if x.clean() {
		said.After = "clean end"
	}
	if t := x.end.Torn; t != nil {
		said.Torn = &journal.OpenedTorn{
			File:    t.Kept,
			Bytes:   t.Bytes,
			CutFrom: t.File,
			Offset:  t.Offset,
		}
	}
	return said
}
