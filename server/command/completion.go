package command

import (
	"embed"
	"flag"
	"fmt"
	"slices"
	"strings"
)

// scripts are what makes a shell complete, by the shell. Each asks the program itself, by waybill complete.
//
//go:embed completion
var scripts embed.FS

// completion prints the script of a shell.
func (c *call) completion() (int, error) {
	script, err := scripts.ReadFile("completion/" + c.Arg(0))
	if err != nil {
		return exitUsage, fmt.Errorf("there is no completion for %q, only for bash, fish and zsh", c.Arg(0))
	}
	c.Stdout.Write(script)
	return exitDone, nil
}

// completeWord prints what the last of some words may become, by those before it: a line each, of the word,
// and after a tab of what it does. Only the scripts call it, as waybill complete, so no list has it. Nothing
// is offered where a file, a name or a number is to be given, and where the words before are wrong.
func (p *Process) completeWord(words []string) int {
	if strings.HasPrefix(words[0], "-") { // as in Main
		words = append([]string{"serve"}, words...)
	}
	before := words[:len(words)-1]
	last := words[len(words)-1]
	var offered []string
	offer := func(word, about string) {
		if strings.HasPrefix(word, last) && !slices.Contains(offered, word) {
			offered = append(offered, word)
			fmt.Fprintln(p.Stdout, strings.TrimSuffix(word+"\t"+about, "\t"))
		}
	}
	switch {
	case len(before) == 0:
		offer("help", "say more about a command")
	case before[0] == "help":
		before = before[1:]
		if len(before) == 0 {
			offer("all", "say more about each command")
		}
	}
	v, rest := find(before)
	if v != nil && v.do != nil {
		p.newCall(v).completeArgument(rest, last, offer)
		return exitDone
	}
	for _, v := range verbs {
		names := strings.Fields(v.name)
		if len(names) <= len(before) || !slices.Equal(names[:len(before)], before) {
			continue
		}
		about := v.about
		if len(names) > len(before)+1 {
			about = "a group of commands"
		}
		offer(names[len(before)], about)
	}
	return exitDone
}

// completeArgument offers the flags of a verb, or the words that its next operand can be, by the arguments
// before.
func (c *call) completeArgument(before []string, last string, offer func(word, about string)) {
	if c.Parse(before) != nil { // the value of a flag comes next, or something is wrong
		return
	}
	operands := strings.Fields(c.verb.operands)
	if strings.HasPrefix(last, "-") || len(operands) == 0 && c.NArg() == 0 {
		c.VisitAll(func(f *flag.Flag) {
			_, about := flag.UnquoteUsage(f)
			offer("-"+f.Name, about)
		})
	}
	if c.NArg() < len(operands) {
		operand := operands[c.NArg()]
		for word := range strings.SplitSeq(operand, "|") {
			// What stands for something is in capitals.
			if word != operand && word != strings.ToUpper(word) {
				offer(word, "")
			}
		}
	}
}
