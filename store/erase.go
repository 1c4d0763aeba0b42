package store

import (
	"context"
	"slices"
	"sync"
	"time"

	"waybill/store/journal"
	"waybill/store/live"
)

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
// leaves each file old or new, and the next Erase does all of it again, after a start too: that finds in the
// journal what is left, and erases nothing itself. Only one may run at a time.
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
	if err := journal.EraseLines(st.Pace().Files(st.cfg.FS), lines, true); err != nil {
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
