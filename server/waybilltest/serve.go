package waybilltest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"waybill/schedule"
	"waybill/server"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/lab/seed"
	"waybill/server/lab/worlds"
	"waybill/server/proof/verify"
	"waybill/store/durable"
	"waybill/store/inspect"
)

// settings say how a server starts.
type settings struct {
	feed fs.FS // nil is the demo's
	at   time.Time
	seed uint64
}

// defaults returns how a server starts that has no options (decision waybilltest.start).
func defaults(t testing.TB) settings {
	name := fnv.New64a()
	io.WriteString(name, t.Name())
	return settings{
		at:   time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		seed: name.Sum64(),
	}
}

// maxTemp is how long the path of a folder may be in which directories are made: that of a socket in such a
// directory has about a hundred bytes at most.
const maxTemp = 60

// newDir returns the path of a directory that does not exist yet, in a folder that goes with the test.
func newDir(t testing.TB) string {
	t.Helper()
	temp := os.TempDir()
	if len(temp) > maxTemp {
		temp = "/tmp"
	}
	folder, err := os.MkdirTemp(temp, "waybilltest")
	if err != nil {
		t.Fatalf("waybilltest: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Errorf("waybilltest: %v", err)
		}
	})
	return filepath.Join(folder, "data")
}

// serve starts a server in a new directory, and returns it with its partner's key. The server's errors go to
// log, and so does the report of the import of a feed that is not the demo's. Nothing is synced: a power cut
// ends the test, too.
func (set *settings) serve(dir string, log io.Writer) (w *worlds.World, key string, err error) {
	if !schedule.IsInYears(set.at) {
		return nil, "", fmt.Errorf("the instant %s is not "+schedule.InYears, set.at)
	}
	b := bench.New(bench.Settings{
		TestClock: true,
		StartAt:   set.at,
		Frozen:    true,
		Seed:      seed.New(set.seed),
		Watch:     true,
	})
	f, err := front.Listen(server.Config{
		Dir:          dir,
		FS:           worlds.Unsynced(dir),
		Log:          slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelError})),
		Lab:          b.Lab(),
		MaxTransfers: 1,
	}, "127.0.0.1:0", nil)
	if err != nil {
		return nil, "", err
	}
	if err := f.Open(); err != nil {
		f.Close()
		return nil, "", err
	}
	if set.feed == nil {
		key, err = front.MakeDemo(f.Server, front.DemoFeed(), io.Discard)
	} else {
		key, err = front.MakeDemo(f.Server, set.feed, log)
	}
	if err != nil {
		return nil, "", errors.Join(err, f.Stop())
	}
	f.Serve()
	return &worlds.World{
		Name:  worlds.Main,
		Front: f,
		Bench: b,
	}, key, nil
}

// newWorld returns a server that is there, and has it end with a test.
func newWorld(t testing.TB, key, dir string, world *worlds.World) *World {
	w := &World{
		URL:   world.Front.URL,
		Key:   key,
		t:     t,
		dir:   dir,
		world: world,
	}
	t.Cleanup(w.end)
	return w
}

// end ends the server, and fails the test where verify would.
func (w *World) end() {
	w.t.Helper()
	if err := w.world.Front.Stop(); err != nil {
		w.t.Errorf("waybilltest: the server did not end well: %v", err)
	}
	_, err := verify.Judge(durable.Dir(w.dir), w.dir, verify.Beside{}, inspect.Expected{}, "")
	if err != nil {
		w.t.Errorf("waybilltest: verify: %v", err)
	}
}
