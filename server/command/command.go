// Package command is the command line: it reads flags and environment, runs the server, and carries out the verbs.
//
// A verb that changes something calls the server that has the directory open, through DIR/admin.sock, or opens the
// directory itself when none does. A verb that only reads takes no lock and works beside a running server.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

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
	operands string // one word each
	about    string
	setup    func(*flag.FlagSet) action
}

// An action does what a verb is for, once its flags are read, and gives the exit code.
type action func(p *Process, operands []string) int

func verbs() []verb {
	return []verb{
		{"serve", "", "opens the data directory and serves it until SIGINT or SIGTERM", setupServe},
		{"import", "FEED", "makes a GTFS feed, a directory or .zip, the timetable in force", admin("import", "feed",
			onOff("strict", "change nothing if a row has to be skipped"),
			onOff("dry-run", "only report"),
			onOff("bus-only", "keep only routes of type 3, 200-299 and 700-799"),
			text("fare-per-km", "price rides that no fare matches by distance, as in `EUR:0.06`"))},
		{"partner add", "NAME", "prints a new API key of a partner, new or known; only its hash is kept", admin("partner-add", "name",
			text("company", "the `slugs` of the only companies it may sell, with commas; empty: all"))},
		{"partner list", "", "lists partners, their keys, and when the legacy interface will be gone for them", admin("partner-list", "",
			text("legacy-since", "the `instant` that serve is given, where no server is running"))},
		{"partner revoke", "NAME", "ends the keys of a partner, or one of them", admin("partner-revoke", "name",
			text("key", "only the key with this `name`, as partner list shows it"))},
		{"ticket move", "TICKET BOOKING|new", "moves a ticket to another booking of the same partner", admin("ticket-move", "ticket booking")},
		{"ticket status", "TICKET Confirmed|NotConfirmed|Prepaid", "gives a ticket a status of the carrier's lifecycle", admin("ticket-status", "ticket status")},
		{"user add", "", "gives a company user an access; a new user's password is the first line of standard input", admin("user-add", "",
			text("email", "the user's e-mail `address`"),
			text("first-name", "a new user's first `name`"),
			text("last-name", "a new user's last `name`"),
			text("company", "the `slug` of the company"),
			text("role", "`ADMIN`, who may do everything of the company, or VIEWER, who may sign in"))},
		{"user remove", "EMAIL", "removes a user and ends the user's sessions", admin("user-remove", "email")},
		{"forget", "", "erases names, e-mail addresses and phones from state, journal, snapshots and reports", admin("forget", "",
			text("booking", "of the passengers of the booking with this `id`, and those booked along with them"),
			text("email", "of who was booked with this `address`, or was a user with it"),
			text("reason", "`why`: it stands in the journal"))},
		{"idtoken", "", "mints an ID token of the built-in development identity provider", admin("idtoken", "",
			text("email", "the `address` that the token vouches for"))},
		{"key rotate", "", "signs offers with a new key; offers already given stay good", admin("rotate-keys", "")},
		{"log", "", "shows the journal as readable history", setupLog},
		{"verify", "", "checks every byte of journal and snapshots, then the books", setupVerify},
		{"checkpoint", "", "prints the newest signed checkpoint, to be kept elsewhere", setupCheckpoint},
		{"backup", "OUT", "copies the directory into the new directory OUT, also while a server is running, and checks the copy", setupBackup},
		{"repair", "OUT", "copies what is before a damaged line into the new directory OUT; never in place", setupRepair},
		{"export", "OUT", "writes every entity as CSV and a schema.sql, for databases, into the new directory OUT", setupExport},
		{"version", "", "prints version, Go version, revision and dependencies", setupVersion},
	}
}

// Main runs a command and gives its exit code.
func Main(p *Process) int {
	args := p.Args
	if len(args) > 0 && slices.Contains([]string{"-h", "-help", "--help", "help"}, args[0]) {
		p.usage(p.Stdout)
		return exitDone
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		args = append([]string{"serve"}, args...)
	}
	for _, v := range verbs() {
		words := strings.Fields(v.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return p.run(&v, args[len(words):])
		}
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
	if n := len(strings.Fields(v.operands)); err == nil && flags.NArg() != n {
		err = fmt.Errorf("takes %d operands after its flags, not %d", n, flags.NArg())
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

// end says what went wrong, if anything did, and gives the exit code.
func (p *Process) end(code int, err error) int {
	if err == nil {
		return exitDone
	}
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
	var room *store.NoRoom
	switch {
	case errors.As(err, &damage):
		return exitDamaged
	case errors.Is(err, store.ErrLocked):
		return exitLocked
	case errors.Is(err, store.ErrFailed), errors.As(err, &room), errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EIO), errors.Is(err, syscall.EDQUOT):
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
