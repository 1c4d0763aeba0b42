package command

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"waybill/auth"
	"waybill/auth/oidc"
	"waybill/server"
	"waybill/server/api/reference"
	"waybill/server/command/terminal"
	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/server/ledger"
	"waybill/server/machines/keep"
	"waybill/server/proof/witness"
	"waybill/server/reach/outbound"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
)

// serve answers requests until the process is to end.
func (c *call) serve() (code int, err error) {
	transfers := c.get("max-transfers").(int)
	addr := c.text("addr")
	cfg := server.Config{
		Dir:          c.dir,
		MaxTransfers: transfers,
		Program:      ledger.ThisProgram(),
	}
	cfg.SecureCookies = c.get("secure-cookies").(bool)
	tests, err := c.testBench(addr)
	if err != nil {
		return exitUsage, err
	}
	cfg.Lab = tests.lab()
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
	queue := &terminal.Queue{To: c.Stderr, Log: c.logger}
	defer queue.Flush()
	cfg.Log = c.logger(queue, level)
	if err := c.identityProvider(&cfg); err != nil {
		return exitUsage, err
	}
	if err := cmp.Or(c.peers(&cfg), c.keeper(&cfg, tests)); err != nil {
		return exitUsage, err
	}
	// Who is asked to sign is nobody's secret: a mistake is shown as it is.
	if cfg.Witnesses, err = witness.ParseAll(c.list("witness")); err != nil {
		return exitUsage, fmt.Errorf("-witness %w", err)
	}
	if err := cmp.Or(c.mailPassword(&cfg), c.keySet(cfg.IDP)); err != nil {
		return exitConfig, err
	}
	if err := c.network(&cfg); err != nil {
		return exitUsage, err
	}
	if c.text("tls-cert") == "" {
		return c.listen(cfg, tests, addr, nil)
	}
	// The pair is read now, so that a wrong one is told here and not to the first client, and again for each
	// handshake: certificates are renewed while the server runs.
	pair := &front.Certificate{
		Cert: c.text("tls-cert"),
		Key:  c.text("tls-key"),
		Log:  cfg.Log,
	}
	if _, err := pair.Get(nil); err != nil {
		return exitConfig, err
	}
	return c.listen(cfg, tests, addr, &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: pair.Get,
	})
}

// keeper reads which command keeps the lines, if any does.
func (c *call) keeper(cfg *server.Config, tests *testBench) error {
	cfg.Keep = c.text("keep")
	cfg.Stop = c.Stop
	if cfg.Keep != "" && (tests.controlled() || ledger.HasSeed(durable.Dir(c.dir))) {
		return errors.New("-keep needs a clock that runs by itself: leave out -frozen, -seed and " +
			"-test-control, and use a directory without a seed")
	}
	return nil
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
	cfg.LettersDays = c.get("letters-days").(int)
	if cfg.LettersDays < 1 || cfg.LettersDays > web.MaxLettersDays {
		return fmt.Errorf("-letters-days must be from 1 to %d", web.MaxLettersDays)
	}
	mail := cfg.Mail
	if mail.Addr == "" && (mail.User != "" || mail.TLS != "" || c.text("smtp-password-file") != "") {
		return errors.New("-smtp-user, -smtp-password-file and -smtp-tls need -smtp")
	}
	mail.Addr = cmp.Or(mail.Addr, "localhost:25") // what e-mails that become files come from is checked too
	if _, err := outbound.NewMailer(mail); err != nil {
		return fmt.Errorf("-smtp, -smtp-from, -smtp-tls: %w", err)
	}
	return nil
}

// mailPassword has the password for the mail server read at each sign-in there, and now, so that a wrong file
// is told here and not by the first letter.
func (c *call) mailPassword(cfg *server.Config) error {
	const flag = "smtp-password-file"
	if c.text(flag) == "" {
		return nil
	}
	cfg.Mail.Password = func() (string, error) { return c.passwordIn(flag) }
	_, err := c.passwordIn(flag)
	return err
}

// passwordIn reads the password in the file that a flag names. It has a file because flags and environment of
// a process can be read by others on the machine.
func (c *call) passwordIn(flag string) (string, error) {
	file := c.text(flag)
	text, err := auth.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("-%s: %w", flag, err)
	}
	// Editors end a file with a newline, some with two characters, and some begin it with a mark: none
	// of them is of the password.
	line, _, _ := strings.Cut(string(text), "\n")
	switch line = strings.TrimSuffix(strings.TrimPrefix(line, "\ufeff"), "\r"); {
	case line == "":
		err = fmt.Errorf("-%s: the first line of %s is empty", flag, file)
	case !utf8.ValidString(line) || web.HasControl(line):
		err = fmt.Errorf("-%s: the first line of %s must be UTF-8 without control characters", flag, file)
	}
	return line, err
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

// keySet checks the file of the provider's keys, if it is a file.
func (c *call) keySet(idp *oidc.Client) error {
	err := idp.CheckFile()
	if err != nil {
		err = fmt.Errorf("-idp-jwks %s: %w", c.text("idp-jwks"), err)
	}
	return err
}

// listen serves the directory until the process should end; over TLS if secured. tests is its test bench.
func (c *call) listen(cfg server.Config, tests *testBench, addr string, secured *tls.Config) (int, error) {
	// All ports are open before anything is made: a directory is new only once.
	f, err := front.Listen(cfg, addr, secured)
	if err != nil {
		return exitCode(err), elsewhere(err)
	}
	defer f.Close()
	defer tests.close(cfg.Log)
	if err := tests.listen(); err != nil {
		return exitFailed, err
	}
	if err := f.Open(); err != nil {
		select {
		case <-c.Stop:
			if errors.Is(err, keep.ErrEnded) { // the stop has ended it, and nobody was told anything
				return exitDone, nil
			}
		default:
		}
		if errors.As(err, new(*journal.Damage)) {
			err = inspect.Merged(durable.Dir(cfg.Dir), err)
			err = fmt.Errorf("%w; waybill verify -data %s says what to do", err, durable.ForShell(cfg.Dir))
		}
		return exitCode(err), err
	}
	warn(cfg)
	tests.warn(cfg.Log, f.IsLocal)
	// A server that others can reach has no demo: its key would be known.
	// The demo is there before clients are let in: a server is ready once it has one.
	if err := c.greet(f, cfg, tests); err != nil {
		return exitFailed, errors.Join(err, f.Server.Close())
	}
	// So are the worlds of a start.
	tests.clean(cfg)
	if err := tests.serve(f); err != nil {
		return exitFailed, errors.Join(err, f.Server.Close())
	}
	f.Serve()
	cfg.Log.Info("serving", "addr", f.Addr, "url", f.URL+"/", "data", cfg.Dir)
	stopped := make(chan struct{})
	defer close(stopped)
	go front.BoundMemory(stopped)
	return c.untilStopped(f)
}

// warn says in the log what others can do who should not, as the server is configured.
func warn(cfg server.Config) {
	if cfg.IDP == nil {
		cfg.Log.Warn("no -idp flags: ID tokens of the built-in development provider are trusted; " +
			"anybody who can read the data directory can mint them")
	}
	warnOfHands(cfg)
}

// warnOfHands says in the log which files others can read or reach who should not, and what mends it.
func warnOfHands(cfg server.Config) {
	var open []string
	for _, name := range []string{"checkpoint.key", "keys"} {
		path := filepath.Join(cfg.Dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode()&0o044 != 0 {
			open = append(open, durable.ForShell(path))
		}
	}
	if len(open) > 0 {
		cfg.Log.Warn("other users can read keys of the directory",
			"run", "chmod -R go= "+strings.Join(open, " "))
	}
	dir := filepath.Join(cfg.Dir, "journal")
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && f.Type().IsRegular() && stat.Nlink > 1 {
			cfg.Log.Warn("a file of the journal has another name, too, as in a copy by links: what is "+
				"written here is written there, and what is erased stays there; stop the server before the "+
				"command that mends it", "file", f.Name(), "run", "find "+durable.ForShell(dir)+
				" -type f -links +1 -exec cp -p {} {}.tmp ';' -exec mv {}.tmp {} ';'")
			return
		}
	}
}

// untilStopped waits until the process should end, or something cannot go on, and ends what serves.
func (p *Process) untilStopped(f *front.Front) (int, error) {
	s := f.Server
	select {
	case <-s.Failed():
		f.Fail()
		return exitIO, s.Err()
	case err := <-f.Ended: // a listener is broken, and the journal is not
		return exitFailed, errors.Join(err, s.Close())
	case <-p.Stop:
	}
	s.Log.Info("stopping: requests under way are being finished")
	err := f.Stop()
	if err == nil {
		s.Log.Info("stopped")
	}
	return exitCode(err), err
}

// greet makes the demo in a new directory that only this machine reaches, and says how to begin.
func (p *Process) greet(f *front.Front, cfg server.Config, tests *testBench) error {
	key := ""
	if f.Server.Fresh() && f.IsLocal {
		made, err := front.MakeDemo(f.Server, front.DemoFeed(), io.Discard)
		if err != nil {
			return err
		}
		if err := tests.fill(f.Server, made); err != nil {
			return err
		}
		key = made
	}
	return p.welcome(f.Server, cfg, f.URL, key, tests.commands())
}

// welcome says in the log what there is to do with the directory. To a demo, whose partner has a key, it adds
// a company user, and shows the way to a paid ticket: commands, to be pasted into a shell. Key and password
// are shown this once, with the commands that are of the test bench.
func (p *Process) welcome(s *server.Server, cfg server.Config, base, key, ofBench string) error {
	dir := durable.ForShell(cfg.Dir)
	verb := "waybill partner add -data " + dir + " NAME"
	timetable := ""
	_, err := s.Store.Glance(func(st ledger.State, _ time.Time) { timetable = st.TimetableHash() })
	switch {
	case err != nil:
		return err
	case timetable == "":
		cfg.Log.Info("the data directory has no timetable; import one and add a partner",
			"import", "waybill import -data "+dir+" FEED", "partner", verb)
		return nil
	case key == "":
		cfg.Log.Info("to make another API key", "run", verb)
		return nil
	}
	cfg.Log.Info("a new data directory with the demo network; paste the lines on stdout into another shell " +
		"to book and pay a ticket")
	now, err := s.Now()
	if err != nil {
		return err
	}
	password := auth.NewToken(s.Config.Random)[:16] // less than a token: people type it
	user := auth.Person{
		Email:     reference.DemoUser,
		FirstName: "Demo",
		LastName:  "User",
	}
	if _, err := s.Admin.AddUser(user, password, "zorevia-lines", "ADMIN"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, demoCommands, base, key, password, ofBench,
		now.AddDate(0, 0, 1).Format(time.DateOnly))
	return err
}

const demoCommands = `WAYBILL=%s
KEY=%s
PASSWORD=%s
%scurl -sS -H "Content-Type: application/json" -d '{"email":"demo@example.com","password":"'$PASSWORD'"}' "$WAYBILL/v2/auth/pre-login"
OFFER=$(curl -sS -H "x-api-key: $KEY" "$WAYBILL/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=lviv&departureDate=%s" | sed 's/.*"offers":\[{"id":"\([^"]*\)".*/\1/')
BOOKING=$(curl -sS -H "x-api-key: $KEY" -H "Content-Type: application/json" -d '{"offerId":"'$OFFER'","currency":"UAH","passengers":[{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]}]}' "$WAYBILL/v2/bookings" | sed 's/.*"booking":{"id":"\([^"]*\)".*/\1/')
TICKET=$(curl -sS -X POST -H "x-api-key: $KEY" "$WAYBILL/v2/bookings/$BOOKING/pay" | sed 's/.*"tickets":\[{"id":"\([^"]*\)".*/\1/')
curl -sS -H "x-api-key: $KEY" "$WAYBILL/v2/tickets/$TICKET"
`
