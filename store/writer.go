package store

import (
	"errors"
	"fmt"
	"io"
	"runtime"
)

// writer is the journal's end. Only the writer goroutine uses it.
type writer[S, E any] struct {
	st   *Store[S, E]
	file File
	size int64
	head Head // the newest durable line
	buf  []byte
	data []byte
	pers []byte

	rotated bool // a file was begun: time for a snapshot
}

const (
	defaultSegmentBytes = 64 << 20
	keepBuffer          = 4 << 20 // a larger buffer is given back after its batch
)

// run writes batch after batch until kick is closed. After a failure it only waits for that.
func (w *writer[S, E]) run() {
	for range w.st.kick {
		// Those who were released by the last batch get to hand in their next
		// event first: far fewer syncs, measured, and no timer.
		runtime.Gosched()
		if b := w.st.take(); b != nil {
			w.st.finish(b, w.write(b))
		}
	}
}

// take makes what is pending the batch in flight.
func (st *Store[S, E]) take() *batch[E] {
	st.mu.Lock()
	defer st.mu.Unlock()
	if len(st.pending.entries) == 0 {
		return nil
	}
	st.inflight, st.pending = st.pending, newBatch[E]()
	return st.inflight
}

// finish releases all who wait for the batch.
func (st *Store[S, E]) finish(b *batch[E], err error) {
	st.mu.Lock()
	st.inflight = nil
	if err != nil {
		st.cfg.Log.Error("the journal cannot be written; nothing is acknowledged from here on", "err", err)
		err = fmt.Errorf("%w: %w", ErrFailed, err)
		st.fail(err)
	} else {
		st.head = st.w.head
	}
	st.mu.Unlock()
	if err == nil && st.w.rotated && st.snapshotting.CompareAndSwap(false, true) {
		st.w.rotated = false
		st.background.Go(func() {
			defer st.snapshotting.Store(false)
			if err := st.Snapshot(); err != nil && !errors.Is(err, ErrClosed) {
				st.cfg.Log.Warn("a snapshot could not be written; the next one will be tried in its turn", "err", err)
			}
		})
	}
	b.err = err
	close(b.done)
}

// write makes a batch durable: one write, one sync.
func (w *writer[S, E]) write(b *batch[E]) error {
	head := w.head
	for i := range b.entries {
		e := &b.entries[i]
		kind, data, personal := w.st.cfg.Encode(e.event, w.data[:0], w.pers[:0])
		head = w.add(head, e.Stamp, kind, data, personal)
		e.Hash = head.Hash
		w.data, w.pers = data, personal
	}
	return w.commit(b.entries[0].Seq, head)
}

// add appends to buf the line after head, and gives the new head.
func (w *writer[S, E]) add(head Head, stamp Stamp, kind string, data, personal []byte) Head {
	l := Line{Head: Head{Stamp: stamp}, Synced: w.head.Seq, Type: kind, Data: data, Personal: personal}
	w.buf = l.appendTo(w.buf, head.Hash)
	return l.Head
}

// commit appends buf, whose lines run from seq first to head, and makes it durable.
func (w *writer[S, E]) commit(first uint64, head Head) error {
	if w.size > 0 && w.size+int64(len(w.buf)) > w.st.cfg.SegmentBytes {
		if err := w.rotate(first); err != nil {
			return err
		}
	}
	n, err := w.file.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return err
	}
	w.size += int64(n)
	w.head = head
	if w.buf = w.buf[:0]; cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	return nil
}

// rotate goes on in a new file. The full one is durable already; it is sealed
// only once the new one is, so that the last file can always be appended to.
func (w *writer[S, E]) rotate(first uint64) error {
	fsys, full := w.st.cfg.FS, w.file
	f, err := fsys.Create("journal/" + numbered(first))
	if err != nil {
		return err
	}
	if err := fsys.SyncDir("journal"); err != nil {
		return errors.Join(err, f.Close())
	}
	w.file, w.size = f, 0
	if err := full.Close(); err != nil {
		return err
	}
	segs, err := numbers(fsys, "journal")
	if err != nil {
		return err
	}
	if err := fsys.Seal("journal/" + numbered(segs[len(segs)-2])); err != nil {
		w.st.cfg.Log.Warn("a full journal file could not be made read-only", "err", err)
	}
	w.rotated = true
	return nil
}
