package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

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

// unerased are the lines whose personal parts are named as erased, by lines after the newest snapshot, and
// may still be there. While there are any, no snapshot is written: so a start always reads, after the
// snapshot that it goes on from, the lines that name what may be left to erase.
type unerased struct {
	mu     sync.Mutex
	lines  []journal.Erasure
	beside bool // what is beside the journal may be left, too
}

// ToErase says that an update names the personal parts of lines as erased. It is called under the lock with
// that update; [Store.Erase] then erases them.
func (st *Store[S, E]) ToErase(lines []journal.Erasure) {
	st.unerased.mu.Lock()
	defer st.unerased.mu.Unlock()
	st.unerased.lines = append(st.unerased.lines, lines...)
	st.unerased.beside = true
}

// Unerased returns how many lines are still to be erased; 1 where only what is beside the journal is.
func (st *Store[S, E]) Unerased() int {
	st.unerased.mu.Lock()
	defer st.unerased.mu.Unlock()
	if n := len(st.unerased.lines); n > 0 || !st.unerased.beside {
		return n
	}
	return 1
}

// Erase erases the personal parts of all lines that are named to be erased, once the lines that name them are
// durable: while the keeper is silent it waits, until ctx is over. Snapshots made before are removed, files
// of the journal are published anew, and beside erases what there is beside the journal. A crash or an error
// leaves each file old or new, and the next start, or the next Erase, does all of it again. Only one may run
// at a time.
func (st *Store[S, E]) Erase(ctx context.Context, beside func() error) error {
	if st.Unerased() == 0 {
		return nil
	}
	var lines []journal.Erasure
	err := st.Await(ctx, func(S, time.Time) uint64 {
		st.unerased.mu.Lock()
		defer st.unerased.mu.Unlock()
		lines = slices.Clone(st.unerased.lines)
		return live.All
	})
	if err != nil {
		return err
	}
	st.snapMu.Lock()                                   // one that was begun before may be under way
	err = journal.RemoveSnapshots(st.cfg.FS, live.All) // none is of after the lines that name
	st.snapMu.Unlock()
	if err != nil {
		return err
	}
	if err := st.eraseLines(lines); err != nil {
		return err
	}
	if err := beside(); err != nil {
		return err
	}
	st.unerased.mu.Lock()
	st.unerased.lines = slices.Delete(st.unerased.lines, 0, len(lines))
	st.unerased.beside = len(st.unerased.lines) > 0
	st.unerased.mu.Unlock()
	st.trySnapshot() // until then a start reads the whole journal
	return nil
}

// eraseLines publishes the files of the journal without the personal parts of lines.
func (st *Store[S, E]) eraseLines(lines []journal.Erasure) error {
	files, err := journal.ErasureFiles(st.cfg.FS, lines)
	if err != nil {
		return err
	}
	paced := st.Pace().Files(st.cfg.FS)
	for i, f := range files {
		if len(f.Lines) == 0 {
			continue
		}
		if i+1 == len(files) {
			return fmt.Errorf("store: lines to erase are in %s, which is being written; there was no room "+
				"for a new file", f.Name)
		}
		if err := journal.EraseInFile(paced, f); err != nil {
			return err
		}
		if err := paced.Seal(f.Name); err != nil {
			return err
		}
	}
	return nil
}
