package command

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"
	"waybill/server/ledger"

	"waybill/schedule"
	"waybill/server"
	"waybill/server/command/terminal"
	"waybill/server/frame/words"
	"waybill/server/front"
	"waybill/server/operate/admin"
	"waybill/server/proof/backup"
	"waybill/server/proof/export"
	"waybill/server/proof/verify"
	"waybill/store/checkpoint"
	"waybill/store/durable"
	"waybill/store/inspect"
	"waybill/store/journal"
	"waybill/store/note"
)

// What the verbs do, but serve. First those that only read: they take no lock and work beside a running
// server. Then those that change something, each an operation that the server has too.

// checkpoint writes the newest checkpoint, to the byte as it was signed, or the key that checks it in the
// form that witnesses and other tools take.
func (c *call) checkpoint() (int, error) {
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	// Witnesses know a journal by this, and are told it before they sign anything.
	asJSON := c.get("json").(bool)
	if c.get("key").(bool) {
		if asJSON {
			return exitUsage, errors.New("-json includes the key: leave out -key")
		}
		key, err := newestKey(c.fsys)
		if err == nil {
			fmt.Fprintln(c.Stdout, key)
		}
		return exitFailed, err
	}
	signed, err := checkpoint.Newest(c.fsys)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.New("there is no checkpoint yet; a server makes one when it starts")
	}
	if err == nil && asJSON {
		return exitFailed, c.checkpointAsJSON(signed)
	}
	c.Stdout.Write(signed) // as it is signed, to the byte
	return exitFailed, err
}

// checkpointAsJSON prints what a checkpoint says, beside its text and the key that checks it.
func (c *call) checkpointAsJSON(signed []byte) error {
	public, err := checkpoint.PublicKey(c.fsys)
	if err != nil {
		return err
	}
	x, err := checkpoint.Parse(signed, public)
	if err != nil {
		return journal.InFile(checkpoint.File, err.Error())
	}
	text, err := json.MarshalIndent(map[string]any{
		"origin": x.Origin,
		"seq":    x.Seq,
		"hash":   hex.EncodeToString(x.Hash[:]),
		"time":   x.Time.UTC().Format(journal.TimeLayout),
		"root":   base64.StdEncoding.EncodeToString(x.Root[:]),
		"key":    note.NewKey(x.Origin, public).String(),
		"note":   string(signed),
	}, "", "  ")
	fmt.Fprintf(c.Stdout, "%s\n", text)
	return err
}

// newestKey reads the key that the newest checkpoint of a directory is checked with, and the name.
func newestKey(fsys durable.ReadFS) (note.Key, error) {
	signed, err := checkpoint.Newest(fsys)
	if err != nil {
		return note.Key{}, err
	}
	public, err := checkpoint.PublicKey(fsys)
	if err != nil {
		return note.Key{}, err
	}
	c, err := checkpoint.Parse(signed, public)
	if err != nil {
		return note.Key{}, journal.InFile(checkpoint.File, err.Error())
	}
	return note.NewKey(c.Origin, public), nil
}

// mustBeOutside refuses an OUT in the directory that is read. A copy inside of what is copied would be copied
// too, and the original is to stay as it is.
func (c *call) mustBeOutside() error {
	out := c.Arg(0)
	from, _ := filepath.Abs(c.dir)
	to, _ := filepath.Abs(out)
	inside := strings.HasPrefix(to+"/", from+"/")
	// Either may be called by a link. What is to be written is not there yet.
	from, err := filepath.EvalSymlinks(from)
	if parent, none := filepath.EvalSymlinks(filepath.Dir(to)); cmp.Or(err, none) == nil {
		inside = inside || strings.HasPrefix(filepath.Join(parent, filepath.Base(to))+"/", from+"/")
	}
	if inside {
		return fmt.Errorf("%s is inside the data directory", out)
	}
	return nil
}

// write makes the new directory that a verb names, not in the one it reads, and says what do says of it.
func (c *call) write(do func(out durable.Dir) (said string, err error)) (int, error) {
	if err := cmp.Or(c.mustExist(), c.mustBeOutside()); err != nil {
		return exitFailed, err
	}
	out := c.Arg(0)
	said, err := do(durable.Dir(out))
	if err == nil {
		fmt.Fprintln(c.Stdout, out, said)
	}
	return exitFailed, err
}

// export writes what a directory remembers as tables.
func (c *call) export() (int, error) {
	return c.write(func(out durable.Dir) (string, error) {
		head, err := export.Write(c.fsys, front.StepBackBeside(c.dir, c.StepBack), out)
		schema := filepath.Join(string(out), "schema.sql")
		return fmt.Sprintf("has all lines up to %d, of %s; %s says how to load it",
			head.Seq, head.Time.Format(time.RFC3339), schema), err
	})
}

// backup copies a directory, which may be in use, and checks the copy.
func (c *call) backup() (int, error) {
	return c.write(func(out durable.Dir) (string, error) {
		running := front.StepBackBeside(c.dir, c.StepBack)
		if running { // a copy whose last lines nobody has signed would look like one that was cut
			front.SignFirst(c.dir)
		}
		rep, err := backup.Backup(c.fsys, running, out)
		if err != nil {
			return "", err
		}
		said := "is sound"
		if c.warnOfBooks(&rep) {
			said = "is a true copy"
		}
		return fmt.Sprintf("%s and has all lines up to %d, of %s", said, rep.Head.Seq,
			rep.Head.Time.Format(time.RFC3339)), nil
	})
}

// warnOfBooks says what breaks a rule in a copy whose bytes are good, and reports whether something does.
func (c *call) warnOfBooks(rep *verify.Report) bool {
	if rep.Wrong != nil {
		fmt.Fprintf(c.Stderr, "waybill: books: %v; the copied directory has the same problem\n", rep.Wrong)
	}
	return rep.Wrong != nil
}

// repair copies a damaged directory up to a line, and checks the copy.
func (c *call) repair() (int, error) {
	cutAt := c.get("cut-at").(uint64)
	reason := c.text("reason")
	switch {
	case cutAt < 2:
		return exitUsage, errors.New("-cut-at must be a seq from 2 on")
	case strings.TrimSpace(reason) == "":
		return exitUsage, errors.New("-reason must be given")
	case !utf8.ValidString(reason):
		return exitUsage, errors.New("-reason is not valid UTF-8")
	// What is damaged is not to change meanwhile.
	case front.IsServed(c.dir):
		return exitFailed, errors.New("a server is running on the directory; stop it first")
	}
	cut := inspect.Cut{
		At:     cutAt,
		Reason: reason,
		By:     admin.Self(),
		Force:  c.get("force").(bool),
	}
	return c.write(func(out durable.Dir) (string, error) {
		rep, loss, err := backup.Repair(c.fsys, out, cut)
		if errors.As(err, new(*inspect.UndamagedError)) {
			return "", fmt.Errorf("%w; -force cuts all the same", err)
		}
		if err != nil {
			return "", err
		}
		good := "is sound"
		if c.warnOfBooks(&rep) {
			good = "is good"
		}
		said := fmt.Sprintf("%s and has the lines before %d; line %d says what was "+
			"cut", good, cutAt, rep.Head.Seq)
		if loss.Lines > 0 {
			said += fmt.Sprintf(", including %s that were not damaged", words.Counted(loss.Lines, "line"))
		}
		if n := len(loss.Missing); n > 0 {
			said += fmt.Sprintf("; missing personal parts that no readable line says were erased: %d, "+
				"which line %d names", n, rep.Head.Seq)
		}
		return said, nil
	})
}

// verbOf makes a verb of an admin operation. The operands, by the given names, and the flags, by their own,
// become the fields of the operation's form. Where there is one name it is of all operands, with commas.
func verbOf(op string, operands ...string) func(*call) (int, error) {
	return func(c *call) (int, error) {
		form := url.Values{}
		for i, name := range operands {
			form.Set(name, c.Arg(i))
		}
		if len(operands) == 1 { // there may be several of it
			form.Set(operands[0], strings.Join(c.FlagSet.Args(), ","))
		}
		// Only what differs from the default is sent: the server may be of a version with other defaults.
		c.VisitAll(func(f *flag.Flag) {
			v := f.Value.String()
			if f.Name != "data" && v != f.DefValue {
				form.Set(f.Name, v)
			}
		})
		// The server checks the form too. Here it is a mistake of who types, before anything is asked or
		// opened.
		if err := admin.CheckForm(op, form); err != nil {
			return exitUsage, err
		}
		if err := c.complete(op, form); err != nil {
			return exitFailed, err
		}
		err := c.perform(op, form)
		return exitCode(err), err
	}
}

const passwordPrompt = "Password of a new user (not shown; a user with an account keeps the present one): "

// complete adds to a form what operands and flags do not say: the feed's whole path, for a server that runs
// elsewhere, and the password.
func (p *Process) complete(op string, form url.Values) error {
	switch op {
	case "import":
		feed, err := filepath.Abs(form.Get("feed"))
		form.Set("feed", feed)
		return err
	case "user-add":
		password, err := terminal.ReadPassword(p.Stdin, passwordPrompt, p.Stderr, p.Stop)
		form.Set("password", password)
		return err
	}
	return nil
}

// perform does an operation on the directory, through its server or by itself.
func (c *call) perform(op string, form url.Values) error {
	path, err := front.Socket(c.dir)
	if err == nil && op != "import" {
		err = c.mustExist()
	}
	if err != nil {
		return err
	}
	// A server that runs has the directory, and does it; else it is opened for this one act.
	err = front.Call(path, op, form, c.Stdout)
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) { // there is no server
		if err = c.adminHere(op, form); errors.Is(err, durable.ErrLocked) && front.IsServed(c.dir) {
			err = front.Call(path, op, form, c.Stdout) // one was about to listen
		}
	}
	return err
}

// adminHere opens the directory for one operation; while another verb has it, it tries again for five
// seconds. For an operation that changes nothing it only reads the directory, also where another process has
// that open. An import reads its feed first: one that is refused leaves no trace.
func (c *call) adminHere(op string, form url.Values) error {
	by := admin.Self() // the journal says who did it: here no socket tells, but the process knows
	do := func(s *server.Server) error {
		return s.Admin.Do(op, &admin.Act{
			By:   by,
			Form: form,
			Out:  front.Unheard{Writer: c.Stdout},
		})
	}
	if op == "import" {
		feed, err := admin.ReadFeed(form, front.Unheard{Writer: c.Stdout}, durable.NoPace())
		if err == nil && (feed.Strict || feed.DryRun) && c.mustExist() != nil {
			// A directory that is to be made will have the machine's clock.
			err = feed.Judge(new(schedule.Tables), time.Now(), front.Unheard{Writer: c.Stdout})
			if feed.DryRun {
				return err
			}
		}
		if err != nil {
			return err
		}
		do = func(s *server.Server) error {
			return s.Admin.Adopt(by, feed, front.Unheard{Writer: c.Stdout})
		}
	}
	cfg := server.Config{
		Dir:     c.dir,
		Log:     c.logger(c.Stderr, slog.LevelWarn),
		Lab:     newLab(),
		Verb:    true,
		Program: ledger.ThisProgram(),
	}
	open := server.Open
	if admin.Reads(op, form) {
		open = server.Look
	}
	s, err := open(cfg)
	for end := time.Now().Add(5 * time.Second); errors.Is(err, durable.ErrLocked) && time.Now().Before(end) &&
		!front.IsServed(c.dir); {
		<-time.After(20 * time.Millisecond)
		s, err = open(cfg)
	}
	if err != nil {
		return err
	}
	if err := errors.Join(do(s), s.Close()); err != nil || op != "partner-add" {
		return err
	}
	fmt.Fprintln(c.Stderr, "No server is running. The key is in this directory alone; "+
		"a server with -keep hands it to its keeper when it starts.")
	return nil
}
