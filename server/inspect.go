package server

import (
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"waybill/booking"
	"waybill/store"
)

// Report is what Verify found sound.
type Report struct {
	store.Report
	Books *booking.Books // at the last line's time
}

// Verify checks a directory that may be in use: every byte of the journal and
// its snapshots, its checkpoints and those kept elsewhere, then the books (contract §1). It only reads.
func Verify(fsys store.FS, live bool, kept []store.Kept) (rep Report, err error) {
	if err := lostJournal(fsys); err != nil {
		return rep, err
	}
	if _, err := readRing(fsys); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return rep, err
	}
	rep.Report, err = store.Verify(StoreConfig(fsys, slog.New(slog.DiscardHandler)), live, kept, check, func(s *State, end store.Stamp) error {
		if keys, _ := fsys.List(keyDir); end.Seq == 0 && len(keys) > 0 {
			return errEmptied
		}
		tt, err := loadTimetable(fsys, s.TimetableHash)
		if err == nil {
			rep.Books, err = s.Bookings.Audit(tt, end.Time)
		}
		return err
	})
	return rep, err
}

// besides are the directories that a directory holds beside the store's files.
var besides = []string{keyDir, timetableDir, reportDir}

// Backup copies a directory that may be in use into a new one, and checks the copy (contract §1).
func Backup(fsys store.FS, live bool, to store.FS) (Report, error) {
	if err := store.Backup(fsys, to, live, besides...); err != nil {
		return Report{}, err
	}
	return Verify(to, false, nil)
}

// Repair copies the lines before cutAt of a directory that nobody has open into a new one, and checks that (contract §1).
func Repair(fsys store.FS, to store.FS, cutAt uint64, reason string) (Report, error) {
	cfg := StoreConfig(fsys, slog.New(slog.DiscardHandler))
	cfg.Now = func(s *State) time.Time { return s.Clock.at(time.Now()) }
	if err := store.Repair(cfg, to, cutAt, reason, besides...); err != nil {
		return Report{}, err
	}
	return Verify(to, false, nil)
}
