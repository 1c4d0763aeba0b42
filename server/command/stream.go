package command

import (
	"fmt"
	"os"
	"path/filepath"

	"waybill/server/command/terminal"
	"waybill/server/front"
	"waybill/server/machines/standby"
	"waybill/server/machines/tail"
	"waybill/store/durable"
)

// The verbs that pass a journal on, line by line: tail and receive (decisions tail.lines, standby.lines).

// tail writes lines of the journal, until it ends or the process should. What reads them may stop when it
// likes: what it has got is on the disk here, and it knows from where to ask again.
func (c *call) tail() (int, error) {
	format := c.text("format")
	if format != "json" && format != "copy" {
		return exitUsage, fmt.Errorf("-format %q must be one of json, copy", format)
	}
	o := tail.Options{
		From: c.get("from").(uint64),
		Copy: format == "copy",
	}
	if o.From < 1 {
		return exitUsage, fmt.Errorf("-from %d: the first line is 1", o.From)
	}
	// Without -follow, Ctrl-C stops it where it is. With it that is how it ends.
	if c.get("follow").(bool) {
		o.Follow = c.Stop
		c.fsys = durable.Dir(c.dir) // it ends in order, after a whole line
	}
	if err := c.mustExist(); err != nil {
		return exitFailed, err
	}
	live := func() bool { return front.IsServed(c.dir) }
	return exitFailed, tail.Write(c.fsys, live, o, c.Stdout)
}

// receive keeps a standby by what tail writes. Its output is for whoever wants to know how far behind that
// is, and for scripts that wait until a line is safe in two places.
func (c *call) receive() (int, error) {
	// The directory is an operand and not -data: it is nobody's yet, and no server's to be found by accident.
	dir := durable.Dir(c.Arg(0))
	if c.get("next").(bool) {
		next, err := standby.Next(terminal.Stoppable(dir, c.Stop))
		if err == nil {
			fmt.Fprintln(c.Stdout, next)
		}
		return exitCode(err), err
	}
	c.dir = c.Arg(0)
	if err := c.otherFormat(); err != nil { // before the advice to make a standby of it
		return exitConfig, err
	}
	if err := dir.CheckOwner("journal", os.Geteuid()); err != nil {
		return exitCode(err), err
	}
	o := standby.Options{
		NoClock: isLean,
		Stop:    c.Stop,
		Say:     func(text string) { fmt.Fprintln(terminal.Brief{To: c.Stderr}, "waybill:", text) },
	}
	if c.get("keeper").(bool) {
		// Whoever takes over serves this directory, whose socket has the longer name.
		if _, err := front.Socket(c.dir); err != nil {
			return exitCode(err), err
		}
		o.Socket = filepath.Join(c.dir, "keep.sock")
	}
	err := dir.Denied(standby.Receive(dir, o, c.Stdin, c.Stdout), os.Geteuid())
	if err != nil { // said on another machine, which may have a directory of that name, too
		err = fmt.Errorf("%s: %w", c.dir, err)
	}
	return exitCode(err), err
}
