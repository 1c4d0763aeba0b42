package server

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"waybill/server/frame/web"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// What would be random comes from a number, where a test bench says so (decision seed.streams). The directory
// keeps the number, so that a start with a test clock goes on with it.

// ErrSeed is returned by Open for a seed and a directory that has lines already.
var ErrSeed = errors.New("server: a seed is for a new directory, and this one has lines already")

// random returns the random bytes for a purpose; nil are the machine's.
func (cfg *Config) random(purpose string) io.Reader {
	if cfg.Seed == nil {
		return nil
	}
	return cfg.Seed.Stream(purpose)
}

// journalRandom returns the random bytes that the journal's name and key are made from. A world has some of
// its own, whatever its parent has taken; nil are the machine's.
func (cfg *Config) journalRandom() io.Reader {
	if cfg.Forked != nil {
		return cfg.random("journal of " + cfg.Forked.World)
	}
	return cfg.random("journal")
}

// newID returns what makes ids; nil are random.
func (cfg *Config) newID() func() [16]byte {
	ids := cfg.random("ids")
	if ids == nil || cfg.NewID != nil {
		return cfg.NewID
	}
	return func() [16]byte { return web.IDFrom(ids) }
}

// newRequestID returns what makes ids of requests from a seed, or nil. Who watches the server calls when it
// pleases, so that the ids of these requests are apart.
func (cfg *Config) newRequestID() func(path string) [16]byte {
	if cfg.Seed == nil {
		return nil
	}
	probes := cfg.random("probes")
	requests := cfg.random("requests")
	return func(path string) [16]byte {
		if slices.Contains(web.Unlimited, path) {
			return web.IDFrom(probes)
		}
		return web.IDFrom(requests)
	}
}

// keptSeed returns the seed that a directory was made from; nil is none.
func keptSeed(fsys durable.FS) (*seed.Source, error) {
	number, err := ledger.ReadSecret(fsys, ledger.SeedFile, ledger.ParseSeed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return seed.New(number), nil
}

// takeSeed has a directory that was made from a seed go on with it, where there is a test clock.
func (cfg *Config) takeSeed(fsys durable.FS) (resumed bool, err error) {
	if cfg.Seed != nil {
		return false, nil
	}
	kept, err := keptSeed(fsys)
	if err != nil || kept == nil {
		return false, err
	}
	if !cfg.TestClock && !cfg.Verb {
		if cfg.Log != nil {
			cfg.Log.Warn("this directory was made from a seed: whoever knows the number knows its keys")
		}
		return false, nil
	}
	cfg.Seed = kept
	return true, nil
}

// settleSeed keeps the seed of a new directory, and has that of an old one begin anew.
func (s *Server) settleSeed() error {
	switch {
	case s.options.Seed == nil || s.options.Forked != nil:
		return nil
	case s.resumed:
		seq, err := s.Store.Update(func(ledger.State, time.Time) ([]ledger.Entry, error) {
			return nil, nil
		}, nil)
		s.options.Seed.Restart(seq)
		return err
	}
	text := fmt.Appendf(nil, "%d\n", s.options.Seed.Number)
	return durable.PublishText(s.Config.FS, ledger.KeyDir, ledger.SeedFile, text)
}
