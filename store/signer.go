package store

import (
	"sync"
	"time"

	"waybill/store/checkpoint"
	"waybill/store/journal"
	"waybill/store/tree"
)

// stem is the tree over the durable lines, and the last of them.
type stem struct {
	mu   sync.Mutex
	head journal.Head
	tree *tree.Tree
}

// grow adds durable lines to the tree, by the bytes that the chain covers.
func (s *stem) grow(chained [][]byte, head journal.Head) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, text := range chained {
		s.tree.Add(tree.Leaf(text))
	}
	s.head = head
}

// top returns the last line, and the root of the tree of all lines so far.
func (s *stem) top() (journal.Head, tree.Hash) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.head, s.tree.Root()
}

// runCheckpoints makes checkpoints until the store is closed. Its clock paces it, and decides nothing.
func (st *Store[S, E]) runCheckpoints() {
	due := time.NewTimer(checkpoint.Quiet) // the line that was journalled at the start
	first := time.Now()
	last := time.Time{}
	for {
		select {
		case _, open := <-st.grown:
			if !open {
				st.unsigned = st.checkpoint()
				return
			}
			now := time.Now()
			if first.IsZero() {
				first = now
			}
			wait := min(checkpoint.Quiet, first.Add(checkpoint.Pause).Sub(now))
			due.Reset(max(wait, last.Add(checkpoint.Pause).Sub(now)))
		case <-due.C:
			first, last = (time.Time{}), time.Now()
			if st.checkpoint() != nil {
				due.Reset(checkpoint.Pause)
			}
		}
	}
}

// checkpoint signs the newest durable line. A checkpoint that cannot be written loses nothing. The hashes of
// the tree come first, so that every line that a note vouches for can be proven.
func (st *Store[S, E]) checkpoint() error {
	st.signing.Lock()
	defer st.signing.Unlock()
	head, root := st.stem.top()
	if head.Seq == st.signer.Signed() {
		return nil
	}
	err := st.stem.tree.Write()
	if err == nil {
		err = st.signer.Sign(&checkpoint.Checkpoint{
			Origin: st.signer.Origin,
			Head:   head,
			Root:   root,
		})
	}
	if err != nil {
		st.cfg.Log.Warn("a checkpoint could not be written; it will be tried again", "err", err)
	}
	return err
}
