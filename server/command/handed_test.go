package command

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
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

// The page of the manual has each verb and each flag, and is sound for what shows it.
func TestThePageOfTheManualHasAll(t *testing.T) {
	t.Parallel()
	page := want(t, 0, "", "help", "-man")
	eachFlag(func(v *verb, f *flag.Flag) {
		_, rest, found := strings.Cut(page, "\n.SS "+roff(strings.TrimSpace(v.name+" "+v.operands))+"\n")
		section, _, _ := strings.Cut(rest, "\n.SS ")
		if !found || !strings.Contains(section, "\n.B \\-"+roff(f.Name)) {
			t.Errorf("it has no flag %s of %s", f.Name, v.name)
		}
	})
	if !rig.Has(t, "groff") {
		return
	}
	file := filepath.Join(t.TempDir(), "waybill.1")
	save(t, file, page)
	out, err := exec.Command("groff", "-man", "-ww", "-Tutf8", "-z", file).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The completions have each verb and each flag, and the shells read them.
func TestTheCompletionsHaveAll(t *testing.T) {
	t.Parallel()
	for _, shell := range shells {
		text := want(t, 0, "", "completion", shell)
		eachFlag(func(v *verb, f *flag.Flag) {
			line := map[string]string{
				"bash": "-" + f.Name,
				"zsh":  "'-" + f.Name + ":",
				"fish": "-o " + f.Name + " ",
			}[shell]
			if !strings.Contains(text, line) {
				t.Errorf("%s: there is no flag %s of %s", shell, f.Name, v.name)
			}
		})
		if !rig.Has(t, shell) {
			continue
		}
		file := filepath.Join(t.TempDir(), "completion")
		save(t, file, text)
		if out, err := exec.Command(shell, "-n", file).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
	want(t, 2, `no completion for "tcsh", only for bash, fish and zsh`, "completion", "tcsh")
}

// What bash completes: verbs, the second words of groups, flags, and nothing where files are to be named.
func TestBashCompletes(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "bash") {
		return
	}
	script := want(t, 0, "", "completion", "bash") + `
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _waybill; echo "${COMPREPLY[*]}"; }
complete_words waybill ver
complete_words waybill ticket ""
complete_words waybill partner list -j
complete_words waybill verify -aga
complete_words waybill verify -against notes/
complete_words waybill help ver
complete_words waybill completion ""
`
	out, err := exec.Command("bash", "-c", script).CombinedOutput()
	const said = "verify version\nanswer asked check move status\n-json\n-against\n\nverify version\nbash fish zsh\n"
	if err != nil || string(out) != said {
		t.Errorf("%v\n%s", err, out)
	}
}
