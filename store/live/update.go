package live

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"waybill/store/journal"
)

// Update calls decide under the lock, applies the events it returns and journals them, each in a line of its
// own, at the instant given to decide. after, unless it is nil, then sees the state as these events left it.
// Update returns the number of the last of these lines, once all is durable, or with ErrDoubt; an error of
// decide is returned as it is and changes nothing.
//
// Where the lines are larger than the room that is reserved for them, the writer is asked for more, and
// decide is called again: it must start from nothing each time.
func (v *Value[S, E]) Update(decide func(S, time.Time) ([]E, error),
	after func(S, time.Time)) (uint64, error) {
	return v.updateWith(kept, decide, after)
}

// UpdateHere is Update of lines that count once they are on this disk: readings, which change nothing that is
// read. It waits for what it saw to be kept, and not for its own line or those of other readings.
func (v *Value[S, E]) UpdateHere(decide func(S, time.Time) ([]E, error)) (uint64, error) {
	return v.updateWith(here, decide, nil)
}

// place is where lines must be before an update returns.
type place int

const (
	kept place = iota // wherever lines are kept
	here              // on this disk
)

func (v *Value[S, E]) updateWith(where place, decide func(S, time.Time) ([]E, error),
	after func(S, time.Time)) (uint64, error) {
	for {
		seq, err := v.update(where, decide, after)
		heavy, is := errors.AsType[tooHeavy](err)
		if !is {
			return seq, err
		}
		if !v.askForRoom(int64(heavy)) {
			return 0, ErrFull
		}
		// There is room, unless another update has taken it meanwhile; one of them always gets on.
	}
}

// tooHeavy is the error of events whose lines have more bytes than are reserved: so many.
type tooHeavy int64

func (tooHeavy) Error() string { return "store: more bytes are needed than are reserved" }

// wakeWriter wakes the writer. The lock is held, and the value is not closed.
func (v *Value[S, E]) wakeWriter() {
	select {
	case v.kick <- struct{}{}:
	default:
	}
}

// attempt is what one call of decide has come to, under the lock.
type attempt[E any] struct {
	seq   uint64    // of the newest line, this update's or not
	saw   *batch[E] // has the newest line, this update's or not
	rests *batch[E] // has the newest line that changes what is read, of before this update
	err   error     // of decide, or why its events were not taken
	wrote bool      // they were taken
}

// update decides once, and waits.
func (v *Value[S, E]) update(where place, decide func(S, time.Time) ([]E, error),
	after func(S, time.Time)) (uint64, error) {
	x, unusable := v.attempt(where, decide, after)
	if unusable != nil || x.err == ErrSilent {
		return 0, cmp.Or(unusable, x.err)
	}
	if where == here {
		return x.seq, cmp.Or(x.saw.waitHere(), v.wait(x.rests, silentAfter, ErrSilent), x.err)
	}
	within, late := silentAfter, ErrSilent // what changes nothing rests on what it saw
	if x.wrote {
		within, late = doubtAfter, ErrDoubt
	}
	return x.seq, cmp.Or(v.wait(x.saw, within, late), x.err)
}

// attempt calls decide, and applies and hands on what it returns. The error is why the value cannot be used.
func (v *Value[S, E]) attempt(where place, decide func(S, time.Time) ([]E, error),
	after func(S, time.Time)) (x attempt[E], unusable error) {
	v.calls.Add(1)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.usable(); err != nil {
		return x, err
	}
	x.rests = v.batchOf(v.changed)
	events, err := decide(v.state, v.instant())
	if err == nil && len(events) > 0 {
		err = v.commit(where, events, after)
		x.wrote = err == nil
	}
	x.err = err
	x.seq = v.seq
	x.saw = v.newest()
	if where == kept {
		v.changed = v.seq
	}
	return x, nil
}

// commit applies events and hands them to the writer. It takes the room that they need on the disk, so that
// no line is ever begun that cannot be ended. The lock is held.
func (v *Value[S, E]) commit(where place, events []E, after func(S, time.Time)) error {
	if v.lookedAt {
		return ErrLookedAt
	}
	if where == kept {
		if err := v.mayChange(); err != nil {
			return err
		}
	}
	weights := make([]int64, len(events))
	total := int64(0)
	for i, e := range events {
		weights[i] = v.cfg.Weigh(v.state, e)
		total += weights[i]
	}
	if err := v.lacksRoom(total); err != nil {
		return err
	}
	// An Apply that panics or fails leaves a state nobody decided: nothing may build on it.
	whole := false
	defer func() {
		if !whole {
			v.fail(fmt.Errorf("%w: an event could not be applied", ErrFailed))
		}
	}()
	for i, e := range events {
		v.room -= weights[i]
		v.pending.weight += weights[i]
		v.seq++
		stamp := journal.Stamp{Seq: v.seq, Time: v.last}
		if v.cfg.Complete != nil {
			e = v.cfg.Complete(v.state, e)
		}
		if err := v.cfg.Apply(v.state, stamp, e); err != nil {
			v.fail(fmt.Errorf("%w: an event could not be applied: %w", ErrFailed, err))
			return v.err
		}
		v.pending.entries = append(v.pending.entries, entry[E]{journal.Head{Stamp: stamp}, e})
		v.pending.last = v.seq
	}
	if after != nil {
		after(v.state, v.last)
	}
	whole = true
	v.wakeWriter()
	return nil
}

// mayChange returns why nothing that is read may be changed now. The lock is held.
func (v *Value[S, E]) mayChange() error {
	if v.silent() {
		return ErrSilent
	}
	if v.cfg.MayChange != nil {
		return v.cfg.MayChange()
	}
	return nil
}

// usable returns why the store can no longer be used; nil while it can. The lock is held.
func (v *Value[S, E]) usable() error {
	if v.err == nil && v.closed {
		return ErrClosed
	}
	return v.err
}

// SetClock journals an event, of the type journal.KindClock, that sets the clock: time goes on from at, which
// may lie before the last line.
func (v *Value[S, E]) SetClock(at time.Time, e E) error {
	kind, _, _ := v.cfg.Encode(e, nil, nil)
	if kind != journal.KindClock {
		return fmt.Errorf("store: an event of type %q cannot set the clock", kind)
	}
	_, err := v.Update(func(s S, _ time.Time) ([]E, error) {
		if v.mayChange() == nil && v.lacksRoom(v.cfg.Weigh(s, e)) == nil {
			v.last = at.UTC().Truncate(time.Millisecond)
		}
		return []E{e}, nil
	}, nil)
	return err
}

// instant returns the time of a decision, in whole milliseconds; it never falls. The lock is held.
func (v *Value[S, E]) instant() time.Time {
	now := v.cfg.Now(v.state).UTC().Truncate(time.Millisecond)
	if now.After(v.last) {
		v.last = now
	}
	return v.last
}

// newest returns the batch that makes the present state durable. The lock is held.
func (v *Value[S, E]) newest() *batch[E] {
	if len(v.pending.entries) > 0 {
		return v.pending
	}
	if v.inflight != nil {
		return v.inflight
	}
	if n := len(v.handed); n > 0 {
		return v.handed[n-1].batch
	}
	return v.durable
}

// fail makes err final, and releases those whose lines the writer has not taken yet; [Value.finish] does so
// for those whose lines it has. What is on this disk and not kept elsewhere yet still waits for that. The
// lock is held.
func (v *Value[S, E]) fail(err error) {
	if v.err != nil {
		return
	}
	v.err = err
	close(v.failed)
	v.pending.err = err
	close(v.pending.done)
	v.pending = newBatch[E]()
}
