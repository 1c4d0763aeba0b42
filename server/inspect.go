package server

import (
	"errors"
	"io/fs"
	"log/slog"

	"waybill/store"
)

// Verify checks a directory that may be in use: every byte of the journal and
// its snapshots, then the books (contract §1). It only reads.
func Verify(fsys store.FS, live bool) (store.Report, error) {
	if err := lostJournal(fsys); err != nil {
		return store.Report{}, err
	}
	if _, err := readRing(fsys); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return store.Report{}, err
	}
	return store.Verify(StoreConfig(fsys, slog.New(slog.DiscardHandler)), live, check, func(s *State, end store.Stamp) error {
		if _, err := loadTimetable(fsys, s.TimetableHash); err != nil {
			return err
		}
		return s.Bookings.Audit(end.Time)
	})
}
