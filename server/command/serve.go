package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/idp"
)

// The limits of a connection (contract §3).
const (
	headerTimeout = 10 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = 60 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 30 * time.Second
	maxHeader     = 16 << 10 // bytes
)

func setupServe(flags *flag.FlagSet) action {
	addr := flags.String("addr", "127.0.0.1:8080", "the `address` to listen on; port 0 picks a free one")
	data := dataFlag(flags)
	clock := flags.String("test-clock", "", "serve a clock that can be moved, starting at `now` or an instant as in 2026-11-20T08:30:00Z")
	transfers := flags.Int("max-transfers", 1, "changes a journey may have, 0 or 1")
	since := flags.String("legacy-since", "", "the `instant` since when the legacy interface is deprecated; without it the directory's creation")
	provider := new(idp.Config)
	flags.StringVar(&provider.Issuer, "idp-issuer", "", "the identity provider's issuer, `exactly` as in its ID tokens; without it the built-in development provider is trusted")
	flags.StringVar(&provider.Audience, "idp-audience", "", "the `audience` of its ID tokens: this service's client id there")
	flags.StringVar(&provider.JWKS, "idp-jwks", "", "the `file or URL` of its key set")
	flags.StringVar(&provider.EmailClaim, "idp-email-claim", "", "the `claim` that holds the e-mail, instead of email")
	flags.StringVar(&provider.UserInfo, "idp-userinfo", "", "the `URL` to ask for the e-mail that an ID token lacks; the token is shown there")
	secure := flags.Bool("secure-cookies", false, "mark cookies Secure: clients come over TLS, which a proxy speaks")
	level := flags.String("log-level", "info", "debug, info, warn or error")
	return func(p *Process, _ []string) int {
		cfg := server.Config{Dir: *data, TestClock: *clock != "", MaxTransfers: *transfers, SecureCookies: *secure}
		usage := func(err error) int { return p.end(exitUsage, err) }
		var err error
		if cfg.TestClock && *clock != "now" {
			if cfg.StartAt, err = instant(*clock); err != nil {
				return usage(fmt.Errorf("-test-clock %w, or now", err))
			}
		}
		if cfg.LegacySince, err = server.ParseLegacySince(*since); err != nil {
			return usage(err)
		}
		if *transfers < 0 || *transfers > 1 {
			return usage(errors.New("-max-transfers must be 0 or 1"))
		}
		if _, port, err := net.SplitHostPort(*addr); err != nil {
			return usage(fmt.Errorf("-addr: %w", err))
		} else if _, err := net.LookupPort("tcp", port); err != nil {
			return usage(fmt.Errorf("-addr: %w", err))
		}
		if cfg.Log = p.logger(*level); cfg.Log == nil {
			return usage(fmt.Errorf("-log-level %q must be debug, info, warn or error", *level))
		}
		if provider.Log = cfg.Log; *provider != (idp.Config{Log: cfg.Log}) {
			if cfg.IDP, err = idp.New(*provider); err != nil {
				return usage(fmt.Errorf("-idp-issuer, -idp-audience, -idp-jwks, -idp-userinfo: %w", err))
			}
		}
		return p.serve(cfg, *addr)
	}
}

// logger gives a log on stderr; nil for a level there is not.
func (p *Process) logger(level string) *slog.Logger {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil
	}
	return slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: l}))
}

// gate answers 503 until the server behind it is open, and while it drains.
type gate struct {
	open     atomic.Pointer[server.Server]
	underWay sync.RWMutex // each request reads; who drains writes
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := g.open.Load()
	if s == nil || !g.underWay.TryRLock() {
		server.Unavailable(w, r)
		return
	}
	defer g.underWay.RUnlock()
	s.ServeHTTP(w, r)
}

// drain lets no further request in, and returns once those under way are done, or ctx is.
func (g *gate) drain(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		g.underWay.Lock()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

func (p *Process) serve(cfg server.Config, addr string) int {
	path, err := socket(cfg.Dir)
	if err != nil {
		return p.end(exitCode(err), err)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return p.end(exitFailed, err)
	}
	g := new(gate)
	web := &http.Server{
		Handler: g, ConnContext: server.ConnContext, ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true, ErrorLog: slog.NewLogLogger(cfg.Log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, 2)
	go func() { ended <- web.Serve(server.Listener(ln)) }()
	defer web.Close()
	s, err := server.Open(cfg)
	if err != nil {
		return p.end(exitCode(err), err)
	}
	admin, err := serveAdmin(path, s, ended)
	if err != nil {
		return p.end(exitFailed, errors.Join(err, s.Close()))
	}
	defer admin.Close()
	if cfg.IDP == nil {
		cfg.Log.Warn("no -idp flags: ID tokens of the built-in development provider are trusted; who can read the data directory can make them")
	}
	demo := s.Fresh() && ln.Addr().(*net.TCPAddr).IP.IsLoopback()
	if demo {
		if err := s.Import(p.Demo, "demo", server.ImportOptions{Strict: true}, io.Discard); err != nil {
			return p.end(exitFailed, errors.Join(fmt.Errorf("the demo network: %w", err), s.Close()))
		}
	}
	g.open.Store(s) // now: to hash a password, as welcome does, takes longer than all the rest
	if err := p.welcome(s, cfg, ln.Addr(), demo); err != nil {
		return p.end(exitFailed, errors.Join(err, s.Close()))
	}
	cfg.Log.Info("serving", "addr", ln.Addr().String(), "data", cfg.Dir)
	select {
	case <-s.Failed():
		// Those who wait are told that the outcome is not known.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		web.Shutdown(ctx)
		return p.end(exitIO, errors.New("the journal cannot be written"))
	case err := <-ended:
		return p.end(exitFailed, errors.Join(err, s.Close()))
	case <-p.Stop:
	}
	cfg.Log.Info("stopping: requests under way are finished")
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	g.drain(ctx)
	if err = errors.Join(web.Shutdown(ctx), admin.Shutdown(ctx), s.Close()); err == nil {
		cfg.Log.Info("stopped")
	}
	return p.end(exitCode(err), err)
}

// serveAdmin serves the verbs on the directory's socket, which only its owner can reach.
func serveAdmin(path string, s *server.Server, ended chan<- error) (*http.Server, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	admin := &http.Server{Handler: s.AdminHandler(), ReadHeaderTimeout: headerTimeout}
	go func() {
		if err := admin.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			ended <- err
		}
	}()
	return admin, nil
}

// welcome says in the log what there is to do with the directory. To a demo it adds a partner and a company user, and
// shows the way to a paid ticket: commands, to be pasted into a shell. Key and password are shown this once.
func (p *Process) welcome(s *server.Server, cfg server.Config, addr net.Addr, demo bool) error {
	verb := "waybill partner add -data " + cfg.Dir + " NAME"
	switch {
	case !s.Fresh():
		cfg.Log.Info("to make another API key", "run", verb)
		return nil
	case !demo:
		cfg.Log.Info("the data directory is new and empty; import a timetable and add a partner", "import", "waybill import -data "+cfg.Dir+" FEED", "partner", verb)
		return nil
	}
	cfg.Log.Info("a new data directory with the demo network; paste the lines on stdout into another shell to book and pay a ticket")
	now, err := s.Now()
	if err != nil {
		return err
	}
	key, err := s.AddPartner("demo", nil)
	if err != nil {
		return err
	}
	password := auth.NewToken()[:16]
	user := auth.Person{Email: "demo@example.com", FirstName: "Demo", LastName: "User"}
	if _, err := s.AddUser(user, password, "zorevia-lines", "ADMIN"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, demoCommands, addr, key, password, now.AddDate(0, 0, 1).Format(time.DateOnly))
	return err
}

const demoCommands = `WAYBILL=http://%s
KEY=%s
PASSWORD=%s
curl -s -w '\n' -H "Content-Type: application/json" -d '{"email":"demo@example.com","password":"'$PASSWORD'"}' "$WAYBILL/v2/auth/pre-login"
OFFER=$(curl -s -H "x-api-key: $KEY" "$WAYBILL/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=%s" | sed 's/.*"offers":\[{"id":"\([^"]*\)".*/\1/')
BOOKING=$(curl -s -H "x-api-key: $KEY" -H "Content-Type: application/json" -d '{"offerId":"'$OFFER'","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}]}' "$WAYBILL/v2/bookings" | sed 's/.*"booking":{"id":"\([^"]*\)".*/\1/')
TICKET=$(curl -s -X POST -H "x-api-key: $KEY" "$WAYBILL/v2/bookings/$BOOKING/pay" | sed 's/.*"tickets":\[{"id":"\([^"]*\)".*/\1/')
curl -s -H "x-api-key: $KEY" "$WAYBILL/v2/tickets/$TICKET"
`
