package live

import (
	"errors"
	"fmt"
	"time"

	"waybill/store/journal"
)

// Where Config.Keep is set, lines count as durable only once another place has them too. The writer hands
// them over after its own sync and goes on with the next; who waits for them waits until keptTo says that
// they are kept. They are released in their order, whole batches at a time.

// How long, in real seconds, an answer waits for the other place.
const (
	silentAfter = 5 * time.Second  // from then on it is silent: nothing is changed any more
	doubtAfter  = 30 * time.Second // then a change that is in the journal is answered with a doubt
)

var (
	// ErrSilent is returned while the place that keeps the lines does not say that it has them. It has
	// changed nothing, and what was read is not shown. Its words are for whoever types a verb.
	ErrSilent = errors.New("the second machine that keeps the journal does not answer")
	// ErrDoubt is returned by an update whose lines are on this disk, and not known to be kept elsewhere.
	ErrDoubt = errors.New("store: it is not known whether this was done")
)

// handed is a batch that was handed over, and is not kept yet.
type handed[E any] struct {
	batch   *batch[E]
	written Written
	at      time.Time
}

// handOver gives the lines of a batch that is on this disk to the keeper.
func (v *Value[S, E]) handOver(b *batch[E], w Written) {
	v.mu.Lock()
	v.inflight = nil
	close(b.here)
	v.room = v.w.end - v.w.size - v.pending.weight
	dead := v.err
	if dead == nil {
		v.handed = append(v.handed, handed[E]{b, w, time.Now()})
	}
	v.mu.Unlock()
	if dead != nil {
		b.end(dead)
		return
	}
	v.give(w.Lines)
}

// keptTo says that the keeper has all lines up to one for good. One goroutine at a time calls it.
func (v *Value[S, E]) keptTo(seq uint64) {
	v.kept.Store(max(seq, v.kept.Load()))
	for {
		v.mu.Lock()
		if len(v.handed) == 0 || v.handed[0].written.Head.Seq > seq {
			v.mu.Unlock()
			return
		}
		first := v.handed[0]
		v.mu.Unlock()
		v.cfg.Durable(first.written)
		v.mu.Lock()
		if len(v.handed) > 0 { // the keeper has not failed meanwhile
			v.handed = v.handed[1:]
			v.head = first.written.Head
			first.batch.end(nil)
		}
		v.mu.Unlock()
	}
}

// keepFailed makes the failure of the keeper final: what is not kept is acknowledged to nobody.
func (v *Value[S, E]) keepFailed(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.err != nil {
		return
	}
	v.cfg.Log.Error("the keeper has failed; no change is acknowledged from now on", "err", err)
	v.fail(fmt.Errorf("%w: the keeper: %w", ErrFailed, err))
	for _, g := range v.handed {
		g.batch.end(v.err)
	}
	v.handed = nil
}

// Waiting returns how many lines the keeper has yet to confirm, and since when the oldest of them was given
// to it.
func (v *Value[S, E]) Waiting() (lines int, since time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, g := range v.handed {
		lines += len(g.batch.entries)
	}
	if len(v.handed) > 0 {
		since = v.handed[0].at
	}
	return lines, since
}

// Newest returns the last line that is durable by now. Its error is that of a value that can no longer be
// used.
func (v *Value[S, E]) Newest() (journal.Head, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.head, v.usable()
}

// Silent reports whether the keeper has not said for 5 seconds that it has the oldest line that it was given.
func (v *Value[S, E]) Silent() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.silent()
}

// silent is Silent where the lock is held.
func (v *Value[S, E]) silent() bool {
	return len(v.handed) > 0 && time.Since(v.handed[0].at) >= silentAfter
}

// firstLines returns the lines of the store's own that a start has written, as a batch.
func firstLines[E any](lines []journal.Line) *batch[E] {
	b := newBatch[E]()
	for i := range lines {
		b.entries = append(b.entries, entry[E]{Head: lines[i].Head})
	}
	return b
}
