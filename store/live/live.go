// Package live is the write side of the store: a value in memory, and the end of its journal. A change is
// shown to nobody before it is on the disk. To believe that, one reads this package, journal, which has the
// form of a line, and durable, which has the files.
//
// [Value.Update] takes the lock, takes the instant, decides, applies the events, numbers them and hands them
// to the one writer goroutine, all without I/O; then it waits outside the lock. The writer takes all that is
// pending, encodes it, writes once, syncs once, and releases everybody who waited. A [Value.View], and an
// update that was refused, waits likewise until all that it saw is durable.
//
//	v, err := live.Open(config, state, live.End{File: file, Size: size, Head: head})
//	seq, err := v.Update(func(s *State, now time.Time) ([]Event, error) { … }, nil)
//	err = v.View(func(s *State, now time.Time) { … })
//	err = v.Close(nil)
//
// Package store finds the end of the journal, and does what is to be done after lines have become durable
// ([Durable]): signing, snapshots.
//
// What holds it together:
//
//   - The lock guards the value, and what updates and the writer hand to each other. It is held for
//     microseconds.
//   - Room on the disk is taken by weight before an event is applied, so that no line is begun that cannot be
//     ended. The writer looks for more (room.go).
//   - The first failed write or sync is final ([ErrFailed]).
package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"waybill/store/durable"
	"waybill/store/journal"
)

var (
	// ErrFailed is returned once a write or sync of the journal has failed. What was being updated may or may
	// not survive; nothing is acknowledged from then on, but for what was on the disk before.
	ErrFailed = errors.New("store: the journal cannot be written")
	ErrClosed = errors.New("store: closed")
	// ErrFull is returned by an update while the disk has no room for the journal. It has changed nothing.
	ErrFull = errors.New("store: the disk is full")
	// ErrLookedAt is returned by an update of a value that was made by [Look].
	ErrLookedAt = errors.New("store: the directory is open for reading only")
)

// Options say where the value is kept, by which clock, and who is told. FS, Log and Now are required.
type Options[S any] struct {
	FS  durable.FS // of the directory, for the files that the journal goes on in
	Log *slog.Logger
	Now func(S) time.Time // the only clock, called under the lock
	// MayChange, unless it is nil, returns why nothing may be changed now. It is called under the lock.
	MayChange    func() error
	SegmentBytes int64 // from which a journal file is followed by a new one; 0 is 64 MiB
	// Wrote, unless it is nil, is called after each write of the journal with the number of its lines, of its
	// bytes, and with how long its sync took, and the look at whether the file is still that of the path.
	Wrote func(lines, bytes int, sync time.Duration)
	Keep  Keep // unless it is nil, lines are durable once they are kept elsewhere, too
}

// Config says how the value changes and how its events are written. An error of the model's Apply is a
// mistake of whoever decided the event.
type Config[S, E any] struct {
	journal.Model[S, E]
	Options[S]
	Durable Durable // required
	// Check, unless it is nil, is called once lines are on the disk and before they count, with the file of
	// the journal that has them and its size. Its error is one of writing.
	Check func(name string, f durable.File, size int64) error
}

// Keep begins to keep lines at another place. give is called with lines that are on this disk, in their
// order, and does not wait. kept says that the place has all lines up to one for good, failed that it will
// never say so again; not two of them at a time.
type Keep func(kept func(seq uint64), failed func(error)) (give func([]journal.Line))

// Durable is called once lines have become durable, before those who wait for them are released, in the order
// of the lines: by the writer, which writes nothing meanwhile, or once they are kept elsewhere.
type Durable func(Written)

// Written is the result of one write and one sync that have made lines durable.
type Written struct {
	Head    journal.Head // the last line
	Chained [][]byte     // the bytes of each line that the chain covers; they are good until Durable returns
	Bytes   int
	Begun   bool // the lines begin a file
	// Lines are the same lines where they are kept elsewhere, else nil. They, and Chained, are nobody else's.
	Lines []journal.Line
}

// Value is a value that is open for updates. Its methods may be called from any goroutine.
type Value[S, E any] struct {
	cfg      Config[S, E]
	calls    atomic.Uint64 // views and updates so far
	kept     atomic.Uint64 // the last line that is durable
	give     func([]journal.Line)
	lookedAt bool // it has no writer; see Look

	mu       sync.Mutex
	state    S
	seq      uint64       // of the newest event applied
	changed  uint64       // the newest when the last update ended that was no reading's
	last     time.Time    // the newest instant given to any view or update
	head     journal.Head // the newest durable line
	pending  *batch[E]    // not yet taken by the writer
	inflight *batch[E]    // being written; nil when none is
	handed   []handed[E]  // written, and not kept elsewhere yet; in order
	durable  *batch[E]    // done, and without lines: for those that need not wait
	closed   bool
	leaves   time.Time // when Close gives the keeper up; zero until Leave
	err      error     // ErrFailed, once the journal cannot be written
	room     int64     // bytes reserved on the disk that nothing pending or being written needs
	full     bool      // the writer has found no more room than that
	wanted   *search   // room that updates wait for; nil while none does

	kick   chan struct{} // wakes the writer: something is pending
	ended  chan struct{} // closed when the writer has ended
	failed chan struct{} // closed with the first failure
	w      writer
}

// End is the end of a journal, to which more lines are added.
type End struct {
	Name string       // of the file
	File durable.File // open for appending, closed by the Value
	Size int64        // of the file
	Head journal.Head // the last line
}

// Own is a line that holds no event: one of the store's own.
type Own struct {
	Type string
	Data []byte
}

// Open takes up a value as it is after the last line of its journal, and makes lines of the store's own
// durable as the next ones.
func Open[S, E any](cfg Config[S, E], state S, at End, own ...Own) (*Value[S, E], error) {
	cfg.SegmentBytes = cmp.Or(cfg.SegmentBytes, defaultSegmentBytes)
	v := &Value[S, E]{
		cfg:     cfg,
		state:   state,
		seq:     at.Head.Seq,
		last:    at.Head.Time,
		pending: newBatch[E](),
		durable: newDoneBatch[E](),
		kick:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		failed:  make(chan struct{}),
		w: writer{
			name: at.Name,
			file: at.File,
			size: at.Size,
			head: at.Head,
			next: at.Head,
		},
	}
	v.kept.Store(at.Head.Seq)
	v.head = at.Head
	if cfg.Keep != nil {
		v.give = cfg.Keep(v.keptTo, v.keepFailed)
	}
	if err := v.begin(own); err != nil {
		v.w.file.Close()
		return nil, err
	}
	go v.run()
	return v, nil
}

// begin reserves room, and writes the first lines.
func (v *Value[S, E]) begin(own []Own) (err error) {
	if v.w.end, err = allot(v.w.file, v.w.size, Reserve); err != nil {
		return err
	}
	now := v.instant()
	for _, line := range own {
		v.seq++
		v.add(journal.Stamp{Seq: v.seq, Time: now}, line.Type, line.Data, nil)
	}
	written, err := v.flush()
	v.room = v.w.end - v.w.size
	if err != nil || v.cfg.Keep == nil || len(own) == 0 {
		v.head = v.w.head
		return err
	}
	// Nobody is let in before they are kept.
	b := firstLines[E](written.Lines)
	v.handOver(b, written)
	return b.wait()
}

// Look returns a value that can only be viewed, as it is after a line. It has no journal to write.
func Look[S, E any](now func(S) time.Time, state S, head journal.Head) *Value[S, E] {
	return &Value[S, E]{
		cfg:      Config[S, E]{Options: Options[S]{Now: now}},
		lookedAt: true,
		state:    state,
		seq:      head.Seq,
		last:     head.Time,
		head:     head,
		pending:  newBatch[E](),
		durable:  newDoneBatch[E](),
		failed:   make(chan struct{}),
	}
}

// Failed is closed when the journal can no longer be written.
func (v *Value[S, E]) Failed() <-chan struct{} {
	return v.failed
}

// Err is why the journal can no longer be written; nil until then.
func (v *Value[S, E]) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.err
}

// Calls counts the views and updates so far.
func (v *Value[S, E]) Calls() uint64 { return v.calls.Load() }

// View calls read under the lock and returns once all that read saw is durable.
func (v *Value[S, E]) View(read func(S, time.Time)) error {
	return v.ViewOn(ofAll(read))
}

// ofAll returns read as what rests on every line.
func ofAll[S any](read func(S, time.Time)) func(S, time.Time) uint64 {
	return func(s S, now time.Time) uint64 {
		read(s, now)
		return All
	}
}

// All stands for every line that there is.
const All uint64 = math.MaxUint64

// ViewOn is View of what rests on a line alone, which read returns: it waits for that line and those before
// it, whatever came after.
func (v *Value[S, E]) ViewOn(read func(S, time.Time) (line uint64)) error {
	seen, err := v.viewOn(read)
	if err != nil {
		return err
	}
	return v.wait(seen, silentAfter, ErrSilent)
}

// Await is ViewOn for work that nobody waits for: while the keeper is silent it waits on, until ctx is over.
func (v *Value[S, E]) Await(ctx context.Context, read func(S, time.Time) (line uint64)) error {
	seen, err := v.viewOn(read)
	if err != nil {
		return err
	}
	select {
	case <-seen.done:
		return seen.err
	case <-ctx.Done():
		return v.wait(seen, silentAfter, ErrSilent)
	}
}

// Glance calls read under the lock like View, and does not wait: wait does. A request may glance before its
// View or Update, which waits for everything that the request saw. Nothing else that read saw may be shown
// before wait has returned.
func (v *Value[S, E]) Glance(read func(S, time.Time)) (wait func() error, err error) {
	seen, err := v.viewOn(ofAll(read))
	return func() error { return v.wait(seen, silentAfter, ErrSilent) }, err
}

// LastLine returns the last line that there is, once it is durable.
func (v *Value[S, E]) LastLine() (journal.Head, error) { return v.ViewAt(func(S) {}) }

// ViewAt is View without an instant. It returns the last line that read saw, once that line is durable.
func (v *Value[S, E]) ViewAt(read func(S)) (journal.Head, error) {
	v.mu.Lock()
	if err := v.usable(); err != nil {
		v.mu.Unlock()
		return journal.Head{}, err
	}
	read(v.state)
	seq := v.seq
	head := v.head
	seen := v.newest()
	v.mu.Unlock()
	if err := v.wait(seen, silentAfter, ErrSilent); err != nil {
		return journal.Head{}, err
	}
	if len(seen.entries) > 0 {
		head = seen.entries[seq-seen.entries[0].Seq].Head
	}
	return head, nil
}

// viewOn calls read under the lock, and returns the batch of the line that it rests on.
func (v *Value[S, E]) viewOn(read func(S, time.Time) (line uint64)) (*batch[E], error) {
	v.calls.Add(1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.usable(); err != nil {
		return v.durable, err
	}
	return v.batchOf(read(v.state, v.instant())), nil
}

// batchOf returns the batch that makes a line durable. The lock is held.
func (v *Value[S, E]) batchOf(line uint64) *batch[E] {
	if line <= v.head.Seq {
		return v.durable
	}
	of, _ := slices.BinarySearchFunc(v.handed, line, func(g handed[E], line uint64) int {
		return cmp.Compare(g.written.Head.Seq, line)
	})
	if of < len(v.handed) {
		return v.handed[of].batch
	}
	if b := v.inflight; b != nil && line <= b.last {
		return b
	}
	return v.newest()
}

// Leave begins the time that Close waits for the keeper at most. Requests under way end meanwhile, so that a
// stop does not wait for one after the other.
func (v *Value[S, E]) Leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.leaves.IsZero() {
		v.leaves = time.Now().Add(doubtAfter)
	}
}

// checked returns an error unless the journal's file stands where it was opened.
func (v *Value[S, E]) checked() error {
	if v.cfg.Check == nil {
		return nil
	}
	return v.cfg.Check(v.w.name, v.w.file, v.w.size)
}

// Close lets nobody in any more, waits for what is pending, and closes the journal's file. Unless the journal
// has failed, last sees the value after its last line. last may be nil.
func (v *Value[S, E]) Close(last func(S, journal.Head)) error {
	v.Leave()
	v.mu.Lock()
	if v.closed {
		v.mu.Unlock()
		return ErrClosed
	}
	v.closed = true
	newest := v.newest()
	err := v.err
	v.mu.Unlock()
	if v.lookedAt {
		return nil // nothing was opened
	}
	if err == nil {
		if err = v.wait(newest, time.Until(v.leaves), ErrSilent); err == ErrSilent {
			v.keepFailed(err)
			err = fmt.Errorf("%w: %w", ErrFailed, err)
		}
	}
	close(v.kick)
	<-v.ended
	if err == nil {
		if err = v.checked(); err != nil {
			err = fmt.Errorf("%w: %w", ErrFailed, err)
		}
	}
	if err == nil {
		v.giveBack() // before the last files: on a full disk they need it
		if last != nil {
			last(v.state, v.head)
		}
	}
	return errors.Join(err, v.w.file.Close())
}
