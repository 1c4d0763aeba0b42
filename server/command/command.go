// Package command is the command line: it reads flags and environment, runs the server, and carries out the
// verbs.
//
// A verb that changes something calls the server that has the directory open, through DIR/admin.sock, or
// opens the directory itself when none does. A verb that only reads takes no lock and works beside a running
// server. Some ask a server as its clients do, wherever it is.
//
// [Main] finds the verb in the table verbs, reads its flags from the environment and the command line, and
// calls what the table names. What a verb returns is the exit code and an error, which is printed in one
// line. The verbs themselves do little: what they do is a function of a room, which knows no flags.
package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"waybill/server"
	"waybill/server/command/terminal"
	"waybill/server/front"
	"waybill/server/ledger"
	"waybill/server/machines/keep"
	"waybill/server/machines/standby"
	"waybill/server/operate/stand"
	"waybill/store"
	"waybill/store/durable"
	"waybill/store/journal"
	"waybill/store/live"
)

// Exit codes (decision verbs.exits). Those from 65 on are those of sysexits.h, so that a supervisor can tell
// what a restart may mend from what it cannot.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitTorn    = 3
	exitDamaged = 65
	exitLocked  = 73
	exitIO      = 74
	exitBehind  = 75
	exitConfig  = 78
)

// Process is what a command may use of the process it runs in.
type Process struct {
	Args           []string // without the program's name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(string) (string, bool)
	Stop           <-chan struct{} // closed when the process should end
	StepBack       func()          // leaves the machine to other processes
}

// call is a verb with its flags and operands read.
type call struct {
	*Process
	*flag.FlagSet
	verb *verb
	dir  string         // the data directory
	fsys durable.ReadFS // the same, to be read
}

// Main runs a command and returns its exit code.
func Main(p *Process) int {
	// Without a verb, or with flags alone, the demo is served: that is how a newcomer starts.
	args := p.Args
	switch {
	case len(args) > 0 && isHelp(args[0]):
		return p.help(args[1:])
	case len(args) > 1 && args[0] == "complete":
		return p.completeWord(args[1:])
	case len(args) > 0 && slices.Contains([]string{"-version", "--version"}, args[0]):
		args = []string{"version"}
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		args = append([]string{"serve"}, args...)
	}
	// Verbs have one word or two.
	if v, operands := find(args); v != nil {
		return p.run(v, operands)
	}
	if members := group(args[0]); members != nil {
		if len(args) > 1 && isHelp(args[1]) {
			p.list(p.Stdout, members)
			return exitDone
		}
		if len(args) == 1 {
			return p.wrong("%s is a group of commands: %s; %q says more", args[0], names(members),
				"waybill help "+args[0])
		}
	}
	return p.unknown(args)
}

// isHelp reports whether an argument asks for help.
func isHelp(arg string) bool {
	return slices.Contains([]string{"-h", "-help", "--help", "help"}, arg)
}

// find returns the verb that a command line starts with, and what follows it; nil where it starts with none.
// The verb may be one that is not in this build.
func find(args []string) (*verb, []string) {
	for i := range table {
		words := strings.Fields(table[i].name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return &table[i], args[len(words):]
		}
	}
	return nil, nil
}

// group returns the verbs whose names start with a word and go on, as those of partner do, by their names.
func group(word string) (members []verb) {
	for _, v := range verbs {
		if strings.HasPrefix(v.name, word+" ") {
			members = append(members, v)
		}
	}
	slices.SortFunc(members, func(a, b verb) int { return strings.Compare(a.name, b.name) })
	return members
}

// names lists verbs by the last words of their names, as a group of them is shown: add, list, revoke.
func names(list []verb) string {
	var words []string
	for _, v := range list {
		words = append(words, v.name[strings.LastIndexByte(v.name, ' ')+1:])
	}
	return strings.Join(words, ", ")
}

// notInBuild is the answer to a verb or a flag that another build has, and this one has not.
const notInBuild = "not in this build"

// wrong says in a line what the command line alone shows wrong.
func (p *Process) wrong(format string, args ...any) int {
	p.complain(format, args...)
	return exitUsage
}

// complain says in a line on standard error what is wrong.
func (p *Process) complain(format string, args ...any) {
	shown := terminal.Visible{To: terminal.Brief{To: p.Stderr}}
	fmt.Fprintln(&shown, "waybill:", cutWords(fmt.Sprintf(format, args...)))
	shown.Flush()
}

// cutWords shows of each word that nobody reads whole, as a key of 1.8 KB is, the two ends.
func cutWords(said string) string {
	return regexp.MustCompile(`(\S{60})\S{40,}(\S{20})`).ReplaceAllString(said, "${1}…$2")
}

// unknown names the command that is nearest to one that there is not.
func (p *Process) unknown(args []string) int {
	// The words of the known verbs, and the groups they are in.
	said := args[0]
	if group(args[0]) != nil && len(args) > 1 {
		said += " " + args[1]
	}
	var known []string
	for _, v := range verbs {
		known = append(known, v.name)
		word, _, grouped := strings.Cut(v.name, " ")
		if grouped && !slices.Contains(known, word) {
			known = append(known, word)
		}
	}
	return p.wrong("there is no command %q;%s %q lists all", said, meant(said, known, ""), "waybill help")
}

// meant asks whether somebody meant the nearest of some words, if one is near; before it stands a prefix.
func meant(said string, known []string, prefix string) string {
	if best := nearest(said, known); best != "" {
		return fmt.Sprintf(" did you mean %s%s?", prefix, best)
	}
	return ""
}

// misread says what is wrong with the arguments of a verb.
func (p *Process) misread(v *verb, err error) int {
	// An error that ends in a question has said already what was meant; after its mark goes no semicolon.
	said := err.Error()
	if !strings.HasSuffix(said, "?") {
		said += ";"
	}
	return p.wrong("%s: %s %q says more", v.name, said, "waybill help "+v.name)
}

// run reads the arguments of a verb, does it, and returns the exit code.
func (p *Process) run(v *verb, args []string) int {
	if v.do == nil {
		return p.wrong("%s: %s", v.name, notInBuild)
	}
	c := p.newCall(v)
	err := c.read(args)
	if errors.Is(err, flag.ErrHelp) {
		c.usage(p.Stdout)
		return exitDone
	}
	if err != nil {
		return p.misread(v, err)
	}
	c.fsys = terminal.Stoppable(durable.Dir(c.dir), c.Stop)
	if err := c.otherFormat(); err != nil && !v.is(noData) && v.name != "verify" { // of which it is a verdict
		p.complain("%v", err)
		return exitConfig
	}
	// What nobody got is not done: an output that is full or closed makes the verb fail.
	out := c.checkOutput()
	shown := &terminal.Visible{To: out}
	if c.forPeople() {
		c.Stdout = shown
	}
	end := c.watch()
	code, err := v.do(c)
	end()
	shown.Flush()
	closed := errors.Is(out.err, syscall.EPIPE)
	switch {
	case closed && v.is(mayBeCut):
		// Who stopped reading, as head does, knows it. That decides no import, and is how to end a log.
		if err == nil || errors.Is(err, syscall.EPIPE) {
			return exitDone
		}
	case out.err != nil:
		code = exitFailed
		err = fmt.Errorf("the output cannot be written: %w", out.err)
	}
	if err != nil && code == exitUsage {
		err = c.misnamed(err)
	}
	if err != nil {
		p.complain("%v", err)
		return code
	}
	return exitDone
}

// otherFormat refuses a directory whose FORMAT is of another version.
func (c *call) otherFormat() error {
	_, _, err := journal.ReadOrigin(durable.Dir(c.dir))
	if errors.Is(err, journal.ErrNewer) || errors.Is(err, journal.ErrOlder) {
		return err
	}
	return nil
}

// mustExist refuses a directory that is none, for all verbs but those that make one. One in which a standby
// was sent nothing is none either.
func (c *call) mustExist() error {
	for _, name := range []string{"FORMAT", "journal", "snapshots", ledger.KeyDir} {
		path := filepath.Join(c.dir, name)
		_, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if has, err := os.ReadDir(path); err != nil || len(has) > 0 {
			return nil // or what is there will say why it cannot be read
		}
	}
	// Who named no directory may not know that there is a flag for it, or a variable.
	hint := "-data names another"
	if c.dir == "waybill-data" {
		hint = "-data or WAYBILL_DATA names another"
	}
	return fmt.Errorf("there is no data directory at %s; waybill serve and waybill import make one; %s",
		c.dir, hint)
}

// elsewhere says what to do where another program listens at the address of -addr.
func elsewhere(err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%w; -addr 127.0.0.1:0 takes a port that is free", err)
	}
	return err
}

// exitCode maps an error of opening or running a directory.
func exitCode(err error) int {
	switch {
	case errors.As(err, new(*journal.Damage)), errors.As(err, new(*standby.Foreign)):
		return exitDamaged
	case errors.Is(err, durable.ErrLocked):
		return exitLocked
	case errors.Is(err, live.ErrFailed), errors.As(err, new(*store.NoRoom)), errors.Is(err, syscall.ENOSPC),
		errors.Is(err, syscall.EIO), errors.Is(err, syscall.EDQUOT), errors.Is(err, keep.ErrEnded),
		errors.Is(err, keep.ErrWrong):
		return exitIO
	case errors.As(err, new(*store.ClockError)):
		return exitBehind
	case errors.Is(err, journal.ErrNewer), errors.Is(err, journal.ErrOlder),
		errors.Is(err, server.ErrMovedClock), errors.Is(err, standby.ErrMovedClock),
		errors.Is(err, stand.ErrClock), errors.Is(err, stand.ErrSeed), errors.Is(err, stand.ErrBusy),
		errors.Is(err, front.ErrSocketPath), errors.Is(err, syscall.ENOTDIR),
		errors.As(err, new(*keep.Ahead)), errors.Is(err, keep.ErrForm), errors.Is(err, standby.ErrHeld),
		errors.As(err, new(*durable.OtherOwner)):
		return exitConfig
	}
	return exitFailed
}
