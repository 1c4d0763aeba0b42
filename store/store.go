// Package store keeps one value in memory and makes it durable by an append-only, hash-chained journal of
// events in JSON lines. It is generic: S is the state, a pointer; E is an event, an immutable value once it
// was handed in. The store knows nothing of what they mean. All access goes through closures run under the
// program's one lock:
//
//	st.View(func(s *State, now time.Time) { … })
//	seq, err := st.Update(func(s *State, now time.Time) ([]Event, error) { … })
//
// An update takes the instant, decides, applies its events, numbers them and hands them to the one writer
// goroutine, all under the lock and without I/O; then it waits outside the lock. The writer takes all that
// is pending, encodes it, writes once, syncs once, and releases everyone who waited. A view, and a refusal,
// waits likewise until all that it saw is durable, so that no answer shows what a crash could still undo.
//
// # Files
//
//	FORMAT                        "waybill-journal v1 <origin>\n"
//	LOCK                          flock of the process that has the directory open
//	journal/<first seq>.jsonl     the lines, a new file every 64 MiB, full ones mode 0400
//	snapshots/<seq>.jsonl         the state after a line: a cache, two are kept
//	checkpoint                    the newest signed checkpoint ([Checkpoint])
//	checkpoints.log               all of them
//	checkpoint.key, .pub          the key that signs them
//	tree/<level>                  hashes of the tree over the lines (package tree): a cache
//	torn-<seq>-<n>.bin            bytes that a recovery cut off the journal's end
//
// Package durable is the file access that all of this rests on, package tree makes one hash of all lines, and
// package note signs it.
//
// [Line] documents the line format. Opening reads the newest snapshot that the journal confirms and applies
// the lines after it. The first bad line is either a torn tail, never acknowledged: it is cut, and its bytes
// are kept; or it is provably damage to durable data: [Damage], and nothing is changed. The first failed
// write or sync of the journal is final ([ErrFailed]): what a kernel says of a page after a failed sync is
// worth nothing.
package store

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/tree"
)

// Dirs are the directories of the store's own files.
var Dirs = []string{"journal", "snapshots", tree.Dir}

var (
	// ErrOlder is returned by Thaw for a snapshot of an earlier version, which lacks a part of the state.
	ErrOlder = errors.New("store: written by an earlier version")
	// ErrFailed is returned once a write or sync of the journal has failed. What was being updated may or may
	// not survive; nothing is acknowledged from then on.
	ErrFailed = errors.New("store: the journal cannot be written")
	ErrClosed = errors.New("store: closed")
	// ErrFull is returned by an update while the disk has no room for the journal. It has changed nothing.
	ErrFull = errors.New("store: the disk is full")
)

// A ClockError is of Open: the last line lies too far ahead of the clock for time to go on from it.
type ClockError struct{ Last, Now time.Time }

// Error returns both instants.
func (e *ClockError) Error() string {
	return fmt.Sprintf("store: the journal's last line is of %s, but the clock says %s",
		e.Last.Format(journal.TimeLayout), e.Now.Format(journal.TimeLayout))
}

// NoRoom is an error of Open: so many bytes are missing on the disk to start.
type NoRoom struct{ Missing int64 }

// Error returns how many bytes are missing.
func (e *NoRoom) Error() string {
	return fmt.Sprintf("store: the disk is full: %d more bytes are needed to start", e.Missing)
}

// maxAhead is how far the last line may lie ahead of the clock at Open; time stands still until that has
// caught up.
const maxAhead = time.Minute

// Config says what the stored value is and where it is kept. FS, New, Now, Apply, Encode, Decode, Freeze,
// Thaw and Weigh are required.
type Config[S, E any] struct {
	FS  durable.FS
	Log *slog.Logger
	New func() S          // returns the state before the first line
	Now func(S) time.Time // the only clock, called under the lock
	// Apply changes the state as the event says. It must not fail, read a clock or decide anything.
	Apply func(S, Stamp, E)
	// Encode appends the event's data, a JSON object, and its personal part, a JSON object or nothing, and
	// names its type. The writer calls it, without the lock.
	Encode func(e E, data, personal []byte) (kind string, d, p []byte)
	// Decode is Encode's inverse; with a personal part, the data's last member is "personal". An unknown kind
	// is ErrNewer, and so is what else Decode does not know of a line.
	Decode func(kind string, data, personal []byte) (E, error)
	// Freeze is called under the lock and must take no more than microseconds per megabyte; what it returns
	// is called without the lock and writes the state as it was.
	Freeze func(S) func(io.Writer) error
	Thaw   func(io.Reader) (S, error) // reads what Freeze wrote
	// Ready, unless it is nil, is asked by Open once the journal is read, before a line is written and before
	// its end is mended. Its error ends Open.
	Ready func(S, Start) error
	// how many bytes the event's line has at most; called under the lock, before Apply
	Weigh        func(S, E) int64
	Random       io.Reader // what the directory's name and key are made from; nil is crypto/rand's
	SegmentBytes int64     // from which a journal file is followed by a new one; 0 is 64 MiB
	// Wrote, unless it is nil, is told of each write of the journal: its lines, its bytes, and how long its
	// sync took.
	Wrote       func(lines, bytes int, sync time.Duration)
	Snapshotted func(bytes int64) // unless it is nil, is told of each snapshot written
}

// Store is an open directory. Its methods may be called from any goroutine.
type Store[S, E any] struct {
	cfg     Config[S, E]
	lock    io.Closer
	created time.Time // of the first line

	asked    atomic.Uint64 // views and updates so far; see Pace
	lookedAt bool          // it has no writer; see Look

	mu       sync.Mutex
	state    S
	seq      uint64    // of the newest event applied
	last     time.Time // the newest instant given to any view or update
	head     Head      // the newest durable line
	pending  *batch[E] // not yet taken by the writer
	inflight *batch[E] // being written; nil when none is
	closed   bool
	err      error   // ErrFailed, once the journal cannot be written
	room     int64   // bytes reserved on the disk that nothing pending or being written needs
	full     bool    // the writer has found no more room than that
	wanted   *search // room that updates wait for; nil while none does

	kick    chan struct{} // tells the writer that something is pending
	ended   chan struct{} // closed when the writer has ended
	grown   chan struct{} // tells that something became durable; closed after that
	stem    stem
	signing sync.Mutex // one checkpoint at a time
	signer  checkpoint.Log
	failed  chan struct{} // closed with the first failure
	w       writer

	snapMu       sync.Mutex     // one snapshot at a time
	snapshotting atomic.Bool    // one in the background is under way or waits
	snapBytes    atomic.Int64   // the size of the last one
	background   sync.WaitGroup // the writer, and what it starts
}

type entry[E any] struct {
	Head  // its hash is set by the writer
	event E
}

// batch is what one write and one sync make durable together.
type batch[E any] struct {
	entries []entry[E]
	weight  int64 // of their lines, at most, in bytes
	done    chan struct{}
	err     error // read after done
}

func newBatch[E any]() *batch[E] {
	return &batch[E]{done: make(chan struct{})}
}

// Failed is closed when the journal can no longer be written.
func (st *Store[S, E]) Failed() <-chan struct{} {
	return st.failed
}

// Created is when the directory was made: the time of its first line.
func (st *Store[S, E]) Created() time.Time {
	return st.created
}

// View calls read under the lock and returns once all that read saw is durable.
func (st *Store[S, E]) View(read func(S, time.Time)) error {
	wait, err := st.view(read)
	return cmp.Or(err, wait.wait())
}

// Glance calls read under the lock like View but does not wait; settled does. It is for what comes before a
// View or Update of the same request, which waits for all of it, and for what is not shown unless settled was
// called.
func (st *Store[S, E]) Glance(read func(S, time.Time)) (settled func() error, err error) {
	wait, err := st.view(read)
	return wait.wait, err
}

// Pace returns the pace of a long work beside the store: it leaves the machine to those who view and update.
func (st *Store[S, E]) Pace() *durable.Pace {
	return &durable.Pace{Asked: st.asked.Load}
}

func (st *Store[S, E]) view(read func(S, time.Time)) (*batch[E], error) {
	st.asked.Add(1)
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := st.usable(); err != nil {
		return nil, err
	}
	read(st.state, st.instant())
	return st.newest(), nil
}

// Update calls decide under the lock, applies the events it returns and journals them, each in a line of its
// own, at the instant given to decide. after, unless it is nil, then sees the state as these events left it.
// Update returns the number of the last of these lines, once all is durable; an error of decide is returned
// as it is and changes nothing.
//
// Where the lines are larger than the room that is reserved for them, the writer is asked for more, and
// decide is called again: it must start from nothing each time.
func (st *Store[S, E]) Update(decide func(S, time.Time) ([]E, error),
	after func(S, time.Time)) (uint64, error) {
	for {
		seq, err := st.update(decide, after)
		var heavy *tooHeavy
		if !errors.As(err, &heavy) {
			return seq, err
		}
		if !st.askForRoom(heavy.bytes) {
			return 0, ErrFull
		}
		// There is room, unless another update has taken it meanwhile; one of them always gets on.
	}
}

// tooHeavy is the error of events whose lines have more bytes than are reserved.
type tooHeavy struct{ bytes int64 }

func (e *tooHeavy) Error() string {
	return fmt.Sprintf("store: %d bytes are not reserved", e.bytes)
}

// A search for room is what updates wait for whose lines have more bytes than are reserved.
type search struct {
	bytes int64         // the most that one of them needs
	done  chan struct{} // closed once the writer has looked
	found bool          // read after done
}

// askForRoom has the writer reserve room for so many bytes, and reports whether there was as much. Where the
// store can no longer be used it reports true: to try again says why.
func (st *Store[S, E]) askForRoom(bytes int64) (found bool) {
	st.mu.Lock()
	if st.usable() != nil {
		st.mu.Unlock()
		return true
	}
	if st.wanted == nil {
		st.wanted = &search{done: make(chan struct{})}
	}
	wanted := st.wanted
	wanted.bytes = max(wanted.bytes, bytes)
	st.wakeWriter()
	st.mu.Unlock()
	<-wanted.done
	return wanted.found
}

// wakeWriter tells the writer that there is something to do. The lock is held, and the store is not closed.
func (st *Store[S, E]) wakeWriter() {
	select {
	case st.kick <- struct{}{}:
	default:
	}
}

func (st *Store[S, E]) update(decide func(S, time.Time) ([]E, error),
	after func(S, time.Time)) (uint64, error) {
	var seq uint64
	var refused error
	wait, err := st.view(func(s S, now time.Time) {
		var events []E
		if events, refused = decide(s, now); refused == nil && len(events) > 0 {
			refused = st.commit(events, after)
		}
		seq = st.seq
	})
	if err := cmp.Or(err, wait.wait()); err != nil {
		return 0, err
	}
	return seq, refused
}

// commit applies events and hands them to the writer. It takes the room that they need on the disk, so that
// no line is ever begun that cannot be ended. The lock is held.
func (st *Store[S, E]) commit(events []E, after func(S, time.Time)) error {
	if st.lookedAt {
		return ErrLookedAt
	}
	weights := make([]int64, len(events))
	total := int64(0)
	for i, e := range events {
		weights[i] = st.cfg.Weigh(st.state, e)
		total += weights[i]
	}
	if err := st.lacksRoom(total); err != nil {
		return err
	}
	// An Apply that panics leaves a state nobody decided: nothing may build on it.
	whole := false
	defer func() {
		if !whole {
			st.fail(fmt.Errorf("%w: an event could not be applied", ErrFailed))
		}
	}()
	for i, e := range events {
		st.room -= weights[i]
		st.pending.weight += weights[i]
		st.seq++
		stamp := Stamp{Seq: st.seq, Time: st.last}
		st.cfg.Apply(st.state, stamp, e)
		st.pending.entries = append(st.pending.entries, entry[E]{Head{Stamp: stamp}, e})
	}
	if after != nil {
		after(st.state, st.last)
	}
	whole = true
	st.wakeWriter()
	return nil
}

// lacksRoom returns why lines of at most so many bytes cannot be taken: ErrFull, or *tooHeavy where the
// writer has to look for more room. What is reserved counts as it is now: when the writer found no more,
// lines may have been under way that took less of it than they weighed. The lock is held.
func (st *Store[S, E]) lacksRoom(bytes int64) error {
	if st.full && st.room < reserve+ordinary {
		return ErrFull
	}
	if st.room-bytes < reserve {
		return &tooHeavy{bytes}
	}
	return nil
}

// usable returns why nothing can be asked of the store any more. The lock is held.
func (st *Store[S, E]) usable() error {
	if st.err == nil && st.closed {
		return ErrClosed
	}
	return st.err
}

// SetClock journals an event, of the type KindClock, that sets the clock: time goes on from at, which may lie
// before the last line.
func (st *Store[S, E]) SetClock(at time.Time, e E) error {
	kind, _, _ := st.cfg.Encode(e, nil, nil)
	if kind != KindClock {
		return fmt.Errorf("store: an event of type %q cannot set the clock", kind)
	}
	_, err := st.Update(func(s S, _ time.Time) ([]E, error) {
		if st.lacksRoom(st.cfg.Weigh(s, e)) == nil {
			st.last = at.UTC().Truncate(time.Millisecond)
		}
		return []E{e}, nil
	}, nil)
	return err
}

// instant returns the time of a decision, in whole milliseconds; it never falls. The lock is held.
func (st *Store[S, E]) instant() time.Time {
	now := st.cfg.Now(st.state).UTC().Truncate(time.Millisecond)
	if now.After(st.last) {
		st.last = now
	}
	return st.last
}

// newest returns the batch that makes the present state durable, nil when it is. The lock is held.
func (st *Store[S, E]) newest() *batch[E] {
	if len(st.pending.entries) > 0 {
		return st.pending
	}
	return st.inflight
}

func (b *batch[E]) wait() error {
	if b == nil {
		return nil
	}
	<-b.done
	return b.err
}

// fail makes err final and releases all who wait. The lock is held.
func (st *Store[S, E]) fail(err error) {
	if st.err != nil {
		return
	}
	st.err = err
	close(st.failed)
	st.pending.err = err
	close(st.pending.done)
	st.pending = newBatch[E]()
}

// Close lets nobody in any more, waits for what is pending, writes a snapshot, which proves the clean end,
// and returns the directory free.
func (st *Store[S, E]) Close() error {
	st.mu.Lock()
	if st.closed {
		st.mu.Unlock()
		return ErrClosed
	}
	st.closed = true
	wait := st.newest()
	err := st.err
	st.mu.Unlock()
	if st.lookedAt {
		return nil // nothing was opened
	}
	err = cmp.Or(err, wait.wait())
	close(st.kick)
	<-st.ended
	if err == nil {
		st.giveBack() // before the last files: on a full disk they need it
		if failed := st.snapshot(true); failed != nil {
			st.cfg.Log.Warn("the last snapshot could not be written; the next start reads the journal instead", "err", failed)
		}
	}
	close(st.grown)
	st.background.Wait()
	st.snapMu.Lock() // a snapshot that was asked for may still be under way
	defer st.snapMu.Unlock()
	return errors.Join(err, st.w.file.Close(), st.lock.Close())
}

// giveBack releases the room reserved in the file that is to be closed.
func (st *Store[S, E]) giveBack() {
	if err := st.w.file.Truncate(st.w.size); err != nil {
		st.cfg.Log.Warn("room that was reserved could not be given back", "err", err)
	}
}
