package store

import (
	"errors"
	"io"
	"slices"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

const snapshotsKept = 2

// Snapshot writes the present state beside the journal, without stopping writers, once all of it is durable.
// A failure loses nothing. While something is to be erased there is none.
func (st *Store[S, E]) Snapshot() error {
	st.snapMu.Lock()
	defer st.snapMu.Unlock()
	write, head, err := st.freeze()
	if errors.Is(err, ErrErasing) {
		return nil
	}
	if err != nil {
		return err
	}
	return st.publishSnapshot(st.Pace().Files(st.cfg.FS), head, write)
}

// snapshotBeside writes a snapshot that has become due, beside the writer, after a checkpoint of its line.
func (st *Store[S, E]) snapshotBeside() {
	defer st.snapshotting.Store(false)
	st.checkpoint()
	st.trySnapshot()
}

// trySnapshot writes a snapshot. What goes wrong is logged.
func (st *Store[S, E]) trySnapshot() {
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
	if st.Unerased() > 0 {
		return nil
	}
	return st.publishSnapshot(st.cfg.FS, head, st.cfg.Freeze(state))
}

// ErrErasing is the error of what would write what is to be erased.
var ErrErasing = errors.New("store: something is to be erased")

// freeze returns a function that writes the present state, and the state's last line, once that is durable.
// Its error is ErrErasing while something is to be erased.
func (st *Store[S, E]) freeze() (write func(io.Writer) error, head journal.Head, err error) {
	head, err = st.ViewAt(func(state S) {
		if st.Unerased() == 0 {
			write = st.cfg.Freeze(state)
		}
	})
	if err == nil && write == nil {
		err = ErrErasing
	}
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
