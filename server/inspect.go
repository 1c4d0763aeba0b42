package server

import (
	"errors"
	"io/fs"
	"log/slog"

	"waybill/store"
)

// Verify checks a directory that may be in use: every byte of the journal and
// its snapshots, its checkpoints and those kept elsewhere, then the books (contract §1). It only reads.
func Verify(fsys store.FS, live bool, kept []store.Kept) (store.Report, error) {
	if err := lostJournal(fsys); err != nil {
		return store.Report{}, err
	}
	if _, err := readRing(fsys); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return store.Report{}, err
	}
	return store.Verify(StoreConfig(fsys, slog.New(slog.DiscardHandler)), live, kept, check, func(s *State, end store.Stamp) error {
		if _, err := loadTimetable(fsys, s.TimetableHash); err != nil {
			return err
		}
		return s.Bookings.Audit(end.Time)
	})
}
