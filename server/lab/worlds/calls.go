package worlds

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/lab/bench"
	"waybill/server/ledger/wire"
	"waybill/server/proof/events"
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
		"DELETE /worlds/{name}/requests":          c.ofWorld((*bench.Bench).DeleteRequests),
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
	return web.IsLoopback(name)
}

// list answers GET /worlds.
func (c *Control) list(w http.ResponseWriter, _ *http.Request) error {
	c.changing.RLock()
	defer c.changing.RUnlock()
	list := c.all()
	at := make([]time.Time, len(list))
	for i, x := range list {
		now, err := x.Front.Server.Now()
		if err != nil {
			return err
		}
		at[i] = now
	}
	return web.Reply(w, http.StatusOK, func(out *wire.Writer) {
		out.Array("worlds")
		for i, x := range list {
			x.write(out, "", at[i])
		}
		out.EndArray()
	})
}

// write writes a world, whose clock is at an instant, as a member of an object; "" is an element of an array.
func (w *World) write(out *wire.Writer, name string, now time.Time) {
	out.Object(name)
	out.String("name", w.Name)
	out.String("baseUrl", w.Front.URL)
	out.OptionalString("from", w.From)
	out.Time("now", now)
	w.Bench.WriteFaults(out)
	out.EndObject()
}

// show answers with a world. The error of one that has just stopped, and has no clock any more, is a 503.
func (w *World) show(to http.ResponseWriter, status int) error {
	now, err := w.Front.Server.Now()
	if err != nil {
		return err
	}
	return web.Reply(to, status, func(out *wire.Writer) {
		w.write(out, "world", now)
	})
}

// named returns the world that a call is about.
func (c *Control) named(r *http.Request) (*World, error) {
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
		s := of.Front.Server
		if s.Still.Load() {
			s.RunDue()
		}
		return answer(of.Bench, w, r)
	}
}

// worldName is the form of a name: it is a directory's, and stands in a path.
var worldName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,39}$`)

// mustBeName is what a name must do.
const mustBeName = "have 1 to 40 characters of a-z, 0-9, - and _, and begin with a letter or a digit"

// post answers POST /worlds.
func (c *Control) post(w http.ResponseWriter, r *http.Request) error {
	name := ""
	from := Main
	port := anyPort
	err := web.ReadBody(w, r, false, func(in *wire.Reader) {
		in.Fields(
			wire.Must("name", func() {
				name = in.Text(worldName.MatchString, mustBeName)
			}),
			wire.May("from", func() { from = in.String() }),
			wire.May("port", func() { port = readPort(in) }),
		)
	})
	if err != nil {
		return err
	}
	c.changing.Lock()
	defer c.changing.Unlock()
	made, err := c.makeNamed(name, from, port)
	if err != nil {
		return err
	}
	return made.show(w, http.StatusCreated)
}

// anyPort is the port of a world that gets a free one.
const anyPort = 0

// readPort reads the port that a world is to have.
func readPort(in *wire.Reader) int {
	const last = 1<<16 - 1
	before := len(in.Problems)
	port := in.Int()
	if len(in.Problems) > before {
		return anyPort
	}
	if port < 1 || port > last {
		in.Reject(fmt.Sprintf("must be from 1 to %d", last))
	}
	return int(port)
}

// ListenAt opens the port of a world, which only this machine reaches.
func ListenAt(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort(thisMachine, strconv.Itoa(port)))
}

// openPort opens the port of a world, or returns the answer to the call that names it.
func openPort(port int) (net.Listener, error) {
	ln, err := ListenAt(port)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, errTaken
	case errors.Is(err, syscall.EACCES):
		return nil, web.Invalid(web.Problem("port", "cannot be opened by the user of the server"))
	}
	return ln, noRoom(err)
}

// thisMachine is the address at which worlds are served.
const thisMachine = "127.0.0.1"

// makeNamed makes a world of a name that none has yet, on a port, while nothing else is changed. The port is
// taken before anything is made.
func (c *Control) makeNamed(name, from string, port int) (*World, error) {
	of, err := c.mayMake(name, from)
	if err != nil {
		return nil, err
	}
	ln, err := openPort(port)
	if err != nil {
		return nil, err
	}
	made, err := c.make(name, of, ln)
	return made, noRoom(err)
}

// mayMake returns the world that a new one is to be a copy of, or why there can be none of the name.
func (c *Control) mayMake(name, from string) (*World, error) {
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
			web.Problem("name", fmt.Sprintf("makes the path of the world's socket longer than %d bytes; "+
				"serve a directory with a shorter path", front.MaxSocketPath)),
		)
	}
	return of, nil
}

// MakeNumbered makes the worlds of a start, world-01 and on, each a copy of main on a port of the list.
func (c *Control) MakeNumbered(ports []net.Listener) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	for i, ln := range ports {
		name := fmt.Sprintf("world-%02d", i+1)
		of, err := c.mayMake(name, Main)
		if err == nil {
			_, err = c.make(name, of, ln)
		}
		if err != nil {
			for _, unused := range ports[i:] {
				unused.Close() // that of the world itself a second time, perhaps
			}
			return fmt.Errorf("the world %s cannot be made: %w", name, err)
		}
	}
	return nil
}

// noRoom returns the answer to a call that failed, or nil. That a disk is full, a limit of the system
// reached, or an erasure not complete, is no fault of the server's.
func noRoom(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, events.ErrErasing) {
		return web.FailLater(http.StatusServiceUnavailable, "UNAVAILABLE", events.ErrErasing.Error(),
			time.Second)
	}
	full := errors.As(err, new(*store.NoRoom))
	for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, live.ErrFull, syscall.EMFILE, syscall.ENFILE} {
		full = full || errors.Is(err, e)
	}
	if !full {
		return err
	}
	return web.FailLater(http.StatusServiceUnavailable, "UNAVAILABLE",
		"there is no room for a world: the disk is full or too many files are open", time.Second)
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
	of := c.find(from)
	switch {
	case missing != nil:
		return missing
	case err != nil:
		return err
	case to.Name == Main:
		return errMain
	case of == nil:
		return web.NotFoundFor("from")
	}
	if err := noRoom(c.replace(to, of)); err != nil {
		return err
	}
	return to.show(w, http.StatusOK)
}

// delete answers DELETE /worlds/{name}.
func (c *Control) delete(w http.ResponseWriter, r *http.Request) error {
	c.changing.Lock()
	defer c.changing.Unlock()
	gone, err := c.named(r)
	if err != nil {
		return err
	}
	if gone.Name == Main {
		return errMain
	}
	if err := c.remove(gone); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
