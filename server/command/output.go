package command

import (
	"io"
	"os"

	"waybill/server/command/terminal"
)

// What becomes of the output of a verb, and what a terminal shows meanwhile.

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
	if c.verb.name == "serve" { // clients must not wait for somebody who reads what it prints
		out.Writer = terminal.Brief{To: p.Stdout}
	}
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
