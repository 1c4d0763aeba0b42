package command

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// shells are those that waybill completion writes for, each with what writes it.
var shells = map[string]func(*Process, io.Writer){
	"bash": (*Process).completeBash,
	"zsh":  (*Process).completeZsh,
	"fish": (*Process).completeFish,
}

// completion prints what makes a shell complete commands and flags.
func (c *call) completion() (int, error) {
	write := shells[c.Arg(0)]
	if write == nil {
		return exitUsage, fmt.Errorf("there is no completion for %q, only for bash, zsh and fish", c.Arg(0))
	}
	write(c.Process, c.Stdout)
	return exitDone, nil
}

// flagsOf returns the flags of a verb.
func (p *Process) flagsOf(v *verb) (list []*flag.Flag) {
	p.newCall(v).VisitAll(func(f *flag.Flag) {
		list = append(list, f)
	})
	return list
}

// firstWords returns the words that a command begins with, each once.
func firstWords() (words []string) {
	for _, v := range verbs {
		word, _, _ := strings.Cut(v.name, " ")
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return append(words, "help")
}

// groups returns the first words of verbs of two words, each once.
func groups() (words []string) {
	for _, word := range firstWords() {
		if group(word) != nil {
			words = append(words, word)
		}
	}
	return words
}

// completeBash writes a function that bash calls with the words so far. Names of files are completed where it
// finds nothing.
func (p *Process) completeBash(to io.Writer) {
	fmt.Fprint(to, "# Completion of waybill in bash: source <(waybill completion bash)\n_waybill() {\n",
		"  local word=${COMP_WORDS[COMP_CWORD]} words=\n",
		"  case $COMP_CWORD:\"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in\n")
	fmt.Fprintf(to, "  1:*) words=\"%s\" ;;\n", strings.Join(firstWords(), " "))
	for _, word := range groups() {
		members := strings.ReplaceAll(names(group(word)), ",", "")
		fmt.Fprintf(to, "  2:\"%s \"*) words=\"%s\" ;;\n", word, members)
	}
	for _, v := range verbs {
		var flags []string
		for _, f := range p.flagsOf(&v) {
			flags = append(flags, "-"+f.Name)
		}
		pattern := v.name
		if !strings.Contains(pattern, " ") {
			pattern += " " // and whatever follows
		}
		fmt.Fprintf(to, "  *:\"%s\"*) words=\"%s\" ;;\n", pattern, strings.Join(flags, " "))
	}
	fmt.Fprint(to, "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n",
		"complete -o default -F _waybill waybill\n")
}

// completeZsh writes a function that describes each command and each flag.
func (p *Process) completeZsh(to io.Writer) {
	fmt.Fprint(to, "#compdef waybill\n# Completion of waybill in zsh: a file _waybill in a directory of $fpath\n",
		"local -a list\ncase \"$CURRENT:$words[2] $words[3]\" in\n2:*) list=(\n")
	for _, word := range firstWords() {
		about := "a group of commands"
		if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == word }); i >= 0 {
			about = verbs[i].about
		}
		fmt.Fprintf(to, "  %s\n", quoted(word+":"+strings.ReplaceAll(about, ":", `\:`)))
	}
	fmt.Fprint(to, ") ;;\n")
	for _, word := range groups() {
		members := strings.ReplaceAll(names(group(word)), ",", "")
		fmt.Fprintf(to, "3:%s*) list=(%s) ;;\n", quoted(word+" "), members)
	}
	for _, v := range verbs {
		pattern := quoted(v.name)
		if !strings.Contains(v.name, " ") {
			pattern = quoted(v.name + " ")
		}
		fmt.Fprintf(to, "*:%s*) list=(\n", pattern)
		for _, f := range p.flagsOf(&v) {
			_, about := flag.UnquoteUsage(f)
			fmt.Fprintf(to, "  %s\n", quoted("-"+f.Name+":"+strings.ReplaceAll(about, ":", `\:`)))
		}
		fmt.Fprint(to, ") ;;\n")
	}
	fmt.Fprint(to, "esac\n_describe -o waybill list || _files\n")
}

// completeFish writes a line for each command and each flag.
func (p *Process) completeFish(to io.Writer) {
	fmt.Fprint(to, "# Completion of waybill in fish: ~/.config/fish/completions/waybill.fish\n")
	line := func(condition, what, about string) {
		fmt.Fprintf(to, "complete -c waybill -n %s %s -d %s\n", quoted(condition), what, quoted(about))
	}
	for _, word := range groups() {
		line("__fish_use_subcommand", "-f -a "+word, "a group of commands")
	}
	for _, v := range verbs {
		first, second, grouped := strings.Cut(v.name, " ")
		seen := "__fish_seen_subcommand_from " + first
		if grouped {
			members := strings.ReplaceAll(names(group(first)), ",", "")
			line(seen+"; and not __fish_seen_subcommand_from "+members, "-f -a "+second, v.about)
			seen += "; and __fish_seen_subcommand_from " + second
		} else {
			line("__fish_use_subcommand", "-f -a "+first, v.about)
		}
		for _, f := range p.flagsOf(&v) {
			_, about := flag.UnquoteUsage(f)
			what := "-o " + f.Name
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
				what += " -r"
			}
			line(seen, what, about)
		}
	}
}

// quoted returns a text in single quotes, as these shells have them.
func quoted(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
