package outbox

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/durable"
	"waybill/store/live"
)

// Without a mail server e-mails become files. Old ones are removed after some days (decision messages.files),
// as nobody else does it: beside a journal of 205 MB they took 1.4 GB. They share a sync.

// manyYoung is how many young letters in a row end a search for old ones. Letters are looked at in the
// order of their lines, so that those after them are younger, but for a few that were written late.
const manyYoung = 1000

// filed are the letters that became files.
type filed struct {
	// mu is held while a letter is written, from the look at whether its passenger is still known on, and
	// while an old one is looked at and removed: in between, another letter must not take its place.
	mu       sync.Mutex
	unsynced map[string]string // names of letters that are not durable yet, by message
	due      time.Time         // the first instant at which a letter is old; zero: not known
}

// file writes a letter as a file, with the instant by the directory's clock. [filed.sync] makes it durable.
// Where the passenger was forgotten since the letter was made there is no message any more, and no file.
func (s *Relay) file(m *ledger.Message, name string, letter []byte) error {
	s.filed.mu.Lock()
	defer s.filed.mu.Unlock()
	var now time.Time
	var known bool
	err := s.Store.Await(s.Base, func(st ledger.State, at time.Time) uint64 {
		now = at
		known = st.Outbox.Find(m.ID) != nil
		return live.All
	})
	if err != nil || !known {
		return err
	}
	err = durable.Put(s.Config.FS, ledger.OutboxDir, name, outbound.Delivered(letter, now))
	if err == nil {
		s.filed.unsynced[m.ID] = name
	}
	return err
}

// sync makes the letters among messages durable, all by one sync. With an error it returns the letters that
// must be written again.
func (f *filed) sync(fsys durable.FS, messages []gone) (lost map[string]bool, err error) {
	lost = map[string]bool{}
	var names []string
	f.mu.Lock()
	for _, m := range messages {
		name, ok := f.unsynced[m.ID]
		if ok {
			delete(f.unsynced, m.ID)
			names = append(names, name)
			lost[m.ID] = true
		}
	}
	f.mu.Unlock()
	if names == nil {
		return nil, nil
	}
	return lost, durable.SyncFiles(fsys, ledger.OutboxDir, names)
}

// RemoveOldLetters removes the e-mails that became files more than LettersDays ago, by the directory's clock.
// Requests do not wait for it. It reads no file before the next letter is old.
func (s *Relay) RemoveOldLetters() error {
	now, err := s.Now()
	if err != nil {
		return err
	}
	s.filed.mu.Lock()
	due := s.filed.due
	s.filed.mu.Unlock()
	if now.Before(due) {
		return nil
	}
	names, err := s.fileNames()
	if err != nil {
		return err
	}
	slices.SortFunc(names, byLine)
	kept := time.Duration(s.Config.LettersDays) * 24 * time.Hour
	next, err := s.removeUntil(names, now.Add(-kept))
	if err != nil {
		return err
	}
	s.filed.mu.Lock()
	s.filed.due = now.Add(kept) // a letter of now is not old before
	if !next.IsZero() {
		s.filed.due = next.Add(kept)
	}
	s.filed.mu.Unlock()
	return nil
}

// removeUntil removes the letters that became files until an instant. It returns the instant of the oldest
// letter that stays; zero if there is none.
func (s *Relay) removeUntil(names []string, until time.Time) (next time.Time, err error) {
	pace := s.Store.Pace()
	removed := 0
	young := 0
	for _, name := range names {
		pace.Step()
		at, gone, failed := s.removeIfOld(name, until)
		err = errors.Join(err, failed)
		if gone {
			removed++
			young = 0
			continue
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
		young++
		if young == manyYoung || s.Base.Err() != nil {
			break
		}
	}
	if removed > 0 {
		err = errors.Join(err, s.Config.FS.SyncDir(ledger.OutboxDir))
	}
	return next, err
}

// removeIfOld removes a letter that became a file until an instant, and reports whether it removed it. Of one
// that stays it returns the instant. A file that is no letter stays, and its instant is zero.
func (s *Relay) removeIfOld(name string, until time.Time) (at time.Time, gone bool, err error) {
	s.filed.mu.Lock()
	defer s.filed.mu.Unlock()
	name = ledger.OutboxDir + "/" + name
	err = durable.Read(s.Config.FS, name, func(from *io.SectionReader) error {
		at, _ = outbound.DeliveredAt(from)
		return nil
	})
	if err == nil && !at.IsZero() && !at.After(until) {
		err = s.Config.FS.Remove(name)
		gone = err == nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return time.Time{}, false, nil // somebody else has removed it
	}
	return at, gone, err
}

// byLine compares names of letters by the lines that the letters are about, the oldest first.
func byLine(a, b string) int {
	return cmp.Or(cmp.Compare(lineOf(a), lineOf(b)), strings.Compare(a, b))
}

// FileCount returns how many e-mails there are as files.
func (s *Relay) FileCount() (int, error) {
	names, err := s.fileNames()
	return len(names), err
}
