// Package command is the command line: it reads flags and environment, runs
// the server, and carries out the verbs.
//
// A verb that changes something calls the server that has the directory open,
// through DIR/admin.sock, or opens the directory itself when none does. A
// verb that only reads takes no lock and works beside a running server.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"waybill/server"
	"waybill/store"
)

// Exit codes (contract §1). Those from 65 on are those of sysexits.h.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitTorn    = 3
	exitDamaged = 65
	exitLocked  = 73
	exitIO      = 74
	exitConfig  = 78
)

// Process is what a command may use of the process it runs in.
type Process struct {
	Args   []string // without the program's name
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	Env    func(string) (string, bool)
	Demo   fs.FS           // the demo network's feed
	Stop   <-chan struct{} // closed when the process should end
}

// verb is one of the commands.
type verb struct {
	name     string
	operands string
	about    string
	least    int // operands
	most     int
	setup    func(*flag.FlagSet) func(*Process, []string) int
}

func verbs() []verb {
	return []verb{
		{"serve", "", "opens the data directory and serves it until SIGINT or SIGTERM", 0, 0, setupServe},
		{"import", "FEED", "makes a GTFS feed, a directory or .zip, the timetable in force", 1, 1, setupImport},
		{"partner add", "NAME", "prints a new API key of a partner, new or known; only its hash is kept", 1, 1, setupPartnerAdd},
		{"partner list", "", "lists partners and their keys", 0, 0, setupAdmin("partner-list", nil)},
		{"partner revoke", "NAME", "ends the keys of a partner, or one of them", 1, 1, setupPartnerRevoke},
		{"ticket move", "TICKET BOOKING|new", "moves a ticket to another booking of the same partner", 2, 2, setupAdmin("ticket-move", []string{"ticket", "booking"})},
		{"ticket status", "TICKET Confirmed|NotConfirmed|Prepaid", "gives a ticket a status of the carrier's lifecycle", 2, 2, setupAdmin("ticket-status", []string{"ticket", "status"})},
		{"user add", "", "gives a company user an access; a new user's password is the first line of standard input", 0, 0, setupUserAdd},
		{"user list", "", "lists company users and what they may sign in for", 0, 0, setupAdmin("user-list", nil)},
		{"user remove", "EMAIL", "removes a user, or one access, and ends the sessions", 1, 1, setupUserRemove},
		{"idtoken", "", "mints an ID token of the built-in development identity provider", 0, 0, setupIDToken},
		{"key rotate", "", "signs offers with a new key; offers already given stay good", 0, 0, setupAdmin("rotate-keys", nil)},
		{"log", "", "shows the journal as readable history", 0, 0, setupLog},
		{"verify", "", "checks every byte of journal and snapshots, then the books", 0, 0, setupVerify},
		{"version", "", "prints version, Go version, revision and dependencies", 0, 0, setupVersion},
	}
}

// Main runs a command and gives its exit code.
func Main(p *Process) int {
	args := p.Args
	if len(args) == 0 || strings.HasPrefix(args[0], "-") && args[0] != "-h" && args[0] != "-help" && args[0] != "--help" {
		args = append([]string{"serve"}, args...)
	}
	for _, v := range verbs() {
		words := strings.Fields(v.name)
		if len(args) >= len(words) && strings.Join(args[:len(words)], " ") == v.name {
			return p.run(&v, args[len(words):])
		}
	}
	switch args[0] {
	case "-h", "-help", "--help", "help":
		p.usage(p.Stdout)
		return exitDone
	}
	fmt.Fprintf(p.Stderr, "waybill: there is no command %q\n", strings.Join(args[:min(2, len(args))], " "))
	p.usage(p.Stderr)
	return exitUsage
}

func (p *Process) usage(to io.Writer) {
	fmt.Fprint(to, "Waybill distributes bus tickets. Commands (waybill COMMAND -h tells more):\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(to, "  %-16s %s\n", v.name, v.about)
	}
}

func (p *Process) run(v *verb, args []string) int {
	flags := flag.NewFlagSet(v.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	do := v.setup(flags)
	usage := func(to io.Writer) {
		fmt.Fprintf(to, "waybill %s [flags] %s\n%s %s.\n", v.name, v.operands, v.name, v.about)
		flags.SetOutput(to)
		fmt.Fprintf(to, "Each flag can also be given in the environment, as WAYBILL_<FLAG>.\n\n")
		flags.PrintDefaults()
	}
	err := p.fromEnv(flags)
	if err == nil {
		err = flags.Parse(args)
	}
	if errors.Is(err, flag.ErrHelp) {
		usage(p.Stdout)
		return exitDone
	}
	if f := flags.Lookup("data"); err == nil && f != nil && f.Value.String() == "" {
		err = errors.New("-data names no directory")
	}
	if n := flags.NArg(); err == nil && (n < v.least || n > v.most) {
		err = fmt.Errorf("takes %d operands after its flags, not %d", v.least, n)
	}
	if err != nil {
		fmt.Fprintf(p.Stderr, "waybill %s: %v\n", v.name, err)
		usage(p.Stderr)
		return exitUsage
	}
	return do(p, flags.Args())
}

// fromEnv sets the flags that the environment gives; the command line overrides them.
func (p *Process) fromEnv(flags *flag.FlagSet) (err error) {
	flags.VisitAll(func(f *flag.Flag) {
		name := "WAYBILL_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if v, ok := p.Env(name); ok && err == nil {
			if bad := flags.Set(f.Name, v); bad != nil {
				err = fmt.Errorf("%s=%q: %w", name, v, bad)
			}
		}
	})
	return err
}

// fail says what went wrong and gives the exit code.
func (p *Process) fail(code int, err error) int {
	fmt.Fprintf(p.Stderr, "waybill: %v\n", err)
	return code
}

func dataFlag(flags *flag.FlagSet) *string {
	return flags.String("data", "waybill-data", "the data `directory`")
}

// exitCode maps an error of opening or running a directory.
func exitCode(err error) int {
	var damage *store.Damage
	var clock *store.ClockError
	switch {
	case errors.As(err, &damage):
		return exitDamaged
	case errors.Is(err, store.ErrLocked):
		return exitLocked
	case errors.Is(err, store.ErrFailed), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EDQUOT):
		return exitIO
	case errors.Is(err, store.ErrNewer), errors.As(err, &clock), errors.Is(err, server.ErrClock), errors.Is(err, errSocketPath):
		return exitConfig
	}
	return exitFailed
}

var errSocketPath = errors.New("the data directory's path is too long for a socket in it (107 bytes at most, with /admin.sock)")

// socket gives the path of a directory's admin socket.
func socket(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	path := filepath.Join(abs, "admin.sock")
	if len(path) > 107 {
		return "", fmt.Errorf("%w: %s", errSocketPath, path)
	}
	return path, nil
}

// running tells whether a server has the directory open.
func running(dir string) bool {
	path, err := socket(dir)
	if err != nil {
		return false
	}
	c, err := net.Dial("unix", path)
	if err == nil {
		c.Close()
	}
	return err == nil
}

// admin does an operation on the directory, through its server or by itself.
func (p *Process) admin(dir, op string, form url.Values) int {
	path, err := socket(dir)
	if err != nil {
		return p.fail(exitCode(err), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "FORMAT")); err != nil && op != "import" && op != "partner-add" {
		return p.fail(exitFailed, fmt.Errorf("%s is not a data directory", dir))
	}
	err = p.adminCall(path, op, form)
	if none(err) && op == "import" {
		err = p.importHere(path, dir, form)
	} else if none(err) {
		err = p.adminHere(path, dir, op, form)
	}
	if err != nil {
		return p.fail(exitCode(err), err)
	}
	return exitDone
}

// none tells whether an error says that there is no server behind a socket.
func none(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
}

// adminCall asks the server behind the socket.
func (p *Process) adminCall(path, op string, form url.Values) error {
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	resp, err := client.PostForm("http://waybill/"+op, form)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(p.Stdout, resp.Body); err != nil {
		return fmt.Errorf("the server ended before it was done: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New("the server is starting or stopping; try again")
	}
	if text, err := url.QueryUnescape(resp.Trailer.Get(server.AdminError)); text != "" || err != nil {
		return errors.New(text)
	}
	return nil
}

// adminHere opens the directory for one operation.
func (p *Process) adminHere(path, dir, op string, form url.Values) error {
	s, err := p.openHere(dir)
	if errors.Is(err, store.ErrLocked) {
		// A server is about to listen, or another verb is at work.
		return p.adminCall(path, op, form)
	} else if err != nil {
		return err
	}
	return errors.Join(s.Admin(op, form, p.Stdout), s.Close())
}

// importHere opens the directory for an import once the feed has been read: one
// that is refused leaves no trace.
func (p *Process) importHere(path, dir string, form url.Values) error {
	feed, err := server.ReadFeed(form, p.Stdout)
	if err != nil || feed == nil {
		return err
	}
	s, err := p.openHere(dir)
	if errors.Is(err, store.ErrLocked) {
		return p.adminCall(path, "import", form)
	} else if err != nil {
		return err
	}
	return errors.Join(s.Adopt(feed, p.Stdout), s.Close())
}

// lockWait is how long a verb waits for another process to give the directory free.
const lockWait = 5 * time.Second

// openHere opens the directory. While another verb has it, it tries again.
func (p *Process) openHere(dir string) (*server.Server, error) {
	for end := time.Now().Add(lockWait); ; {
		s, err := server.Open(server.Config{Dir: dir, Log: p.logger("warn"), KeepClock: true})
		if !errors.Is(err, store.ErrLocked) || time.Now().After(end) || running(dir) {
			return s, err
		}
		<-time.After(20 * time.Millisecond)
	}
}

// instant reads a time given on the command line.
func instant(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, fmt.Errorf("%q is not an instant as in 2026-11-20T08:30:00Z", s)
	}
	return t, nil
}
