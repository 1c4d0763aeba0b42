package server

import (
	"errors"
	"io/fs"

	"waybill/auth"
	"waybill/server/ledger"
	"waybill/store"
)

// ErrCopy is returned by Open for a verb that would change a copy, which has no name of its own yet.
var ErrCopy = errors.New("the directory is a copy without a checkpoint.key; serve it first: waybill " +
	"serve gives it its own name")

// ready returns why the directory cannot be served, before a line is written to it or the journal's end is
// mended.
func (s *Server) ready(st ledger.State, found store.Found) error {
	if s.options.Lab == nil && st.Clock().Ever {
		return ErrMovedClock
	}
	if s.options.Verb && found.Copy {
		return ErrCopy
	}
	if err := s.readTimetable(st.TimetableHash()); err != nil {
		return err
	}
	if err := s.keysAreGood(); err != nil {
		return err
	}
	if s.options.Reserve != nil {
		if err := s.options.Reserve(); err != nil {
			return err
		}
	}
	if s.keeper == nil {
		return nil
	}
	return s.keeper.Catch(found.Head)
}

// readTimetable reads the timetable in force, unless the process has it.
func (s *Server) readTimetable(hash string) error {
	if s.loaded.Timetable != nil && s.loaded.Hash == hash {
		return nil
	}
	tt, err := ledger.LoadTimetable(s.Config.FS, hash)
	s.loaded.Hash = hash
	s.loaded.Timetable = tt
	return err
}

// keysAreGood reads the keys that are there. A missing one is made after the first line.
func (s *Server) keysAreGood() error {
	_, err := ledger.ReadSecret(s.Config.FS, ledger.RingFile, auth.ParseSigningKeys)
	bad := []error{err}
	names := []string{ledger.PeerFile, ledger.TicketFile}
	if s.options.IDP == nil {
		names = append(names, ledger.IDPFile)
	}
	for _, name := range names {
		_, err := s.ExistingSecret(name)
		bad = append(bad, err)
	}
	for _, err := range bad {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
