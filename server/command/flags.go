package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"waybill/server/frame/words"
)

// The flags and operands of a verb, read from the environment and the command line.

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
			f := c.Lookup(o.name)
			f.Value = decimal{f.Value.(flag.Getter)}
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

// decimal is a flag that is a number: 030 is not 24 to those who write it.
type decimal struct{ flag.Getter }

// Set reads the number.
func (d decimal) Set(text string) error {
	if len(text) > 1 && text[0] == '0' {
		return errors.New("a number must not begin with 0")
	}
	return d.Getter.Set(text)
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
	several := strings.HasSuffix(c.verb.operands, "...")
	if (several || c.NArg() <= len(want)) && c.NArg() >= len(want)-optional {
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

// fromEnv sets the flags that the environment gives; the command line overrides them. A container's settings
// are variables, and a wrong one is an error like a wrong flag.
func (c *call) fromEnv() (err error) {
	for _, absent := range absentFlags[c.verb.name] {
		if name, _ := c.variable(absent); name != "" {
			return fmt.Errorf("%s: %s", name, notInBuild)
		}
	}
	c.VisitAll(func(f *flag.Flag) {
		name, v := c.variable(f.Name)
		if name == "" || err != nil {
			return
		}
		// Not every reader of a file of variables takes quotes off: they would be of a directory's name.
		if quoted.MatchString(v) {
			err = fmt.Errorf("%s=%s: the quotes are part of the value; leave them out", name, v)
			return
		}
		if err = c.Set(f.Name, v); err != nil {
			word, _ := flag.UnquoteUsage(f)
			err = fmt.Errorf("%s=%q cannot be read as %s: %w", name, v, cmp.Or(word, "true or false"), err)
		}
	})
	return err
}

// quoted matches a value that one pair of quotes encloses.
var quoted = regexp.MustCompile(`^("[^"]*"|'[^']*')$`)

// variable returns which variable gives a flag, and its value, without blanks and CR around it; "" is none.
func (c *call) variable(flag string) (name, value string) {
	for _, name := range c.verb.variables(flag) {
		value, _ := c.Env(name)
		if value = strings.TrimSpace(value); value != "" {
			return name, value
		}
	}
	return "", ""
}

// variables returns the names of a flag in the environment, of which the first that is set counts (decision
// verbs.environment). A short name is serve's, whose settings others of the same environment do not want.
func (v *verb) variables(flag string) []string {
	names := []string{variableOf(v.name, flag)}
	switch {
	case v.name == "ready" && flag == "addr": // it asks the server of the same environment
		names = append(names, variableOf("serve", flag), variableOf(flag))
	case v.name == "serve", flag == "data":
		names = append(names, variableOf(flag))
	}
	return names
}

// variableOf returns the variable whose name has some words.
func variableOf(words ...string) string {
	name := strings.ToUpper(strings.Join(append([]string{"WAYBILL"}, words...), "_"))
	return strings.NewReplacer("-", "_", " ", "_").Replace(name)
}

// misnamed adds to an error that names a flag which nobody has given the variable that would give it, where
// one is set that gives it to serve alone.
func (c *call) misnamed(err error) error {
	c.VisitAll(func(f *flag.Flag) {
		short := variableOf(f.Name)
		value, _ := c.Env(short)
		named := regexp.MustCompile(`\B-` + f.Name + `\b([^-]|$)`).MatchString(err.Error())
		if named && value != "" && !c.isGiven(f.Name) {
			err = fmt.Errorf("%w; %s is not read here, but %s is", err, short,
				variableOf(c.verb.name, f.Name))
		}
	})
	return err
}
