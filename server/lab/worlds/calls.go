package worlds

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"syscall"
	"time"

	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/ledger/wire"
	"waybill/store"
	"waybill/store/live"
)

// route makes known which calls there are.
func (c *Control) route() {
	calls := map[string]web.Handler{
		"GET /worlds":                             c.list,
		"POST /worlds":                            c.post,
		"GET /worlds/{name}":                      c.get,
		"PUT /worlds/{name}":                      c.put,
		"DELETE /worlds/{name}":                   c.delete,
		"GET /worlds/{name}/outbox":               c.ofWorld((*bench.Bench).GetOutbox),
		"GET /worlds/{name}/requests":             c.ofWorld((*bench.Bench).GetRequests),
		"GET /worlds/{name}/faults":               c.ofWorld((*bench.Bench).GetFaults),
		"PUT /worlds/{name}/faults":               c.ofWorld((*bench.Bench).PutFaults),
		"DELETE /worlds/{name}/faults":            c.ofWorld((*bench.Bench).DeleteFaults),
		"PUT /worlds/{name}/runs/{tripId}/{date}": c.putRun,
	}
	counted := map[string]http.HandlerFunc{}
	for pattern, h := range calls {
		counted[pattern] = c.Public(h)
		c.Mux.HandleFunc(pattern, counted[pattern])
	}
	c.Mux.HandleFunc("/", c.Public(c.NotRouted))
	c.Counts = web.NewCounts(counted)
}

// ServeHTTP answers a call. Pages that a browser has from elsewhere make none: neither by a form, nor by a
// name that leads here.
func (c *Control) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.Frame(w, r, func(rec *web.Recorder, r *http.Request) {
		rec.Header()["Cache-Control"] = web.NoStore // there are messages to passengers among the answers
		if !isLocal(r.Host) || c.CheckOrigin(r) != nil {
			c.Refuse(rec, r, web.ErrForbidden)
			return
		}
		c.Mux.ServeHTTP(rec, r)
	})
}

// isLocal reports whether a Host names this machine to itself.
func isLocal(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	return front.IsLoopback(name)
}

// list answers GET /worlds.
func (c *Control) list(w http.ResponseWriter, _ *http.Request) error {
	c.changing.RLock()
	defer c.changing.RUnlock()
	return web.Reply(w, http.StatusOK, func(out *wire.Writer) {
		wire.Each(out, "worlds", c.all(), func(x *world) {
			out.Object("")
			x.write(out)
			out.EndObject()
		})
	})
}

// write writes the members of a world.
func (w *world) write(out *wire.Writer) {
	s := w.front.Server
	now, _ := s.Now()
	out.String("name", w.name)
	out.String("baseUrl", w.front.URL)
	out.OptionalString("from", w.from)
	out.Time("now", now)
	w.bench.WriteFaults(out)
}

// show answers with a world.
func (w *world) show(to http.ResponseWriter, status int) error {
	return web.Reply(to, status, func(out *wire.Writer) {
		out.Object("world")
		w.write(out)
		out.EndObject()
	})
}

// named returns the world that a call is about.
func (c *Control) named(r *http.Request) (*world, error) {
	w := c.find(r.PathValue("name"))
	if w == nil {
		return nil, web.NotFoundFor("name")
	}
	return w, nil
}

// get answers GET /worlds/{name}.
func (c *Control) get(w http.ResponseWriter, r *http.Request) error {
	c.changing.RLock()
	defer c.changing.RUnlock()
	of, err := c.named(r)
	if err != nil {
		return err
	}
	return of.show(w, http.StatusOK)
}

// ofWorld returns what answers a call by the bench of the world that it is about. On a clock that stands
// still everything that was caused has happened before.
func (c *Control) ofWorld(answer func(*bench.Bench, http.ResponseWriter, *http.Request) error) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		c.changing.RLock()
		defer c.changing.RUnlock()
		of, err := c.named(r)
		if err != nil {
			return err
		}
		s := of.front.Server
		if s.Still.Load() {
			s.RunDue()
		}
		return answer(of.bench, w, r)
	}
}

// worldName is the form of a name: it is a directory's, and stands in a path.
var worldName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// mustBeName is what a name must do.
const mustBeName = "be 1 to 40 of a-z, 0-9, - and _, the first of them a letter or a digit"

// post answers POST /worlds.
func (c *Control) post(w http.ResponseWriter, r *http.Request) error {
	name := ""
	from := Main
	err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("name", func() {
				name = in.Text(worldName.MatchString, mustBeName)
			}),
			wire.May("from", func() { from = in.String() }),
		)
	})
	if err != nil {
		return err
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	made, err := c.makeNamed(name, from)
	if err != nil {
		return err
	}
	return made.show(w, http.StatusCreated)
}

// makeNamed makes a world of a name that none has yet, while nothing else is changed.
func (c *Control) makeNamed(name, from string) (*world, error) {
	of := c.find(from)
	switch {
	case of == nil:
		return nil, web.NotFoundFor("from")
	case c.find(name) != nil:
		return nil, errKnown
	case len(c.all()) > c.most: // main is one of all
		return nil, errMany(c.most)
	case c.closed:
		return nil, web.ErrUnavailable
	}
	if _, err := front.Socket(c.path(name)); err != nil {
		return nil, web.Invalid(
			web.Problem("name", fmt.Sprintf("makes the path of the world's socket too long, "+
				"which may have %d bytes; serve a directory with a shorter path", front.MaxSocketPath)),
		)
	}
	made, err := c.make(name, of)
	return made, noRoom(err)
}

// noRoom returns the answer to a call that failed, or nil. That a disk is full, or a limit of the system
// reached, is no fault of the server's.
func noRoom(err error) error {
	if err == nil {
		return nil
	}
	full := errors.As(err, new(*store.NoRoom))
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, live.ErrFull, syscall.EMFILE, syscall.ENFILE} {
		full = full || errors.Is(err, e)
	}
	if !full {
		return err
	}
	return web.FailLater(http.StatusServiceUnavailable, "UNAVAILABLE",
		"there is no room for a world: the disk is full, or too many files are open", time.Second)
}

// put answers PUT /worlds/{name}.
func (c *Control) put(w http.ResponseWriter, r *http.Request) error {
	from := ""
	err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(wire.Must("from", func() { from = in.String() }))
	})
	c.changing.Lock()
	defer c.changing.Unlock()
	to, missing := c.named(r)
	switch {
	case missing != nil:
		return missing
	case err != nil:
		return err
	}
	if err := c.reset(to, from); err != nil {
		return err
	}
	return to.show(w, http.StatusOK)
}

// reset makes a world a copy of another, while nothing else is changed.
func (c *Control) reset(to *world, from string) error {
	if to.name == Main {
		return errMain
	}
	of := c.find(from)
	if of == nil {
		return web.NotFoundFor("from")
	}
	return noRoom(c.replace(to, of))
}

// delete answers DELETE /worlds/{name}.
func (c *Control) delete(w http.ResponseWriter, r *http.Request) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	gone, err := c.named(r)
	if err != nil {
		return err
	}
	if err := c.drop(gone); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// drop removes a world, while nothing else is changed.
func (c *Control) drop(gone *world) error {
	if gone.name == Main {
		return errMain
	}
	return c.remove(gone)
}
