package command

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// helpWidth is how many columns a line of help has at most (decision verbs.help).
const helpWidth = 78

// help prints the page of a verb or a group, or of each verb, or with no words the list of all.
func (p *Process) help(words []string) int {
	if len(words) == 0 || isHelp(words[0]) {
		p.listAll(p.Stdout)
		return exitDone
	}
	if words[0] == "all" && len(words) == 1 {
		for i := range verbs {
			if i > 0 {
				fmt.Fprintln(p.Stdout)
			}
			p.newCall(&verbs[i]).usage(p.Stdout)
		}
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

// listAll writes the verbs of this build by chapters.
func (p *Process) listAll(to io.Writer) {
	fmt.Fprint(to, "Waybill distributes bus tickets.\n",
		"Without a command it serves, as \"waybill serve\" does.\n",
		"\"waybill help COMMAND\" says more of a command, \"waybill help all\" of each.\n")
	for _, c := range chapters {
		fmt.Fprintf(to, "\n%s:\n", c.title)
		p.list(to, slices.DeleteFunc(slices.Clone(c.verbs), func(v verb) bool { return v.do == nil }))
	}
}

// list writes the verbs, each with a line that says what it does. That line is all that most people ever read
// of a verb.
func (p *Process) list(to io.Writer, list []verb) {
	for _, v := range list {
		fmt.Fprintf(to, "  %-14s  %s\n", v.name, v.about)
	}
}

// usage writes how a verb is called, with its flags.
func (c *call) usage(to io.Writer) {
	fmt.Fprintln(to, strings.TrimSpace("waybill "+c.verb.name+" [flags] "+c.verb.operands))
	about := c.verb.about
	wrap(to, "", strings.ToUpper(about[:1])+about[1:]+". "+c.verb.more)
	fmt.Fprintln(to)
	names := c.verb.variables("<flag>")
	wrap(to, "", "Flags come before operands. Each flag can also be set in the environment, as "+
		names[len(names)-1]+".")
	fmt.Fprintln(to)
	c.VisitAll(func(f *flag.Flag) {
		value, about := flag.UnquoteUsage(f)
		fmt.Fprintln(to, strings.TrimRight("  -"+f.Name+" "+value, " "))
		wrap(to, "        ", about+byDefault(f.DefValue))
	})
}

// wrap writes a text in lines of at most helpWidth columns, each after an indent. A word that is longer by
// itself is not broken.
func wrap(to io.Writer, indent, text string) {
	line := indent
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == indent:
			line += word
		case len(line)+1+len(word) > helpWidth:
			fmt.Fprintln(to, line)
			line = indent + word
		default:
			line += " " + word
		}
	}
	fmt.Fprintln(to, line)
}

// byDefault says what a flag is where it is not given: nothing where that is nothing.
func byDefault(value string) string {
	switch value {
	case "", "false", "0", "0s":
		return ""
	}
	return " (default " + value + ")"
}
