package store

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/journal/erase"
	"waybill/store/live"
)

const snapshotsKept = 2

// Snapshot writes the present state beside the journal, without stopping writers, once all of it is durable.
// A failure loses nothing.
func (st *Store[S, E]) Snapshot() error {
	st.snapMu.Lock()
	defer st.snapMu.Unlock()
	write, head, err := st.freeze()
	if err != nil {
		return err
	}
	return st.publishSnapshot(st.Pace().Files(st.cfg.FS), head, write)
}

// snapshotBeside writes a snapshot that has become due, beside the writer, after a checkpoint of its line.
func (st *Store[S, E]) snapshotBeside() {
	defer st.snapshotting.Store(false)
	st.checkpoint()
	if err := st.Snapshot(); err != nil && !errors.Is(err, live.ErrClosed) {
		st.snapBytes.Store(0) // the next file is reason enough
		st.cfg.Log.Warn("a snapshot could not be written; the next one will be tried when it is "+
			"due", "err", err)
	}
}

// lastSnapshot writes the snapshot of Close.
func (st *Store[S, E]) lastSnapshot(state S, head journal.Head) error {
	st.snapMu.Lock()
	defer st.snapMu.Unlock()
	return st.publishSnapshot(st.cfg.FS, head, st.cfg.Freeze(state))
}

// freeze returns a function that writes the present state, and the state's last line, once that is durable.
func (st *Store[S, E]) freeze() (write func(io.Writer) error, head journal.Head, err error) {
	head, err = st.ViewAt(func(state S) { write = st.cfg.Freeze(state) })
	return write, head, err
}

// publishSnapshot publishes a snapshot, unless there is one of its line, and removes all but the newest.
func (st *Store[S, E]) publishSnapshot(fsys durable.FS, head journal.Head,
	write func(io.Writer) error) error {
	have, err := journal.Numbers(fsys, "snapshots")
	if err != nil || slices.Contains(have, head.Seq) {
		return err
	}
	err = durable.Publish(fsys, "snapshots", journal.Name(head.Seq), func(f io.Writer) (err error) {
		size, err := journal.WriteSnapshot(f, head, write)
		st.snapBytes.Store(size)
		return err
	})
	if err != nil {
		return err
	}
	if st.cfg.Snapshotted != nil {
		st.cfg.Snapshotted(st.snapBytes.Load())
	}
	for i := 0; i+snapshotsKept <= len(have); i++ {
		err = errors.Join(err, fsys.Remove("snapshots/"+journal.Name(have[i])))
	}
	return err
}

// Erase erases the personal parts of the lines that durable lines of the type KindErased name. by is the
// last line that names any. Files of the journal are published anew, and snapshots made before are removed.
// A crash leaves each file old or new.
func (st *Store[S, E]) Erase(lines []journal.Erasure, by journal.Stamp) error {
	if err := st.Snapshot(); err != nil {
		return err
	}
	fsys := st.cfg.FS
	if err := erase.RemoveSnapshots(fsys, by.Seq); err != nil {
		return err
	}
	files, err := erase.Files(fsys, lines)
	if err != nil {
		return err
	}
	paced := st.Pace().Files(fsys)
	for i, f := range files {
		if len(f.Lines) == 0 {
			continue
		}
		if i+1 == len(files) {
			return fmt.Errorf("store: line %d is in the file that is being written; there was no room "+
				"for a new file", by.Seq)
		}
		if err := erase.InFile(paced, f); err != nil {
			return err
		}
		if err := paced.Seal(f.Name); err != nil {
			return err
		}
	}
	return nil
}
