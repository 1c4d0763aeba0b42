package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"syscall"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// writer is the journal's end. Open uses it before the writer goroutine starts, then only that goroutine, and
// Close once it has ended.
type writer struct {
	file    durable.File
	size    int64
	end     int64  // up to which room is reserved in the file
	head    Head   // the newest durable line
	next    Head   // the last line in buf
	buf     []byte // what flush is to write
	begin   bool   // what is in buf should begin a file
	rotated bool   // a file was begun
	fresh   int64  // bytes written since the last snapshot was begun
	full    bool   // there is no more room on the disk

	leaves []tree.Hash // of the lines in buf

	data, personal []byte // buffers for Encode
}

const (
	defaultSegmentBytes = 64 << 20
	keepBuffer          = 4 << 20 // a larger buffer is given back after its batch
)

// run writes batch after batch until kick is closed. After a failure it only waits for that.
func (st *Store[S, E]) run() {
	defer close(st.ended)
	defer func() {
		st.found(st.takeSearch(), true)
	}()
	var again <-chan time.Time // when to look for room on a full disk
	for {
		select {
		case _, open := <-st.kick:
			if !open {
				return
			}
		case <-again:
		}
		// Those who were released by the last batch get to hand in their next
		// event first: far fewer syncs, measured, and no timer.
		runtime.Gosched()
		st.mu.Lock()
		if len(st.pending.entries) > 0 {
			st.inflight, st.pending = st.pending, newBatch[E]()
		}
		b := st.inflight
		dead := st.err != nil
		st.mu.Unlock()
		if b != nil {
			st.finish(b, st.write(b))
		}
		again = nil
		if !dead && !st.makeRoom() {
			again = time.After(lookForRoom)
		}
		if dead {
			st.found(st.takeSearch(), true) // who tries again is told of the failure
		}
	}
}

const (
	// bytes that are always reserved beyond all that is queued; without them an update is refused
	reserve = 1 << 20
	// that most updates need at most: with less beyond the reserve the disk counts as full
	ordinary = 256 << 10
	// are reserved at a time, where there are as many; more than can be queued meanwhile
	plenty      = 8 << 20
	lookForRoom = 500 * time.Millisecond
)

// allot reserves room in a file beyond a size, plenty if the disk has as much, but at least so many bytes,
// and returns up to where.
func allot(f durable.File, size, least int64) (end int64, err error) {
	for more := max(plenty, least); ; more = max(more/2, least) {
		err = f.Reserve(size + more)
		if err == nil {
			return size + more, nil
		}
		if more == least {
			return size, err
		}
	}
}

// noSpace reports whether an error says that a disk, or somebody's share of it, is full.
func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// takeSearch returns the search for room that is asked for, nil where none is. Later ones begin another.
func (st *Store[S, E]) takeSearch() *search {
	st.mu.Lock()
	defer st.mu.Unlock()
	wanted := st.wanted
	st.wanted = nil
	return wanted
}

// found ends a search.
func (st *Store[S, E]) found(wanted *search, found bool) {
	if wanted != nil {
		wanted.found = found
		close(wanted.done)
	}
}

// makeRoom reserves room on the disk for the lines to come, and for those that an update waits to hand in,
// and reports whether there is enough for others.
func (st *Store[S, E]) makeRoom() bool {
	w := &st.w
	wanted := st.takeSearch()
	least := int64(reserve + ordinary)
	if wanted != nil {
		least += wanted.bytes
	}
	st.mu.Lock()
	room := st.room
	queued := st.pending.weight
	st.mu.Unlock()
	if room >= plenty/2 && room >= least {
		st.found(wanted, true)
		return true
	}
	end, err := allot(w.file, w.size+queued, least)
	found := err == nil
	if !found && wanted != nil {
		end, err = allot(w.file, w.size+queued, reserve+ordinary) // for the others
	}
	defer st.found(wanted, found)
	w.end = max(w.end, end)
	st.mu.Lock()
	st.room = w.end - w.size - st.pending.weight
	enough := st.room >= reserve+ordinary
	st.full = !enough
	st.mu.Unlock()
	switch {
	case enough && w.full:
		st.cfg.Log.Info("there is room on the disk again")
	case !enough && !w.full:
		st.cfg.Log.Warn("the disk is full: updates are refused until there is room", "err", err)
	}
	w.full = !enough
	return enough
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
		st.room = st.w.end - st.w.size - st.pending.weight
	}
	st.mu.Unlock()
	// A snapshot is due with a new file, once as much was written as the last one had: the more there is, the
	// rarer.
	due := st.w.rotated && st.w.fresh >= st.snapBytes.Load()
	if err == nil && due && st.snapshotting.CompareAndSwap(false, true) {
		st.w.rotated = false
		st.w.fresh = 0
		st.background.Go(func() {
			defer st.snapshotting.Store(false)
			st.checkpoint()
			if err := st.Snapshot(); err != nil && !errors.Is(err, ErrClosed) {
				st.snapBytes.Store(0) // the next file is reason enough
				st.cfg.Log.Warn("a snapshot could not be written; the next one will be tried in its turn",
					"err", err)
			}
		})
	}
	b.err = err
	close(b.done)
	select {
	case st.grown <- struct{}{}:
	default:
	}
}

// write makes a batch durable.
func (st *Store[S, E]) write(b *batch[E]) error {
	w := &st.w
	for i := range b.entries {
		e := &b.entries[i]
		var kind string
		kind, w.data, w.personal = st.cfg.Encode(e.event, w.data[:0], w.personal[:0])
		e.Head = w.add(e.Stamp, kind, w.data, w.personal)
		w.begin = w.begin || kind == KindErased
	}
	if size := int64(len(w.buf)); size > b.weight { // it draws on the reserve, and may be more than that
		st.cfg.Log.Error("lines of the journal are larger than they were weighed",
			"bytes", size, "weighed", b.weight, "last", w.next.Seq)
	}
	return st.flush()
}

// add appends a line to buf.
func (w *writer) add(stamp Stamp, kind string, data, personal []byte) Head {
	l := Line{
		Head:     Head{Stamp: stamp},
		Synced:   w.head.Seq,
		Type:     kind,
		Data:     data,
		Personal: personal,
	}
	w.buf = l.AppendTo(w.buf, w.next.Hash)
	w.next = l.Head
	w.leaves = append(w.leaves, tree.Leaf(l.Chained))
	return l.Head
}

// flush makes what was added durable: one write, one sync.
func (st *Store[S, E]) flush() error {
	w := &st.w
	if w.size > 0 && (w.begin || w.size+int64(len(w.buf)) > st.cfg.SegmentBytes) {
		if err := st.rotate(); err != nil {
			return err
		}
	}
	w.begin = false
	n, err := w.file.Write(w.buf)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	began := time.Now()
	if err == nil {
		err = w.file.Sync()
	}
	if err != nil {
		return err
	}
	if st.cfg.Wrote != nil {
		st.cfg.Wrote(int(w.next.Seq-w.head.Seq), n, time.Since(began))
	}
	w.size, w.fresh, w.head = w.size+int64(n), w.fresh+int64(n), w.next
	st.stem.grow(w.leaves, w.head)
	w.leaves = w.leaves[:0]
	w.buf = w.buf[:0]
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	return nil
}

// moveRoom reserves room in a new file for what is to be written now and for all that is pending, and returns
// up to where. From then on the room is that of the new file.
func (st *Store[S, E]) moveRoom(f durable.File) (end int64, err error) {
	now := int64(len(st.w.buf))
	st.mu.Lock()
	queued := st.pending.weight
	st.mu.Unlock()
	if end, err = allot(f, now+queued, reserve); err != nil {
		return 0, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	room := end - now - st.pending.weight
	if room < 0 { // more has come meanwhile than there is room for
		return 0, syscall.ENOSPC
	}
	st.room = room
	return end, nil
}

// rotate goes on in a new file. The full one is durable already; it is sealed
// only once the new one is, so that the last file can always be appended to.
func (st *Store[S, E]) rotate() error {
	fsys := st.cfg.FS
	full := st.w.file
	name := "journal/" + journal.Name(st.w.head.Seq+1)
	var end int64
	f, err := fsys.Create(name)
	if err == nil {
		if end, err = st.moveRoom(f); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if noSpace(err) {
		// The journal goes on in the full file, where room is reserved. The other must not be there then.
		if err = fsys.Remove(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			err = fsys.SyncDir("journal")
		}
		return err
	} else if err != nil {
		return err
	}
	if err := fsys.SyncDir("journal"); err != nil {
		return errors.Join(err, f.Close())
	}
	st.giveBack()
	st.w.file = f
	st.w.size = 0
	st.w.end = end
	st.w.rotated = true
	firsts, err := journal.Numbers(fsys, "journal")
	if err := cmp.Or(full.Close(), err); err != nil {
		return err
	}
	if err := fsys.Seal("journal/" + journal.Name(firsts[len(firsts)-2])); err != nil {
		st.cfg.Log.Warn("a full journal file could not be made read-only", "err", err)
	}
	return nil
}
