// Package worlds keeps copies of a served directory, each a whole server on a port of its own, in one process
// (decision worlds.forks). A tester makes one for each test, has it become again what it was, and throws it
// away.
//
// A world lies in the directory worlds/NAME of the directory that is served. It has a journal, and verify,
// log, backup and every other verb work on it. It is gone with the process: what a killed one has left the
// next start removes.
//
//	c := worlds.Listen(ln, main, b) // main is a *front.Front that is served, with the bench b
//	…
//	err := c.Close()
//
// [Control] answers on a listener of its own, which only this machine reaches.
package worlds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/lab/bench"
)

// Main is the name of the world that is the served directory.
const Main = "main"

// Control answers the calls that make, change and remove worlds.
type Control struct {
	*web.Core
	dir     string // of the worlds
	addr    string // where it listens
	most    int    // how many worlds there may be besides main
	clients *http.Server

	// One world is made, replaced or removed at a time; who only asks one reads.
	changing sync.RWMutex

	mu     sync.Mutex
	worlds map[string]*World // by name; main is one
	closed bool
}

// World is a directory that is served, with its bench.
type World struct {
	Name  string
	From  string // the world it is a copy of; "" is main's
	Front *front.Front
	Bench *bench.Bench
}

// Dir returns where the worlds of a directory lie.
func Dir(dir string) string {
	return filepath.Join(dir, "worlds")
}

// Clean removes the worlds that a killed process has left. Only who has the directory may call it.
func Clean(dir string) error {
	return os.RemoveAll(Dir(dir))
}

// Listen answers calls that come by a listener. main is served already, with the bench b.
func Listen(ln net.Listener, main *front.Front, b *bench.Bench) *Control {
	cfg := main.Config()
	c := &Control{
		Core: web.NewCore(web.Config{
			Log:       cfg.Log,
			TestClock: true,
		}),
		dir:  Dir(cfg.Dir),
		addr: ln.Addr().String(),
		most: front.MaxWorlds(),
		worlds: map[string]*World{
			Main: {
				Name:  Main,
				Front: main,
				Bench: b,
			},
		},
	}
	c.Base, c.Draining = context.Background(), context.Background()
	c.route()
	c.clients = front.NewServer(c, cfg.Log)
	c.clients.WriteTimeout = 10 * time.Minute // a copy of much takes its time
	go c.clients.Serve(ln)
	cfg.Log.Info("worlds", "url", c.URL()+"/worlds")
	return c
}

// URL returns where calls are made, without a slash at its end.
func (c *Control) URL() string {
	return "http://" + c.addr
}

// Close removes all worlds but main.
func (c *Control) Close() error {
	err := c.clients.Close()
	c.changing.Lock()
	defer c.changing.Unlock()
	c.mu.Lock()
	c.closed = true
	list := slices.Collect(maps.Values(c.worlds))
	c.mu.Unlock()
	failed := make([]error, len(list))
	var ends sync.WaitGroup
	for i, w := range list {
		if w.Name != Main {
			ends.Go(func() { failed[i] = c.remove(w) })
		}
	}
	ends.Wait()
	return errors.Join(err, errors.Join(failed...), os.RemoveAll(c.dir))
}

// find returns a world; nil is none.
func (c *Control) find(name string) *World {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.worlds[name]
}

// all returns the worlds, main first, then by name.
func (c *Control) all() []*World {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := slices.Collect(maps.Values(c.worlds))
	slices.SortFunc(list, func(a, b *World) int {
		switch {
		case a.Name == Main:
			return -1
		case b.Name == Main:
			return 1
		}
		return compareNames(a.Name, b.Name)
	})
	return list
}

// compareNames orders names as people count: a2 comes before a10.
func compareNames(a, b string) int {
	x := a
	y := b
	for x != "" && y != "" {
		m, restX := firstPart(x)
		n, restY := firstPart(y)
		order := 0
		if isDigit(x[0]) && isDigit(y[0]) { // of two numbers the longer is the larger
			order = cmp.Compare(len(m), len(n))
		}
		if order = cmp.Or(order, cmp.Compare(m, n)); order != 0 {
			return order
		}
		x = restX
		y = restY
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

// firstPart splits a name behind the number that it begins with, which is returned without its first zeros,
// or else behind its first character.
func firstPart(name string) (part, rest string) {
	if !isDigit(name[0]) {
		return name[:1], name[1:]
	}
	rest = strings.TrimLeft(name, "0123456789")
	return strings.TrimLeft(name[:len(name)-len(rest)], "0"), rest
}

// isDigit reports whether a character of a name is a digit.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// The answers to calls that cannot be.
var (
	errKnown = web.Fail(http.StatusConflict, "CONFLICT",
		"a world of this name exists; PUT makes it another copy")
	errTaken = web.Fail(http.StatusConflict, "CONFLICT",
		"the port is taken; leave out port to get a free one")
	errMain = web.Fail(http.StatusConflict, "CONFLICT",
		"main is what worlds are copied from: it cannot be replaced or removed")
)

// errMany is the answer where there are as many worlds as may be.
func errMany(most int) error {
	return web.Fail(http.StatusConflict, "CONFLICT",
		fmt.Sprintf("there are %d worlds, which is the limit: each keeps files open", most))
}

// make makes a world that is a copy of another as it is now, on a port that is open already. The port is
// closed again where that cannot be.
func (c *Control) make(name string, of *World, ln net.Listener) (*World, error) {
	w := &World{
		Name: name,
		From: of.Name,
	}
	cfg, err := c.fork(w, c.path(name))
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	w.Front, err = serve(cfg, ln)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(cfg.Dir))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.worlds[name] = w
	return w, nil
}

// path returns where a world lies.
func (c *Control) path(name string) string {
	return filepath.Join(c.dir, name)
}

// serve serves a world on a port of its own.
func serve(cfg server.Config, ln net.Listener) (*front.Front, error) {
	f := front.On(cfg, ln, nil)
	if err := f.Open(); err != nil {
		f.Close()
		return nil, err
	}
	f.Serve()
	return f, nil
}

// next is what the name of a directory ends in that is to take the place of a world's.
const next = ".next"

// replace has a world become a copy of another as it is now, at the same address. Until the copy is whole the
// world is as it was.
func (c *Control) replace(w, of *World) error {
	copied := &World{
		Name: w.Name,
		From: of.Name,
	}
	cfg, err := c.fork(copied, c.path(w.Name)+next)
	if err != nil {
		return err
	}
	cfg.Dir = c.path(w.Name)
	cfg.FS = Unsynced(cfg.Dir)
	err = w.Front.Replace(cfg, func() error {
		if err := os.RemoveAll(cfg.Dir); err != nil {
			return err
		}
		return os.Rename(cfg.Dir+next, cfg.Dir)
	})
	if err != nil {
		// It is neither what it was nor what it should be.
		return errors.Join(err, c.remove(w), os.RemoveAll(cfg.Dir+next))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	w.From = of.Name
	w.Bench = copied.Bench
	return nil
}

// remove ends a world, and removes what it had.
func (c *Control) remove(w *World) error {
	c.mu.Lock()
	delete(c.worlds, w.Name)
	c.mu.Unlock()
	err := w.Front.Stop()
	return errors.Join(err, os.RemoveAll(c.path(w.Name)))
}
