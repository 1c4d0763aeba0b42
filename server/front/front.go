// Package front serves a directory: clients on a port, and operators on the directory's socket.
//
// The port is open before the directory is, which may take long: probes hear 503, not a closed port.
//
//	f, err := front.Listen(cfg, "127.0.0.1:8080", nil)
//	err = f.Open()   // the directory and its socket; operators can act
//	f.Serve()        // clients no longer hear 503
//	err = f.Stop()   // requests under way are finished, and the directory is closed
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/operate/admin"
	"waybill/server/operate/desk"
)

// Front is a directory that is served.
type Front struct {
	Addr    string         // host and port that clients find it at
	URL     string         // the same as a URL, without a slash at its end
	IsLocal bool           // only this machine reaches it
	Server  *server.Server // nil before Open

	// Ended has the error of a listener that cannot go on.
	Ended chan error

	cfg       server.Config
	conns     *web.Connections
	gate      gate
	clients   *http.Server
	operators *http.Server
}

// Listen opens a port, whose clients hear 503 until Serve; over TLS if secured. Errors: ErrSocketPath, and
// the system's.
func Listen(cfg server.Config, addr string, secured *tls.Config) (*Front, error) {
	if _, err := Socket(cfg.Dir); err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	return On(cfg, ln, secured), nil
}

// On is Listen on a port that is open already. ln is a *net.TCPListener, and the front's from here on.
func On(cfg server.Config, ln net.Listener, secured *tls.Config) *Front {
	f := &Front{
		Addr:    ln.Addr().String(),
		URL:     "http://" + ln.Addr().String(),
		IsLocal: ln.Addr().(*net.TCPAddr).IP.IsLoopback(),
		Ended:   make(chan error, 2), // one of each server, of clients and of operators
	}
	f.clients = NewServer(&f.gate, cfg.Log)
	most, share := maxConnections(), web.AddressShare
	if cfg.Forked != nil { // whose clients are all on this machine
		most, share = min(most, maxOfWorld), 1
	}
	if cfg.Backlog == nil {
		cfg.Backlog = web.NewBacklog(web.Backlogs)
	}
	conns := web.Listener(ln, most, share, cfg.TrustedProxies, cfg.Backlog)
	conns.Cut = func() { cfg.Log.Info("a connection was closed, as too many are open") }
	f.conns = conns
	f.expect(cfg)
	if secured == nil {
		go func() { f.Ended <- f.clients.Serve(conns) }()
		return f
	}
	f.URL = "https://" + ln.Addr().String()
	f.clients.TLSConfig = secured
	go func() { f.Ended <- f.clients.ServeTLS(conns, "", "") }()
	return f
}

// Open opens the directory, and serves operators. They come before clients: from here on a verb finds the
// server, and does not try the lock.
func (f *Front) Open() error {
	path, err := Socket(f.cfg.Dir)
	if err != nil {
		return err
	}
	f.cfg.Connections = f.conns.Open
	// The socket is there before the first line is written: a start that cannot have it changes nothing.
	var socket net.Listener
	f.cfg.Reserve = func() (err error) {
		socket, err = web.ListenSocket(path)
		return err
	}
	cfg := f.cfg
	cfg.Counts = f.gate.waiting.Load().Counts
	s, err := server.Open(cfg)
	if err != nil {
		if socket != nil {
			err = errors.Join(err, socket.Close())
		}
		return err
	}
	f.operators = serveOperators(socket, s, f.Ended)
	f.Server = s
	return nil
}

// expect has clients hear that a server of the configuration is to come, as that would tell them.
func (f *Front) expect(cfg server.Config) {
	f.cfg = cfg
	f.gate.waiting.Store(server.Unavailable(cfg))
}

// Config returns how the directory is served.
func (f *Front) Config() server.Config { return f.cfg }

// Serve lets clients in: there is something to serve.
func (f *Front) Serve() {
	f.gate.open.Store(&room{Handler: f.Server.Handler()})
}

// Fail ends what serves a directory that can no longer be written. Those who wait are told that the outcome
// is not known.
func (f *Front) Fail() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	f.clients.Shutdown(ctx)
}

// Close ends what serves, without waiting for anybody.
func (f *Front) Close() {
	f.clients.Close()
	if f.operators != nil {
		f.operators.Close()
	}
}

// Stop lets no further request in, waits for those under way, and closes the directory.
func (f *Front) Stop() error {
	f.Server.Drain()
	ctx, cancel := f.drain()
	defer cancel()
	f.gate.shut(ctx)
	err := f.clients.Shutdown(ctx)
	if f.cfg.Forked != nil { // whoever is left is not waited for
		err = f.clients.Close()
	}
	// The store closes last: until then answers wait for it.
	return errors.Join(err, f.operators.Shutdown(ctx), f.Server.Close())
}

// How long requests under way have to end. Those of a world are of the tests that have asked for its end.
const (
	drainTime        = 30 * time.Second
	drainTimeOfWorld = 100 * time.Millisecond
)

// drain returns a context for as long as requests under way have to end.
func (f *Front) drain() (context.Context, context.CancelFunc) {
	within := drainTime
	if f.cfg.Forked != nil {
		within = drainTimeOfWorld
	}
	return context.WithTimeout(context.Background(), within)
}

// Replace has clients at the same address find another directory. The former one is closed, then prepare is
// called, and the one that cfg describes is opened and served. In between clients hear 503.
func (f *Front) Replace(cfg server.Config, prepare func() error) error {
	f.Server.Drain()
	ctx, cancel := f.drain()
	defer cancel()
	f.gate.shut(ctx)
	err := errors.Join(f.operators.Shutdown(ctx), f.Server.Close())
	if err != nil {
		f.Server.Log.Warn("the directory that was replaced did not close cleanly", "err", err)
	}
	f.expect(cfg)
	if err := prepare(); err != nil {
		return err
	}
	if err := f.Open(); err != nil {
		return err
	}
	f.Serve()
	return nil
}

// gate answers 503 until there is a handler behind it, and while it drains.
type gate struct {
	open    atomic.Pointer[room]
	waiting atomic.Pointer[server.Server] // answers 503
}

// room is what serves, and who is in it.
type room struct {
	http.Handler
	underWay sync.RWMutex // each request reads; who shuts the gate writes, for good
}

// shut lets no further request in, and waits for those under way as long as ctx lasts.
func (g *gate) shut(ctx context.Context) {
	was := g.open.Swap(nil)
	if was == nil {
		return
	}
	left := make(chan struct{})
	go func() {
		was.underWay.Lock()
		close(left)
	}()
	select {
	case <-left:
	case <-ctx.Done():
	}
}

// ServeHTTP answers 503 until the directory is open, and again while the last requests are finished.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := g.open.Load(); h != nil && h.underWay.TryRLock() {
		defer h.underWay.RUnlock()
		h.ServeHTTP(w, r)
		return
	}
	g.waiting.Load().ServeHTTP(w, r)
}

// NewServer makes what serves requests. The limits of a connection are in decision requests.slow.
func NewServer(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:     handler,
		ConnContext: web.ConnContext,
		// What net/http reports are clients that break off or speak no HTTP, which anybody can do at will.
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		// OPTIONS * is for the handler, as every request: it has an answer in the service's own form.
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            10 * time.Second,
		ReadTimeout:                  30 * time.Second,
		WriteTimeout:                 time.Minute,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               12 << 10, // net/http allows 4 KiB more: 16 in all
		// Also under TLS: the limits above are of connections, not of HTTP/2's streams.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
}

// serveOperators serves the verbs and the desk on the directory's socket.
func serveOperators(ln net.Listener, s *server.Server, ended chan<- error) *http.Server {
	asked := http.NewServeMux()
	asked.Handle("/", s.Admin.Handler())
	asked.Handle(desk.Prefix+"/", s.Desk.Handler())
	operators := &http.Server{
		Handler:           asked,
		ConnContext:       admin.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		if err := operators.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			ended <- err
		}
	}()
	return operators
}
