package server

import (
	"context"

	"waybill/server/ledger"
	"waybill/store/durable"
)

// Look reads the data directory for one administrative act that changes nothing, and returns a server that
// can do it, by [admin.Executor.Do]. It takes no lock and is handed no way to write: another process may have
// the directory open, and a copy stays one. Errors: those of store.Look, and of the files beside the
// journal.
func Look(cfg Config) (*Server, error) {
	cfg.Verb = true
	cfg.FS = durable.ReadOnly(cfg.web().FS)
	cfg.Lab = nil // there is nothing for it to do
	s := newServer(cfg, cfg.web())
	if err := ledger.LostJournal(s.Config.FS); err != nil {
		return nil, err
	}
	st, err := ledger.Look(s.storeOptions())
	if err != nil {
		return nil, err
	}
	s.Store = st
	s.Base, s.stop = context.WithCancel(context.Background())
	s.Draining, s.drain = context.WithCancel(s.Base)
	if err := s.takeUp(); err != nil {
		return nil, err
	}
	return s, s.openIDP()
}
