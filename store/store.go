// Package store keeps one value in memory and makes it durable by an append-only, hash-chained journal of
// events in JSON lines. It is generic: S is the state, E is an event, and a [journal.Model] says what they
// mean. The store knows nothing of that. All access goes through closures run under the program's one lock:
//
//	st.View(func(s *State, now time.Time) { … })
//	seq, err := st.Update(func(s *State, now time.Time) ([]Event, error) { … })
//
// No answer shows what a crash could still undo: an update waits until its lines are on the disk, and a view,
// and a refusal, until all that it saw is. Package live, which has the lock and the one writer, says how.
//
// # Files
//
//	FORMAT                        "waybill-journal v3 <origin>\n"
//	LOCK                          flock of the process that has the directory open
//	journal/<first seq>.jsonl     the lines, a new file every 64 MiB, full ones mode 0400
//	snapshots/<seq>.jsonl         the state after a line: a cache, two are kept
//	checkpoint                    the newest signed checkpoint (package checkpoint)
//	checkpoints.log               all of them
//	checkpoint.key, .pub          the key that signs them
//	tree/<level>                  hashes of the tree over the lines (package tree): a cache
//	torn-<seq>-<n>.bin            bytes that a recovery cut off the journal's end
//
// [journal.Line] documents the line format. Opening reads the newest snapshot that can be read, and applies
// the lines after it; one that the journal contradicts is damage. The first bad line is either a torn tail,
// never acknowledged: it is cut, and its bytes are kept; or it is provably damage to durable data:
// [journal.Damage], and nothing is changed. The first failed write or sync of the journal is final
// ([live.ErrFailed]): what a kernel says of a page after a failed sync is worth nothing.
//
// # Packages
//
// Below this package, which opens a directory, signs its lines, writes snapshots, forks and erases:
//
//	live       the write side: the lock, the value, the one writer
//	inspect    whether a directory is as it was written, and copies of it; it needs no write side
//	chain      a journal read from its first line to its end: what it must agree with, one type for each
//	           concern, and the value that its lines lead to
//	checkpoint, note, tree
//	           what is signed, how, and the one hash of all lines that it says
//	journal    the form of lines and files, and single lines
//	durable    the file access that all of this rests on, and the half of it that only reads
package store

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
	"waybill/store/tree"
)

// Dirs are the directories of the store's own files.
var Dirs = []string{"journal", "snapshots", tree.Dir}

// A ClockError is an error of Open: the last line lies too far ahead of the clock.
type ClockError struct{ Last, Now time.Time }

// Error returns both instants.
func (e *ClockError) Error() string {
	return fmt.Sprintf("store: the journal's last line is of %s, but the clock says %s: set it, or "+
		"wait until it says the right time",
		e.Last.Format(journal.TimeLayout), e.Now.Format(journal.TimeLayout))
}

// NoRoom is an error of Open: the disk has too few free bytes to start.
type NoRoom struct{ Missing int64 }

// Error returns how many bytes are missing.
func (e *NoRoom) Error() string {
	return fmt.Sprintf("store: the disk is full: %d more bytes are needed to start", e.Missing)
}

// maxAhead is how far the last line may lie ahead of the clock at Open. The store's time stands still until
// the clock has caught up.
const maxAhead = time.Minute

// Options say where the value is kept, and how. FS and Now are required; no Log is none.
type Options[S any] struct {
	live.Options[S]
	// Ready, unless it is nil, is asked by Open once the journal is read, before a line is written and before
	// its end is mended. Its error ends Open.
	Ready func(S, Found) error
	// Program says in the line of each start what opened the directory; nil: it is not said, as where all
	// bytes come from a seed.
	Program any
	// Still, unless it is nil, reports whether the clock stands still. Then the line of a start does not say
	// which lines are not signed: how far notes had come depends on how fast the machine is.
	Still func(S) bool
	// Witnesses are the names of those whom a server asks to sign too; nil where no server is started.
	Witnesses   []string
	Random      io.Reader         // what the directory's name and key are made from; nil is crypto/rand's
	Snapshotted func(bytes int64) // unless it is nil, is called after each snapshot with its size
}

// Config is what the lines of a store mean, all of it but Complete required, and how the store is kept.
type Config[S, E any] struct {
	journal.Model[S, E]
	Options[S]
}

// Store is an open directory. Its methods may be called from any goroutine; those of the live.Value change
// and show the state.
type Store[S, E any] struct {
	*live.Value[S, E]
	cfg     Config[S, E]
	lock    io.Closer // nil where the directory is only looked at
	created time.Time // of the first line

	grown    chan struct{} // something became durable; closed after the last line
	stem     stem
	signing  sync.Mutex // one checkpoint at a time
	unsigned error      // why a stop could not sign the last lines
	signer   checkpoint.Log

	// What the writer counts for snapshots, once the store is open and has its Value.
	serving bool
	begun   bool  // a journal file was begun since the last snapshot was, or since the start
	since   int64 // bytes written since then

	unerased     unerased
	snapMu       sync.Mutex     // one snapshot at a time
	snapshotting atomic.Bool    // one in the background is under way or waits
	snapBytes    atomic.Int64   // the size of the last one
	background   sync.WaitGroup // checkpoints and snapshots
}

// Created is when the directory was made: the time of its first line.
func (st *Store[S, E]) Created() time.Time {
	return st.created
}

// Pace returns the pace of long work beside the store. The work leaves the machine to those who view and
// update.
func (st *Store[S, E]) Pace() *durable.Pace {
	return &durable.Pace{Calls: st.Calls}
}

// written is called when lines have become durable (live.Durable). It adds their leaves to the tree, and has
// a checkpoint made soon. A snapshot is due with a new file, once as much was written as the last one had:
// the more there is, the rarer.
func (st *Store[S, E]) written(w live.Written) {
	st.stem.grow(w.Chained, w.Head)
	if !st.serving {
		return
	}
	st.since += int64(w.Bytes)
	st.begun = st.begun || w.Begun
	due := st.begun && st.since >= st.snapBytes.Load()
	if due && st.snapshotting.CompareAndSwap(false, true) {
		st.begun = false
		st.since = 0
		st.background.Go(st.snapshotBeside)
	}
	select {
	case st.grown <- struct{}{}:
	default:
	}
}

// Close lets nobody in any more, waits for what is pending, writes a snapshot, which proves the clean end,
// and returns the directory free.
func (st *Store[S, E]) Close() error {
	err := st.Value.Close(func(state S, head journal.Head) {
		if err := st.lastSnapshot(state, head); err != nil {
			st.cfg.Log.Warn("the last snapshot could not be written; the next start reads the whole "+
				"journal", "err", err)
		}
	})
	if err == live.ErrClosed || st.lock == nil {
		return err
	}
	close(st.grown)
	st.background.Wait()
	if err == nil && st.unsigned != nil {
		err = fmt.Errorf("store: the last lines are not signed: %w", st.unsigned)
	}
	st.snapMu.Lock() // a snapshot that was asked for may still be under way
	defer st.snapMu.Unlock()
	return errors.Join(err, st.lock.Close())
}
