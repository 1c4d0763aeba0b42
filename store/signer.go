package store

import (
	"sync"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/tree"
)

// stem is the tree over the lines that are durable, and the last of them.
type stem struct {
	mu   sync.Mutex
	head Head
	tree *tree.Files
}

// grow adds lines that have become durable.
func (s *stem) grow(leaves []tree.Hash, head Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, leaf := range leaves {
		s.tree.Add(leaf)
	}
	s.head = head
}

// top returns the last line, and the root of the tree of all lines so far.
func (s *stem) top() (Head, tree.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head, s.tree.Root()
}

const (
	checkpointQuiet = 200 * time.Millisecond // a checkpoint is made so long after the last batch
	// but no more than one in this time, and at least one while there are batches
	checkpointPause = time.Second
)

// runCheckpoints makes checkpoints until the store is closed. Its clock paces it, and decides nothing.
func (st *Store[S, E]) runCheckpoints() {
	due := time.NewTimer(checkpointQuiet) // the line that was journalled at the start
	first := time.Now()
	last := time.Time{}
	for {
		select {
		case _, open := <-st.grown:
			if !open {
				st.checkpoint()
				return
			}
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			wait := min(checkpointQuiet, first.Add(checkpointPause).Sub(now))
			due.Reset(max(wait, last.Add(checkpointPause).Sub(now)))
		case <-due.C:
			first, last = (time.Time{}), time.Now()
			if !st.checkpoint() {
				due.Reset(checkpointPause)
			}
		}
	}
}

// checkpoint signs the newest durable line, and reports whether that went well. One that cannot be written
// loses nothing. The hashes of the tree come first: whatever a note vouches for can be proven.
func (st *Store[S, E]) checkpoint() bool {
	st.signing.Lock()
	defer st.signing.Unlock()
	head, root := st.stem.top()
	if head.Seq == st.signer.Signed() {
		return true
	}
	err := st.stem.tree.Write()
	if err == nil {
		err = st.signer.Sign(&checkpoint.Checkpoint{
			Origin: st.signer.Origin,
			Head:   head,
			Root:   root,
			Rooted: true,
		})
	}
	if err != nil {
		st.cfg.Log.Warn("a checkpoint could not be written; it is tried again", "err", err)
	}
	return err == nil
}
