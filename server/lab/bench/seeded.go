package bench

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"waybill/server/frame/web"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// What would be random comes from a number, where a test bench says so (decision seed.streams). The directory
// keeps the number, so that a start with a test clock goes on with it.

// random returns the random bytes for a purpose; nil are the machine's.
func (s *Bench) random(purpose string) io.Reader {
	if s.begun.source == nil {
		return nil
	}
	return s.begun.source.Stream(purpose)
}

// journalRandom returns the random bytes that the journal's name and key are made from. A world has some of
// its own, so that what its parent has read does not move them; nil are the machine's.
func (s *Bench) journalRandom() io.Reader {
	if s.forked != nil {
		return s.random("journal of " + s.forked.World)
	}
	return s.random("journal")
}

// useSeed has ids and secrets come from the seed, if there is one. Who watches the server calls when it
// pleases, so that the ids of these requests are apart.
func (s *Bench) useSeed(cfg *web.Config) {
	if s.begun.source == nil {
		return
	}
	cfg.Random = s.random("secrets")
	ids := s.random("ids")
	if cfg.NewID == nil {
		cfg.NewID = func() [16]byte { return web.IDFrom(ids) }
	}
	probes := s.random("probes")
	requests := s.random("requests")
	cfg.NewRequestID = func(path string) [16]byte {
		if slices.Contains(web.Unlimited, path) {
			return web.IDFrom(probes)
		}
		return web.IDFrom(requests)
	}
}

// keptSeed returns the seed that a directory was made from; nil is none.
func keptSeed(fsys durable.ReadFS) (*seed.Source, error) {
	number, err := ledger.ReadSecret(fsys, ledger.SeedFile, ledger.ParseSeed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return seed.New(number), nil
}

// takeSeed has a directory that was made from a seed go on with it, where there is a test clock. A verb goes
// on with it, too: it may make a key.
func (s *Bench) takeSeed(cfg *web.Config) error {
	if s.begun.source != nil {
		return nil
	}
	kept, err := keptSeed(cfg.FS)
	if err != nil || kept == nil {
		return err
	}
	if !s.set.TestClock && !cfg.Verb {
		if cfg.Log != nil {
			cfg.Log.Warn("this directory was made from a seed: its keys follow from the number")
		}
		return nil
	}
	s.begun.source = kept
	s.begun.resumed = true
	return nil
}

// keepSeed keeps the seed of a new directory, and has that of an old one begin anew.
func (s *Bench) keepSeed() error {
	switch {
	case s.begun.source == nil || s.forked != nil:
		return nil
	case s.begun.resumed:
		last, err := s.Store.LastLine()
		s.begun.source.Restart(last.Seq)
		return err
	}
	text := fmt.Appendf(nil, "%d\n", s.begun.source.Number)
	return durable.PublishText(s.Config.FS, ledger.KeyDir, ledger.SeedFile, text)
}
