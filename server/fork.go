package server

import (
	"fmt"
	"time"

	"waybill/server/ledger"
	"waybill/store/durable"
)

// Fork copies the directory, as it is now, into a new one, and returns how to run a server there: with the
// same partners, keys and users, a name of its own, and nothing to send (decision worlds.forks). world and
// from are what a test bench calls the copy and the original. The copy is open to nobody yet.
func (s *Server) Fork(dir, world, from string) (Config, error) {
	cfg := s.options
	cfg.Dir = dir
	cfg.FS = nil
	cfg.StartAt = time.Time{}
	cfg.Witnesses = nil // they know the original
	cfg.Frozen = false  // its clock goes on as it is
	cfg.Forked = &ledger.WorldForked{World: world, From: from}
	err := s.Admin.Alone(func() error {
		if cfg.Seed != nil {
			cfg.Seed = cfg.Seed.Clone()
		}
		err := s.Store.View(func(st ledger.State, _ time.Time) {
			cfg.Loaded = Loaded{
				Hash:      st.TimetableHash(),
				Timetable: st.Timetable(),
			}
		})
		if err != nil {
			return err
		}
		left, err := s.Store.Fork(durable.Dir(dir), ledger.CopiedDirs...)
		cfg.Forked.Origin = left.Origin
		cfg.Forked.Seq = left.Seq
		cfg.Forked.Hash = fmt.Sprintf("%x", left.Hash)
		return err
	})
	return cfg, err
}
