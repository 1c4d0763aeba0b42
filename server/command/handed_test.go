package command

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
)

// eachFlag calls a function with each verb of this build, and each of its flags.
func eachFlag(do func(v *verb, f *flag.Flag)) {
	p := new(Process)
	for i := range verbs {
		p.newCall(&verbs[i]).VisitAll(func(f *flag.Flag) { do(&verbs[i], f) })
	}
}

// save writes a file that another program reads.
func save(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The page of all is that of each verb, one after the other.
func TestHelpAllHasThePageOfEachVerb(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, v := range verbs {
		pages = append(pages, want(t, 0, "", append([]string{"help"}, strings.Fields(v.name)...)...))
	}
	if all := want(t, 0, "", "help", "all"); all != strings.Join(pages, "\n") {
		t.Errorf("it has other pages:\n%s", all)
	}
	want(t, 2, `there is no command "all"`, "help", "all", "verify")
}

// offered returns the words that the last of a command line can become.
func offered(t *testing.T, line ...string) (words []string) {
	t.Helper()
	for row := range strings.Lines(want(t, 0, "", append([]string{"complete"}, line...)...)) {
		word, _, _ := strings.Cut(strings.TrimSuffix(row, "\n"), "\t")
		words = append(words, word)
	}
	return words
}

// Each word of each verb is offered once, and each flag of a verb, with what it does. The verb that offers
// them is not, and no help has it.
func TestEachVerbAndEachFlagIsOffered(t *testing.T) {
	t.Parallel()
	for _, v := range verbs {
		words := strings.Fields(v.name)
		for i, word := range words {
			all := offered(t, append(slices.Clone(words[:i]), "")...)
			once := slices.Compact(slices.Sorted(slices.Values(all)))
			if !slices.Contains(all, word) || len(once) != len(all) {
				t.Errorf("%q of %s is not once in %q", word, v.name, all)
			}
		}
		row := words[len(words)-1] + "\t" + v.about + "\n"
		if said := want(t, 0, "", append([]string{"complete"}, words...)...); !strings.Contains(said, row) {
			t.Errorf("%q is not in %s", row, said)
		}
	}
	eachFlag(func(v *verb, f *flag.Flag) {
		line := slices.Concat([]string{"complete"}, strings.Fields(v.name), []string{"-"})
		_, about := flag.UnquoteUsage(f)
		row := "-" + f.Name + "\t" + about + "\n"
		if said := want(t, 0, "", line...); !strings.Contains(said, row) {
			t.Errorf("%s: %q is not in\n%s", v.name, row, said)
		}
	})
	if strings.Contains(want(t, 0, "", "help")+want(t, 0, "", "help", "all"), "waybill complete") ||
		slices.Contains(offered(t, ""), "complete") {
		t.Error("the hidden verb is shown")
	}
	want(t, 2, `there is no command "complete"`, "complete")
}

// What a word can become depends on those before it. Nothing is offered where a file, a name or a number is
// to be given.
func TestWhatIsOffered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ line, words string }{
		{"ver", "verify version"},
		{"help ver", "verify version"},
		{"h", "help"},
		{"help al", "all"},
		{"help all ", ""},
		{"nothing ", ""},
		{"partner ", "list add revoke"},
		{"help partner ", "list add revoke"},
		{"partner list -j", "-json"},
		{"partner nothing ", ""},
		{"-ad", "-addr"}, // serve's, as the line would be read
		{"-addr 127.0.0.1:0 -ad", "-addr"},
		{"verify -aga", "-against"},
		{"verify -against ", ""}, // a file
		{"verify -against x -wit", "-witness-key -witnessed-within"},
		{"verify -json ", "-against -data -json -key -witness-key -witnessed-within"},
		{"repair -cut-at x ", ""}, // which is wrong
		{"repair ", ""},           // a directory
		{"repair -f", "-force"},
		{"evidence ", ""},
		{"completion ", "bash zsh fish"},
		{"completion f", "fish"},
		{"completion fish ", ""},
		{"ticket status ", ""},
		{"ticket status x ", "Confirmed NotConfirmed Prepaid"},
		{"ticket answer -reason -x- y ", "confirmed refused"},
		{"outbox retry ", "all"},
	} {
		if words := strings.Join(offered(t, strings.Split(c.line, " ")...), " "); words != c.words {
			t.Errorf("%q: %q, want %q", c.line, words, c.words)
		}
	}
}

// The shells read their scripts.
func TestTheShellsReadTheScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "fish", "zsh"} {
		file := filepath.Join(t.TempDir(), "completion")
		save(t, file, want(t, 0, "waybill", "completion", shell))
		if !rig.Has(t, shell) {
			continue
		}
		if out, err := exec.Command(shell, "-n", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	for _, other := range []string{"tcsh", "", ".", "../help.go"} {
		want(t, 2, `no completion for "`+other+`", only for bash, fish and zsh`, "completion", other)
	}
}

// completes runs a script of a shell that finds the program, and returns what it prints.
func completes(t *testing.T, shell, script string) string {
	t.Helper()
	bin, _ := build(t)
	cmd := exec.Command(shell, "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(bin)+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", shell, err)
	}
	return string(out)
}

// What bash completes: verbs, the second words of groups, flags, and nothing where files are to be named. A
// path to the program that bash has not expanded, and an address, which is three words to bash, change
// nothing.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "bash") {
		return
	}
	said := completes(t, "bash", want(t, 0, "", "completion", "bash")+`
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waybill "$1"; echo "${COMPREPLY[*]}"; }
complete_words waybill ver
complete_words waybill ticket ""
complete_words waybill partner list -j
complete_words waybill verify -aga
complete_words waybill verify -against notes/
complete_words waybill help ver
complete_words waybill completion ""
complete_words "~/nowhere/waybill" desk -a
complete_words waybill serve -addr 127.0.0.1 : 0 -log
`)
	if said != "verify version\nasked check move cancel status answer\n-json\n-against\n\nverify version\nbash zsh fish\n"+
		"-addr\n-log-level\n" {
		t.Error(said)
	}
}

// What fish completes is the same, and it completes the names of files itself.
func TestFishCompletes(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "fish") {
		return
	}
	said := completes(t, "fish", want(t, 0, "", "completion", "fish")+`
complete -C 'waybill partner '
complete -C 'waybill verify -aga'
complete -C 'waybill verify -against table.g'
complete -C 'waybill completion '
complete -C '~/nowhere/waybill desk -a'
`)
	words := regexp.MustCompile(`(?m)\t.*$`).ReplaceAllString(said, "")
	if words != "add\nlist\nrevoke\n-against\ntable.go\nbash\nfish\nzsh\n-addr\n" {
		t.Error(said)
	}
}
