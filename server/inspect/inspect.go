// Package inspect reads a data directory and changes nothing in it, beside a server that may have it open: it
// verifies the directory, shows its journal as history ([Log]), exports it as tables, backs it up, and
// repairs a copy of it (contract §1).
package inspect

import (
	"errors"
	"io/fs"

	"waybill/auth"
	"waybill/booking/books"
	"waybill/server/ledger"
	"waybill/store"
	"waybill/store/durable"
)

// Report is what Verify found sound.
type Report struct {
	store.Report
	Books *books.Books // at the last line's time
}

// Verify checks a directory that may be in use: every byte of the journal and its snapshots, its
// checkpoints and what is expected from elsewhere, then the books (contract §1). It only reads.
func Verify(fsys durable.FS, live bool, expected store.Expected) (Report, error) {
	rep, _, err := verify(fsys, live, expected)
	return rep, err
}

// verify does so, and returns the state that the journal leads to.
func verify(
	fsys durable.FS,
	live bool,
	expected store.Expected,
) (rep Report, state *ledger.State, err error) {
	if err := ledger.LostJournal(fsys); err != nil {
		return rep, nil, err
	}
	if _, err := ledger.ReadSecret(fsys, ledger.RingFile, auth.ParseRing); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return rep, nil, err
	}
	rep.Report, err = store.Verify(ledger.StoreConfig(fsys), live, expected, ledger.Check,
		func(s *ledger.State, end store.Stamp) error {
			state = s
			tt, err := ledger.LoadTimetable(fsys, s.TimetableHash)
			if err == nil {
				rep.Books, err = s.Bookings.Audit(tt, end.Time)
			}
			return err
		})
	return rep, state, err
}
