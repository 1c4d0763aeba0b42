package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/auth"
	"waybill/auth/oidc"
	"waybill/server"
	"waybill/server/admin"
	"waybill/server/outbound"
	"waybill/server/reference"
	"waybill/server/web"
	"waybill/store"
)

// serve answers requests until the process is to end.
func (c *call) serve() (code int, err error) {
	clock := c.text("test-clock")
	transfers := c.get("max-transfers").(int)
	addr := c.text("addr")
	cfg := server.Config{
		Dir:          c.dir,
		TestClock:    clock != "",
		MaxTransfers: transfers,
	}
	cfg.SecureCookies = c.get("secure-cookies").(bool)
	if cfg.TestClock && clock != "now" {
		if cfg.StartAt, err = instant(clock); err != nil {
			return exitUsage, fmt.Errorf("-test-clock %w, or now", err)
		}
	}
	if cfg.LegacySince, err = web.ParseLegacySince(c.text("legacy-since")); err != nil {
		return exitUsage, err
	}
	if transfers < 0 || transfers > 1 {
		return exitUsage, errors.New("-max-transfers must be 0 or 1")
	}
	// A port may have a name, as http: the system knows it.
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return exitUsage, fmt.Errorf("-addr: %w", err)
	}
	// Everything that is wrong with the flags is said before anything is opened.
	var level slog.Level
	if level.UnmarshalText([]byte(c.text("log-level"))) != nil {
		return exitUsage, fmt.Errorf("-log-level %q must be debug, info, warn or error", c.text("log-level"))
	}
	stderr := &gathered{to: c.Stderr}
	defer stderr.flush()
	cfg.Log = c.logger(stderr, level)
	if err := c.identityProvider(&cfg); err != nil {
		return exitUsage, err
	}
	if err := c.peers(&cfg); err != nil {
		return exitUsage, err
	}
	if err := c.mailPassword(&cfg); err != nil {
		return exitConfig, err
	}
	if err := c.network(&cfg); err != nil {
		return exitUsage, err
	}
	if c.text("tls-cert") == "" {
		return c.listen(cfg, addr, nil)
	}
	// The pair is read now, so that a wrong one is told here and not to the first client, and again for each
	// handshake: certificates are renewed while the server runs.
	pair := &certificate{
		cert: c.text("tls-cert"),
		key:  c.text("tls-key"),
		log:  cfg.Log,
	}
	if _, err := pair.get(nil); err != nil {
		return exitConfig, err
	}
	return c.listen(cfg, addr, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: pair.get,
	})
}

// peers reads whom the server calls.
func (c *call) peers(cfg *server.Config) error {
	cfg.ProviderURL = c.text("provider-url")
	cfg.MessengerURL = c.text("messenger-url")
	// Peers and mailer are made here to hear whether they can be; the server makes its own.
	for _, name := range []string{"provider-url", "messenger-url"} {
		if _, err := outbound.NewPeer(c.text(name), nil, 0); c.text(name) != "" && err != nil {
			return fmt.Errorf("-%s: %w", name, err)
		}
	}
	cfg.Mail = outbound.MailConfig{
		Addr: c.text("smtp"),
		From: c.text("smtp-from"),
		User: c.text("smtp-user"),
		TLS:  c.text("smtp-tls"),
	}
	mail := cfg.Mail
	if mail.Addr == "" && (mail.User != "" || mail.TLS != "" || c.text("smtp-password-file") != "") {
		return errors.New("-smtp-user, -smtp-password-file and -smtp-tls are of a mail " +
			"server, which -smtp names")
	}
	mail.Addr = cmp.Or(mail.Addr, "localhost:25") // what e-mails that become files come from is checked too
	if _, err := outbound.NewMailer(mail); err != nil {
		return fmt.Errorf("-smtp, -smtp-from, -smtp-tls: %w", err)
	}
	return nil
}

// mailPassword reads the password for the mail server. It has a file because flags and environment of a
// process can be read by others on the machine.
func (c *call) mailPassword(cfg *server.Config) error {
	file := c.text("smtp-password-file")
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("-smtp-password-file: %w", err)
	}
	// Editors end a file with a newline, some with two characters: neither is of the password.
	line, _, _ := strings.Cut(string(text), "\n")
	cfg.Mail.Password = strings.TrimSuffix(line, "\r")
	return nil
}

// gate answers 503 until the server behind it is open, and while it drains.
type gate struct {
	open     atomic.Pointer[server.Server]
	underWay sync.RWMutex // each request reads; who stops writes
}

// ServeHTTP answers 503 until the directory is open, and again while the last requests are finished.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := g.open.Load()
	if s == nil || !g.underWay.TryRLock() {
		server.Unavailable(w, r)
		return
	}
	defer g.underWay.RUnlock()
	s.ServeHTTP(w, r)
}

// newWeb makes what serves requests. The limits of a connection are contract §3's.
func newWeb(handler http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:     handler,
		ConnContext: web.ConnContext,
		// What net/http reports are clients that break off or speak no HTTP, which anybody can do at will.
		ErrorLog: slog.NewLogLogger(log.Handler(),
			slog.LevelDebug),
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

// identityProvider reads the -idp flags; without any the development provider is trusted. Its keys are not
// fetched yet: a provider that is down is no reason not to start.
func (c *call) identityProvider(cfg *server.Config) (err error) {
	provider := oidc.Config{
		JWKS: c.text("idp-jwks"),
		Provider: oidc.Provider{
			Issuer:     c.text("idp-issuer"),
			Audience:   c.text("idp-audience"),
			EmailClaim: c.text("idp-email-claim"),
		},
	}
	if provider == (oidc.Config{}) {
		return nil
	}
	provider.Log = cfg.Log
	cfg.IDP, err = oidc.New(provider)
	if err != nil {
		err = fmt.Errorf("-idp-issuer, -idp-audience, -idp-jwks: %w", err)
	}
	return err
}

// listen serves the directory until the process should end; over TLS if secured.
func (p *Process) listen(cfg server.Config, addr string, secured *tls.Config) (int, error) {
	path, err := socket(cfg.Dir)
	if err != nil {
		return exitCode(err), err
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return exitFailed, err
	}
	// The port is open before the directory is, which may take long: probes hear 503, not a closed port.
	g := new(gate)
	front := newWeb(g, cfg.Log)
	conns := web.Listener(ln, maxConnections(), cfg.TrustedProxies)
	cfg.Connections = conns.Open
	// The two servers, of clients and of operators, end here when they fail.
	ended := make(chan error, 2)
	scheme := "http"
	start := front.Serve
	front.TLSConfig = secured
	if secured != nil {
		scheme = "https"
		start = func(ln net.Listener) error {
			return front.ServeTLS(ln, "", "")
		}
	}
	go func() { ended <- start(conns) }()
	defer front.Close()
	s, err := openDirectory(cfg)
	if err != nil {
		return exitCode(err), err
	}
	// Operators come before clients: from here on a verb finds the server, and does not try the lock.
	operators, err := serveAdmin(path, s, ended)
	if err != nil {
		return exitFailed, errors.Join(err, s.Close())
	}
	defer operators.Close()
	if cfg.IDP == nil {
		cfg.Log.Warn("no -idp flags: ID tokens of the built-in development provider are trusted; " +
			"who can read the data directory can make them")
	}
	// A server that others can reach has no demo: its key would be known.
	url := scheme + "://" + ln.Addr().String()
	isLocal := ln.Addr().(*net.TCPAddr).IP.IsLoopback()
	if err := p.greet(s, cfg, url, isLocal); err != nil {
		return exitFailed, errors.Join(err, s.Close())
	}
	// Now there is something to serve: requests no longer hear 503.
	g.open.Store(s)
	cfg.Log.Info("serving", "addr", ln.Addr().String(), "url", url+"/", "data", cfg.Dir)
	stopped := make(chan struct{})
	defer close(stopped)
	go boundMemory(stopped)
	return p.untilStopped(s, g, front, operators, ended)
}

// untilStopped waits until the process should end, or something cannot go on, and ends what serves.
func (p *Process) untilStopped(s *server.Server, g *gate, front, operators *http.Server,
	ended <-chan error) (int, error) {
	select {
	case <-s.Failed():
		// Those who wait are told that the outcome is not known.
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		front.Shutdown(ctx)
		return exitIO, errors.New("the journal cannot be written")
	case err := <-ended: // a listener is broken, and the journal is not
		return exitFailed, errors.Join(err, s.Close())
	case <-p.Stop:
	}
	s.Log.Info("stopping: requests under way are finished")
	s.Drain()
	err := drain(g, front, operators, s)
	if err == nil {
		s.Log.Info("stopped")
	}
	return exitCode(err), err
}

// openDirectory opens the data directory. Where that is damaged, its error says what to do next.
func openDirectory(cfg server.Config) (*server.Server, error) {
	s, err := server.Open(cfg)
	if errors.As(err, new(*store.Damage)) {
		err = fmt.Errorf("%w; waybill verify -data %s says what can be done", err, cfg.Dir)
	}
	return s, err
}

// greet makes the demo in a new directory that only this machine reaches, and says how to begin.
func (p *Process) greet(s *server.Server, cfg server.Config, url string, isLocal bool) error {
	key := ""
	if s.Fresh() && isLocal {
		made, err := p.makeDemo(s)
		if err != nil {
			return err
		}
		key = made
	}
	return p.welcome(s, cfg, url, key)
}

// drain lets no further request in, waits for those under way, and closes.
func drain(g *gate, front, operators *http.Server, s *server.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	drained, done := context.WithCancel(ctx)
	go func() {
		g.underWay.Lock() // held once those under way are done
		done()
	}()
	// The store closes last: until then answers wait for it.
	<-drained.Done()
	return errors.Join(front.Shutdown(ctx), operators.Shutdown(ctx), s.Close())
}

// boundMemory has garbage collected at half again of what lives instead of at twice that, once much does.
// With little in memory that would cost more time than it saves room.
func boundMemory(stopped <-chan struct{}) {
	const much = 256 << 20 // bytes
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-stopped:
			return
		case <-time.After(5 * time.Second):
		}
		if metrics.Read(live); live[0].Value.Uint64() > much {
			debug.SetGCPercent(50)
			return
		}
	}
}

// serveAdmin serves the verbs on the directory's socket, which only its owner can reach.
func serveAdmin(path string, s *server.Server, ended chan<- error) (*http.Server, error) {
	// A socket that a killed server has left. The directory's lock is held, so that it is nobody's.
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	// The directory above is 0700 already; this is for one that was made by hand.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	admin := &http.Server{
		Handler:           s.Admin.Handler(),
		ConnContext:       admin.ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() {
		if err := admin.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
			ended <- err
		}
	}()
	return admin, nil
}

// makeDemo makes a new directory's timetable the demo network, and returns the key of the demo's partner. A
// server is ready once it has them.
func (p *Process) makeDemo(s *server.Server) (key string, err error) {
	if err := s.Admin.Import(p.Demo, "demo", admin.ImportOptions{Strict: true}, io.Discard); err != nil {
		return "", fmt.Errorf("the demo network: %w", err)
	}
	return s.Admin.AddPartner("demo", nil)
}

// welcome says in the log what there is to do with the directory. To a demo, whose partner has a key, it adds
// a company user, and shows the way to a paid ticket: commands, to be pasted into a shell. Key and password
// are shown this once.
func (p *Process) welcome(s *server.Server, cfg server.Config, base, key string) error {
	verb := "waybill partner add -data " + cfg.Dir + " NAME"
	switch {
	case !s.Fresh():
		cfg.Log.Info("to make another API key", "run", verb)
		return nil
	case key == "":
		cfg.Log.Info("the data directory is new and empty; import a timetable and add a partner",
			"import", "waybill import -data "+cfg.Dir+" FEED", "partner", verb)
		return nil
	}
	cfg.Log.Info("a new data directory with the demo network; paste the lines on stdout into another shell " +
		"to book and pay a ticket")
	now, err := s.Now()
	if err != nil {
		return err
	}
	password := auth.NewToken()[:16] // less than a token: people type it
	user := auth.Person{
		Email:     reference.DemoUser,
		FirstName: "Demo",
		LastName:  "User",
	}
	if _, err := s.Admin.AddUser(user, password, "zorevia-lines", "ADMIN"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, demoCommands, base, key, password,
		now.AddDate(0, 0, 1).Format(time.DateOnly))
	return err
}

const demoCommands = `WAYBILL=%s
KEY=%s
PASSWORD=%s
curl -sS -H "Content-Type: application/json" -d '{"email":"demo@example.com","password":"'$PASSWORD'"}' "$WAYBILL/v2/auth/pre-login"
OFFER=$(curl -sS -H "x-api-key: $KEY" "$WAYBILL/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=%s" | sed 's/.*"offers":\[{"id":"\([^"]*\)".*/\1/')
BOOKING=$(curl -sS -H "x-api-key: $KEY" -H "Content-Type: application/json" -d '{"offerId":"'$OFFER'","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}]}' "$WAYBILL/v2/bookings" | sed 's/.*"booking":{"id":"\([^"]*\)".*/\1/')
TICKET=$(curl -sS -X POST -H "x-api-key: $KEY" "$WAYBILL/v2/bookings/$BOOKING/pay" | sed 's/.*"tickets":\[{"id":"\([^"]*\)".*/\1/')
curl -sS -H "x-api-key: $KEY" "$WAYBILL/v2/tickets/$TICKET"
`
