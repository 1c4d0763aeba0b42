package live

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
)

type entry[E any] struct {
	journal.Head // its hash is set by the writer
	event        E
}

// batch has the lines that one write and one sync make durable together.
type batch[E any] struct {
	entries []entry[E]    // the writer's, once it has taken the batch
	last    uint64        // the number of the last of the lines; guarded by the lock
	weight  int64         // of their lines, at most, in bytes
	here    chan struct{} // closed once they are on this disk, where they are kept elsewhere, too
	done    chan struct{} // closed once they are durable, or never will be
	err     error         // read after done
}

func newBatch[E any]() *batch[E] {
	return &batch[E]{done: make(chan struct{}), here: make(chan struct{})}
}

// newDoneBatch returns a batch that nobody has to wait for.
func newDoneBatch[E any]() *batch[E] {
	b := newBatch[E]()
	close(b.done)
	return b
}

// wait returns once the lines are durable, or cannot be written.
func (b *batch[E]) wait() error {
	<-b.done
	return b.err
}

// waitHere returns once the lines are on this disk, or cannot be written.
func (b *batch[E]) waitHere() error {
	select {
	case <-b.here:
		return nil
	case <-b.done:
		return b.err
	}
}

// end releases everybody who waits for the lines. Only one goroutine ends a batch.
func (b *batch[E]) end(err error) {
	b.err = err
	close(b.done)
}

// wait waits for a batch. Where lines are kept elsewhere it does so for a while only, and then returns late.
func (v *Value[S, E]) wait(b *batch[E], within time.Duration, late error) error {
	if v.cfg.Keep == nil {
		return b.wait()
	}
	select {
	case <-b.done:
		return b.err
	default:
	}
	enough := time.NewTimer(within)
	defer enough.Stop()
	select {
	case <-b.done:
		return b.err
	case <-enough.C:
		return late
	}
}

// writer is the journal's end. Open uses it before the writer goroutine starts, then only that goroutine, and
// Close once that has ended.
type writer struct {
	name    string // of the file
	file    durable.File
	size    int64
	end     int64        // up to which room is reserved in the file
	head    journal.Head // the newest durable line
	next    journal.Head // the last line in buf
	buf     []byte       // what flush is to write
	begin   bool         // the lines in buf should begin a file
	rotated bool         // a file was begun for the lines in buf
	full    bool         // there is no more room on the disk

	chained [][]byte       // the bytes of each line in buf that the chain covers
	lines   []journal.Line // the lines in buf, where they are kept elsewhere

	data, personal []byte // buffers for Encode
}

const (
	defaultSegmentBytes = 64 << 20
	keepBuffer          = 4 << 20 // a larger buffer is given back after its batch
)

// run writes batch after batch until kick is closed. After a failure there is none to write, and it only
// waits for that.
func (v *Value[S, E]) run() {
	defer close(v.ended)
	defer func() {
		v.found(v.takeSearch(), true)
	}()
	var again <-chan time.Time // when to look for room on a full disk
	for {
		select {
		case _, open := <-v.kick:
			if !open {
				return
			}
		case <-again:
		}
		// The goroutines that the last batch has released get to hand in their next event first: far fewer
		// syncs, measured, and no timer.
		runtime.Gosched()
		v.mu.Lock()
		if len(v.pending.entries) > 0 {
			v.inflight, v.pending = v.pending, newBatch[E]()
		}
		b := v.inflight
		dead := v.err != nil
		v.mu.Unlock()
		if b != nil {
			written, err := v.write(b)
			if err == nil && v.cfg.Keep != nil {
				v.handOver(b, written)
			} else {
				v.finish(b, err)
			}
		}
		again = nil
		if !dead && !v.makeRoom() {
			again = time.After(lookForRoom)
		}
		if dead {
			v.found(v.takeSearch(), true) // the update tries again and gets the failure
		}
	}
}

// finish releases everybody who waits for a batch that was written, or that could not be: then the journal
// has failed for good.
func (v *Value[S, E]) finish(b *batch[E], err error) {
	v.mu.Lock()
	v.inflight = nil
	if err != nil {
		v.cfg.Log.Error("the journal cannot be written; no change is acknowledged from now on", "err", err)
		err = fmt.Errorf("%w: %w", ErrFailed, err)
		v.fail(err)
	} else {
		v.head = v.w.head
		v.room = v.w.end - v.w.size - v.pending.weight
	}
	v.mu.Unlock()
	b.end(err)
}

// write makes a batch durable on this disk.
func (v *Value[S, E]) write(b *batch[E]) (Written, error) {
	w := &v.w
	for i := range b.entries {
		e := &b.entries[i]
		var kind string
		kind, w.data, w.personal = v.cfg.Encode(e.event, w.data[:0], w.personal[:0])
		e.Head = v.add(e.Stamp, kind, w.data, w.personal)
		w.begin = w.begin || kind == journal.KindErased
	}
	if size := int64(len(w.buf)); size > b.weight { // it draws on the reserve, and may be larger than that
		v.cfg.Log.Error("lines of the journal are larger than was reserved for them",
			"bytes", size, "weighed", b.weight, "last", w.next.Seq)
	}
	return v.flush()
}

// add appends a line to buf.
func (v *Value[S, E]) add(stamp journal.Stamp, kind string, data, personal []byte) journal.Head {
	w := &v.w
	l := journal.Line{
		Head:     journal.Head{Stamp: stamp},
		Synced:   v.kept.Load(),
		Type:     kind,
		Data:     data,
		Personal: personal,
	}
	w.buf = l.AppendTo(w.buf, w.next.Hash)
	w.next = l.Head
	w.chained = append(w.chained, l.Chained)
	if v.cfg.Keep != nil {
		l.Data = bytes.Clone(data)
		l.Personal = nil
		if len(personal) > 0 {
			l.Personal = bytes.Clone(personal)
		}
		w.lines = append(w.lines, l)
	}
	return l.Head
}

// flush makes the added lines durable on this disk: one write, one sync. Unless they are kept elsewhere, that
// is all that there is to it.
func (v *Value[S, E]) flush() (Written, error) {
	w := &v.w
	w.rotated = false
	if w.size > 0 && (w.begin || w.size+int64(len(w.buf)) > v.cfg.SegmentBytes) {
		if err := v.rotate(); err != nil {
			return Written{}, err
		}
	}
	w.begin = false
	n, err := w.file.Write(w.buf)
	w.size += int64(n)
	if err == nil && n < len(w.buf) {
		err = io.ErrShortWrite
	}
	began := time.Now()
	if err == nil {
		err = w.file.Sync()
	}
	if err = cmp.Or(err, v.checked()); err != nil {
		return Written{}, err
	}
	if v.cfg.Wrote != nil {
		v.cfg.Wrote(int(w.next.Seq-w.head.Seq), n, time.Since(began))
	}
	w.head = w.next
	written := Written{
		Head:    w.head,
		Chained: w.chained,
		Bytes:   n,
		Begun:   w.rotated,
		Lines:   w.lines,
	}
	if v.cfg.Keep != nil { // the buffers are the keeper's from here on
		w.chained, w.lines, w.buf = nil, nil, nil
		return written, nil
	}
	v.kept.Store(w.head.Seq)
	v.cfg.Durable(written)
	clear(w.chained)
	w.chained = w.chained[:0]
	w.buf = w.buf[:0]
	if cap(w.buf) > keepBuffer {
		w.buf = nil
	}
	return written, nil
}

// rotate goes on in a new file. The full one is durable already; it is sealed only once the new one is
// durable, so that the last file can always be appended to.
func (v *Value[S, E]) rotate() error {
	fsys := v.cfg.FS
	full := v.w.file
	name := "journal/" + journal.Name(v.w.head.Seq+1)
	var end int64
	f, err := fsys.Create(name)
	if err == nil {
		if end, err = v.moveRoom(f); err != nil {
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
	v.giveBack()
	v.w.name = name
	v.w.file = f
	v.w.size = 0
	v.w.end = end
	v.w.rotated = true
	firsts, err := journal.Numbers(fsys, "journal")
	if err := cmp.Or(full.Close(), err); err != nil {
		return err
	}
	if err := fsys.Seal("journal/" + journal.Name(firsts[len(firsts)-2])); err != nil {
		v.cfg.Log.Warn("a full journal file could not be made read-only", "err", err)
	}
	return nil
}
