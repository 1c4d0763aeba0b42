package worlds

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/lab/bench"
	"waybill/server/ledger"
	"waybill/server/proof/events"
	"waybill/store"
	"waybill/store/durable"
)

// fork copies what a world is to be a copy of into a directory, makes the world's bench, and returns how to
// run a server there.
func (c *Control) fork(w *World, dir string) (server.Config, error) {
	if err := durable.Dir(filepath.Dir(c.dir)).Mkdir(filepath.Base(c.dir)); err != nil {
		return server.Config{}, err
	}
	cfg, b, err := c.find(w.From).copyTo(dir, w.Name)
	w.Bench = b
	cfg.Log = c.Log.With("world", w.Name)
	if err != nil {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	return cfg, err
}

// copyTo copies the world's directory, as it is now, into a new one, and returns how to run a server there:
// with the same partners, keys and users, a name of its own, and nothing to send (decision worlds.forks). The
// copy is open to nobody yet.
func (w *World) copyTo(dir, name string) (cfg server.Config, b *bench.Bench, err error) {
	s := w.Front.Server
	cfg = w.Front.Config()
	cfg.Dir = dir
	cfg.FS = Unsynced(dir)
	cfg.Witnesses = nil // they know the original
	cfg.Forked = &ledger.WorldForked{
		World: name,
		From:  w.Name,
	}
	err = s.Admin.Alone(func() error {
		b = w.Bench.Fork(cfg.Forked)
		err := s.Store.View(func(st ledger.State, _ time.Time) {
			cfg.Loaded = server.Loaded{
				Hash:      st.TimetableHash(),
				Timetable: st.Timetable(),
				LastUses:  auth.LastUses(st.Partners, st.Accounts),
			}
		})
		if err != nil {
			return err
		}
		left, err := s.Store.Fork(cfg.FS, ledger.CopiedDirs...)
		cfg.Forked.Origin = left.Origin
		cfg.Forked.Seq = left.Seq
		cfg.Forked.Hash = fmt.Sprintf("%x", left.Hash)
		if errors.Is(err, store.ErrErasing) {
			err = events.ErrErasing // which says what to do
		}
		return err
	})
	if err == nil {
		cfg.Lab = b.Lab()
	}
	return cfg, b, err
}

// Fork makes a world that is a copy of another as it is now, in a directory that does not exist yet, and
// serves it at a free port of this machine. No Control knows it: the caller stops its Front, and removes the
// directory.
func (w *World) Fork(name, dir string) (*World, error) {
	cfg, b, err := w.copyTo(dir, name)
	if err != nil {
		return nil, err
	}
	ln, err := ListenAt(anyPort)
	if err != nil {
		return nil, err
	}
	f, err := serve(cfg, ln)
	if err != nil {
		return nil, err
	}
	return &World{
		Name:  name,
		From:  w.Name,
		Front: f,
		Bench: b,
	}, nil
}
