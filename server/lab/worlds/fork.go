package worlds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waybill/server"
	"waybill/server/lab/bench"
	"waybill/server/ledger"
	"waybill/store/durable"
)

// fork copies what a world is to be a copy of into a directory, makes the world's bench, and returns how to
// run a server there.
func (c *Control) fork(w *world, dir string) (server.Config, error) {
	if err := durable.Dir(filepath.Dir(c.dir)).Mkdir(filepath.Base(c.dir)); err != nil {
		return server.Config{}, err
	}
	cfg, b, err := c.find(w.from).copyTo(dir, w.name)
	w.bench = b
	cfg.Log = c.Log.With("world", w.name)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return cfg, err
}

// copyTo copies the world's directory, as it is now, into a new one, and returns how to run a server there:
// with the same partners, keys and users, a name of its own, and nothing to send (decision worlds.forks). The
// copy is open to nobody yet.
func (w *world) copyTo(dir, name string) (cfg server.Config, b *bench.Bench, err error) {
	s := w.front.Server
	cfg = w.front.Config()
	cfg.Dir = dir
	cfg.FS = worldDir(dir)
	cfg.Witnesses = nil // they know the original
	cfg.Forked = &ledger.WorldForked{
		World: name,
		From:  w.name,
	}
	err = s.Admin.Alone(func() error {
		b = w.bench.Fork(cfg.Forked)
		err := s.Store.View(func(st ledger.State, _ time.Time) {
			cfg.Loaded = server.Loaded{
				Hash:      st.TimetableHash(),
				Timetable: st.Timetable(),
			}
		})
		if err != nil {
			return err
		}
		left, err := s.Store.Fork(cfg.FS, ledger.CopiedDirs...)
		cfg.Forked.Origin = left.Origin
		cfg.Forked.Seq = left.Seq
		cfg.Forked.Hash = fmt.Sprintf("%x", left.Hash)
		return err
	})
	if err == nil {
		cfg.Lab = b.Lab()
	}
	return cfg, b, err
}
