package store

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
)

// writer is the journal's end. Only the writer goroutine uses it.
type writer struct {
	fsys  FS
	log   *slog.Logger
	limit int64 // of a file's size

	file File
	size int64
	head Head   // the newest durable line
	next Head   // the last line in buf
	buf  []byte // what commit is to write

	data, personal []byte // buffers for Encode

	rotated bool // a file was begun: time for a snapshot
}

const (
	defaultSegmentBytes = 64 << 20
	keepBuffer          = 4 << 20 // a larger buffer is given back after its batch
)

// run writes batch after batch until kick is closed. After a failure it only waits for that.
func (st *Store[S, E]) run() {
	for range st.kick {
		// Those who were released by the last batch get to hand in their next
		// event first: far fewer syncs, measured, and no timer.
		runtime.Gosched()
		if b := st.take(); b != nil {
			st.finish(b, st.write(b))
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

// write makes a batch durable.
func (st *Store[S, E]) write(b *batch[E]) error {
	w := &st.w
	for i := range b.entries {
		e := &b.entries[i]
		var kind string
		kind, w.data, w.personal = st.cfg.Encode(e.event, w.data[:0], w.personal[:0])
		e.Head = w.add(e.Stamp, kind, w.data, w.personal)
	}
	return w.commit()
}

// add appends a line to buf.
func (w *writer) add(stamp Stamp, kind string, data, personal []byte) Head {
	l := Line{Head: Head{Stamp: stamp}, Synced: w.head.Seq, Type: kind, Data: data, Personal: personal}
	w.buf = l.appendTo(w.buf, w.next.Hash)
	w.next = l.Head
	return l.Head
}

// commit makes buf durable: one write, one sync.
func (w *writer) commit() error {
	if w.size > 0 && w.size+int64(len(w.buf)) > w.limit {
		if err := w.rotate(); err != nil {
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
	w.head = w.next
	if w.buf = w.buf[:0]; cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	return nil
}

// rotate goes on in a new file. The full one is durable already; it is sealed
// only once the new one is, so that the last file can always be appended to.
func (w *writer) rotate() error {
	full := w.file
	f, err := w.fsys.Create("journal/" + numbered(w.head.Seq+1))
	if err != nil {
		return err
	}
	if err := w.fsys.SyncDir("journal"); err != nil {
		return errors.Join(err, f.Close())
	}
	w.file, w.size, w.rotated = f, 0, true
	if err := full.Close(); err != nil {
		return err
	}
	firsts, err := numbers(w.fsys, "journal")
	if err != nil {
		return err
	}
	if err := w.fsys.Seal("journal/" + numbered(firsts[len(firsts)-2])); err != nil {
		w.log.Warn("a full journal file could not be made read-only", "err", err)
	}
	return nil
}
