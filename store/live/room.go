package live

import (
	"errors"
	"syscall"
	"time"

	"waybill/store/durable"
)

const (
	// Reserve is the room, in bytes, that is always reserved beyond the lines in the queue. Without it an
	// update is refused.
	Reserve = 1 << 20
	// that most updates need at most: with less beyond the reserve the disk counts as full
	ordinary = 256 << 10
	// are reserved at a time, where there are as many; more than can be queued meanwhile
	plenty      = 8 << 20
	lookForRoom = 500 * time.Millisecond
)

// allot reserves room in a file beyond a size, and returns the end of that room: plenty bytes where the
// disk has them, or else fewer, but at least least.
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

// takeSearch returns the search for room that an update waits for, nil where none does. Later updates begin
// another.
func (v *Value[S, E]) takeSearch() *search {
	v.mu.Lock()
	defer v.mu.Unlock()
	wanted := v.wanted
	v.wanted = nil
	return wanted
}

// found ends a search.
func (v *Value[S, E]) found(wanted *search, found bool) {
	if wanted != nil {
		wanted.found = found
		close(wanted.done)
	}
}

// makeRoom reserves room on the disk for the lines to come, and for lines that an update waits to hand in.
// It reports whether there is enough for other updates.
func (v *Value[S, E]) makeRoom() bool {
	w := &v.w
	wanted := v.takeSearch()
	least := int64(Reserve + ordinary)
	if wanted != nil {
		least += wanted.bytes
	}
	v.mu.Lock()
	room := v.room
	queued := v.pending.weight
	v.mu.Unlock()
	if room >= plenty/2 && room >= least {
		v.found(wanted, true)
		return true
	}
	end, err := allot(w.file, w.size+queued, least)
	found := err == nil
	if !found && wanted != nil {
		end, err = allot(w.file, w.size+queued, Reserve+ordinary) // for the others
	}
	defer v.found(wanted, found)
	w.end = max(w.end, end)
	v.mu.Lock()
	v.room = w.end - w.size - v.pending.weight
	enough := v.room >= Reserve+ordinary
	v.full = !enough
	v.mu.Unlock()
	switch {
	case enough && w.full:
		v.cfg.Log.Info("there is room on the disk again")
	case !enough && !w.full:
		v.cfg.Log.Warn("the disk is full: changes are refused until there is room", "err", err)
	}
	w.full = !enough
	return enough
}

// A search for room. Updates wait for it whose lines have more bytes than are reserved.
type search struct {
	bytes int64         // the most that one of them needs
	done  chan struct{} // closed once the writer has looked
	found bool          // read after done
}

// askForRoom has the writer reserve room for this many bytes, and reports whether the disk had as much.
// Where the store can no longer be used it reports true: the next try returns why.
func (v *Value[S, E]) askForRoom(bytes int64) (found bool) {
	v.mu.Lock()
	if v.usable() != nil {
		v.mu.Unlock()
		return true
	}
	if v.wanted == nil {
		v.wanted = &search{done: make(chan struct{})}
	}
	wanted := v.wanted
	wanted.bytes = max(wanted.bytes, bytes)
	v.wakeWriter()
	v.mu.Unlock()
	<-wanted.done
	return wanted.found
}

// lacksRoom returns why lines of at most this many bytes cannot be taken: ErrFull, or tooHeavy where the
// writer has to look for more room. It counts the room that is reserved now. After the writer has found no
// more, lines that were under way may have taken less than they weighed. The lock is held.
func (v *Value[S, E]) lacksRoom(bytes int64) error {
	if v.full && v.room < Reserve+ordinary {
		return ErrFull
	}
	if v.room-bytes < Reserve {
		return tooHeavy(bytes)
	}
	return nil
}

// moveRoom reserves room in a new file for the batch that is being written and for all pending lines, and
// returns the end of that room. From then on the room is the new file's.
func (v *Value[S, E]) moveRoom(f durable.File) (end int64, err error) {
	now := int64(len(v.w.buf))
	v.mu.Lock()
	queued := v.pending.weight
	v.mu.Unlock()
	if end, err = allot(f, now+queued, Reserve); err != nil {
		return 0, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	room := end - now - v.pending.weight
	if room < 0 { // more has come meanwhile than there is room for
		return 0, syscall.ENOSPC
	}
	v.room = room
	return end, nil
}

// giveBack releases the room reserved in the file that is to be closed.
func (v *Value[S, E]) giveBack() {
	if err := v.w.file.Truncate(v.w.size); err != nil {
		v.cfg.Log.Warn("reserved disk space could not be released", "err", err)
	}
}
