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
	"slices"
	"strings"
	"syscall"
	"time"

	"waybill/server"
	"waybill/server/command/terminal"
	"waybill/server/frame/words"
	"waybill/server/front"
	"waybill/server/machines/standby"
	"waybill/server/operate/stand"
	"waybill/store"
	"waybill/store/durable"
	"waybill/store/durable/readonly"
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
	dir  string      // the data directory
	fsys readonly.FS // the same, to be read
}

// get returns the value of a flag, which has the type of its default.
func (c *call) get(name string) any {
	return c.Lookup(name).Value.(flag.Getter).Get()
}

// text returns the value of a flag that is a text; "" is one that nobody has set, unless its default is
// another.
func (c *call) text(name string) string {
	return c.get(name).(string)
}

// list returns the values of a flag that may be given again, in the order in which they were given; none
// where nobody has given it.
func (c *call) list(name string) []string {
	return c.get(name).([]string)
}

// isGiven reports whether somebody has set a flag, be it to what it is without.
func (c *call) isGiven(name string) (given bool) {
	c.Visit(func(f *flag.Flag) {
		given = given || f.Name == name
	})
	return given
}

// Main runs a command and returns its exit code.
func Main(p *Process) int {
	// Without a verb, or with flags alone, the demo is served: that is how a newcomer starts.
	args := p.Args
	switch {
	case len(args) > 0 && isHelp(args[0]):
		return p.help(args[1:])
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

// group returns the verbs whose names start with a word and go on, as those of partner do.
func group(word string) (members []verb) {
	for _, v := range verbs {
		if strings.HasPrefix(v.name, word+" ") {
			members = append(members, v)
		}
	}
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

// help prints the page of a verb or a group, or with no words the list of all.
func (p *Process) help(words []string) int {
	if len(words) == 1 && words[0] == "-man" {
		p.man(p.Stdout)
		return exitDone
	}
	if len(words) == 0 || isHelp(words[0]) {
		fmt.Fprint(p.Stdout, "Waybill distributes bus tickets. Without a command it serves, as \"waybill serve\".\n",
			"\"waybill help COMMAND\" says more of one of these commands:\n\n")
		p.list(p.Stdout, verbs)
		return exitDone
	}
	if v, rest := find(words); v != nil {
		if v.do == nil {
			return p.wrong("%s: %s", v.name, notInBuild)
		}
		c := p.newCall(v)
		if len(rest) > 0 {
			if err := c.read(rest); err != nil && !errors.Is(err, flag.ErrHelp) {
				return p.misread(v, err)
			}
		}
		c.usage(p.Stdout)
		return exitDone
	}
	members := group(words[0])
	if members != nil && len(words) == 1 {
		p.list(p.Stdout, members)
		return exitDone
	}
	return p.unknown(words)
}

// list writes the verbs, each with a line that says what it does. That line is all that most people ever read
// of a verb.
func (p *Process) list(to io.Writer, list []verb) {
	for _, v := range list {
		fmt.Fprintf(to, "  %-16s %s\n", v.name, v.about)
	}
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
	shown := terminal.Visible{To: p.Stderr}
	fmt.Fprintf(&shown, "waybill: "+format+"\n", args...)
	shown.Flush()
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

// newCall makes a call of a verb, with its flags at what they are where nobody sets them.
func (p *Process) newCall(v *verb) *call {
	c := &call{p, flag.NewFlagSet(v.name, flag.ContinueOnError), v, "waybill-data", nil}
	// Package flag writes its errors itself. Here they are one line, with the others.
	c.SetOutput(io.Discard)
	if !v.is(noData) {
		c.StringVar(&c.dir, "data", c.dir, "the data `directory`")
	}
	// The type of a flag's default is the flag's.
	for _, o := range v.flags {
		switch value := o.value.(type) {
		case bool:
			c.Bool(o.name, value, o.about)
		case int:
			c.Int(o.name, value, o.about)
		case float64:
			c.Float64(o.name, value, o.about)
		case uint64:
			c.Uint64(o.name, value, o.about)
		case time.Duration:
			c.Duration(o.name, value, o.about)
		case string:
			c.String(o.name, value, o.about)
		case []string:
			c.Var(new(listFlag), o.name, o.about)
		}
	}
	return c
}

// listFlag is a flag that may be given again: -witness A -witness B. In the environment, where a name stands
// only once, commas stand between its values: WAYBILL_WITNESS=A,B. As with other flags, what the command line
// says takes the place of what the environment says.
type listFlag struct {
	values []string
	stale  bool // what the environment says counts no more once the command line says something
}

// String returns the values as the environment has them.
func (l *listFlag) String() string { return strings.Join(l.values, ",") }

// Set adds values.
func (l *listFlag) Set(text string) error {
	if l.stale {
		l.values = nil
		l.stale = false
	}
	for value := range strings.FieldsFuncSeq(text, isComma) {
		l.values = append(l.values, strings.TrimSpace(value))
	}
	return nil
}

// Get returns the values.
func (l *listFlag) Get() any { return l.values }

// usage writes how a verb is called, with its flags.
func (c *call) usage(to io.Writer) {
	fmt.Fprintf(to, "waybill %s [flags] %s\n%s %s.\n", c.verb.name, c.verb.operands, c.verb.name,
		c.verb.about)
	fmt.Fprint(to, "Flags come before operands. ",
		"Each can also be given in the environment, as WAYBILL_<FLAG>.\n\n")
	c.SetOutput(to)
	c.PrintDefaults()
	c.SetOutput(io.Discard)
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
	c.fsys = terminal.Stoppable(readonly.Dir(c.dir), c.Stop)
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
	if err != nil {
		p.complain("%v", err)
		return code
	}
	return exitDone
}

// heard is standard output, and remembers that something could not be written: what nobody got is not done.
type heard struct {
	io.Writer
	err error // the first
}

// Write passes on what is written, and remembers the first error.
func (o *heard) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// checkOutput has what the verb prints remembered.
func (c *call) checkOutput() *heard {
	p := *c.Process
	out := &heard{Writer: p.Stdout}
	p.Stdout = out
	c.Process = &p
	return out
}

// forPeople reports whether the verb's output is for people, who see it on a terminal: it is harmless there.
// What programs read is written to the byte.
func (c *call) forPeople() bool {
	format := c.Lookup("format")
	json := c.Lookup("json")
	switch {
	case c.verb.is(exact):
		return false
	case format != nil && format.Value.String() != "text":
		return false
	}
	return json == nil || json.Value.String() != "true"
}

// watch has somebody at a terminal see how far a verb is, until the returned function is called. It may
// have to read a long journal.
func (c *call) watch() (end func()) {
	f, ok := c.Stderr.(*os.File)
	if !ok || c.verb.is(quiet) {
		return func() {}
	}
	progress := terminal.Watch(c.verb.name, f)
	if progress == nil {
		return func() {}
	}
	p := *c.Process
	p.Stdout = progress.Output(c.Stdout)
	c.Process = &p
	c.fsys = progress.Count(c.fsys)
	return progress.End
}

// read reads flags, of the environment and then of the command line, and counts the operands.
func (c *call) read(args []string) error {
	if err := c.fromEnv(); err != nil {
		return err
	}
	c.VisitAll(func(f *flag.Flag) {
		if list, ok := f.Value.(*listFlag); ok {
			list.stale = true
		}
	})
	if err := c.Parse(args); err != nil {
		// Package flag has no error of a type for this, only the text.
		if name, undefined := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); undefined {
			if slices.Contains(absentFlags[c.verb.name], name) {
				return fmt.Errorf("-%s: %s", name, notInBuild)
			}
			var known []string
			c.VisitAll(func(f *flag.Flag) {
				known = append(known, f.Name)
			})
			return errors.New("there is no flag -" + name + strings.Replace(meant(name, known, "-"), " ",
				"; ", 1))
		}
		return err
	}
	if c.dir == "" {
		return errors.New("-data names no directory")
	}
	want := strings.Fields(c.verb.operands)
	optional := strings.Count(c.verb.operands, "[")
	if c.NArg() <= len(want) && c.NArg() >= len(want)-optional {
		return nil
	}
	// The commonest mistake has a text of its own: flag stops at the first operand, and takes what follows
	// for more of them.
	for _, arg := range c.FlagSet.Args() {
		if strings.HasPrefix(arg, "-") && arg != "-" && c.NArg() > len(want) {
			return fmt.Errorf("flags come before operands: %s stands after %q", arg, c.Arg(0))
		}
	}
	if len(want) == 0 {
		return fmt.Errorf("takes no operands, not %q", c.Arg(0))
	}
	return fmt.Errorf("takes %s after its flags, not %s", strings.Join(want, " and "),
		words.Counted(c.NArg(), "operand"))
}

// mustExist refuses a directory that is none, for all verbs but those that make one.
func (c *call) mustExist() error {
	for _, name := range []string{"FORMAT", "journal"} {
		_, err := os.Stat(filepath.Join(c.dir, name))
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil // or what is there will say why it cannot be read
		}
	}
	// Who named no directory may not know that there is a flag for it, or a variable.
	hint := "-data names another"
	if c.dir == "waybill-data" {
		hint = "-data or WAYBILL_DATA names another"
	}
	return fmt.Errorf("there is no data directory at %s; waybill serve and waybill import make one, %s",
		c.dir, hint)
}

// fromEnv sets the flags that the environment gives; the command line overrides them. A container's settings
// are variables, and a wrong one is an error like a wrong flag.
func (c *call) fromEnv() (err error) {
	for _, absent := range absentFlags[c.verb.name] {
		if _, ok := c.Env(variable(absent)); ok {
			return fmt.Errorf("%s: %s", variable(absent), notInBuild)
		}
	}
	c.VisitAll(func(f *flag.Flag) {
		name := variable(f.Name)
		if v, ok := c.Env(name); ok && err == nil {
			if err = c.Set(f.Name, v); err != nil {
				err = fmt.Errorf("%s=%q: %w", name, v, err)
			}
		}
	})
	return err
}

// variable returns the name of a flag in the environment.
func variable(flag string) string {
	return "WAYBILL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// exitCode maps an error of opening or running a directory.
func exitCode(err error) int {
	switch {
	case errors.As(err, new(*journal.Damage)), errors.As(err, new(*standby.Foreign)):
		return exitDamaged
	case errors.Is(err, durable.ErrLocked):
		return exitLocked
	case errors.Is(err, live.ErrFailed), errors.As(err, new(*store.NoRoom)), errors.Is(err, syscall.ENOSPC),
		errors.Is(err, syscall.EIO), errors.Is(err, syscall.EDQUOT):
		return exitIO
	case errors.Is(err, journal.ErrNewer), errors.As(err, new(*store.ClockError)),
		errors.Is(err, server.ErrMovedClock), errors.Is(err, standby.ErrMovedClock),
		errors.Is(err, stand.ErrClock), errors.Is(err, stand.ErrSeed),
		errors.Is(err, front.ErrSocketPath), errors.Is(err, syscall.ENOTDIR):
		return exitConfig
	}
	return exitFailed
}
