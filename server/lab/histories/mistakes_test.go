package histories

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waybill/server/lab/rig"
)

// mistakes are changes of the small server that clients can see: a text of its source, and what it becomes.
var mistakes = []struct {
	name string
	text *regexp.Regexp
	by   string
}{
	{"a window ends too late", regexp.MustCompile(`(paymentWindow\s*= )20 \* time\.Minute`), "${1}20*time.Minute + time.Millisecond"},
	{"grace ends too early", regexp.MustCompile(`(graceTime\s*= )20 \* time\.Minute`), "${1}20*time.Minute - time.Millisecond"},
	{"half is rounded down", regexp.MustCompile(`50_?00\) / (100_?00)`), "4999) / $1"},
}

// mostLines is how many lines a history has at most that shows a small mistake.
const mostLines = 8

// A mistake in the small server is found, the history is made short, and its lines show at either server what
// they are said to show.
func TestAMistakeIsFound(t *testing.T) {
	for i, m := range mistakes {
		if i > 0 && !*rig.Long {
			break
		}
		t.Run(m.name, func(t *testing.T) {
			source := copyOfMini(t)
			changed := 0
			for _, file := range goFiles(t, source) {
				text := content(t, file)
				if m.text.MatchString(text) {
					changed++
					write := []byte(m.text.ReplaceAllString(text, m.by))
					if err := os.WriteFile(file, write, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			if changed != 1 {
				t.Fatalf("%d files have %v", changed, m.text)
			}
			x := newTable(t, source)
			e := x.playAll(t, 0, 200)
			if e == nil {
				t.Fatal("200 histories do not find it")
			}
			text := e.paste()
			if n := strings.Count(text, "curl "); n > mostLines {
				t.Errorf("the history has %d lines:\n%s", n, text)
			}
			x.pasteBoth(t, e)
		})
	}
}

// copyOfMini copies the small server's source.
func copyOfMini(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, file := range append(goFiles(t, sourceOfMini()), filepath.Join(sourceOfMini(), "go.mod")) {
		copied := filepath.Join(dir, filepath.Base(file))
		if err := os.WriteFile(copied, []byte(content(t, file)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// goFiles lists the files of a program.
func goFiles(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || files == nil {
		t.Fatal(files, err)
	}
	return files
}

func content(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// pasteBoth pastes the lines of a history into a shell for each of two fresh servers, and sees that what they
// print last differs as it was said.
func (x *table) pasteBoth(t *testing.T, e *ending) {
	t.Helper()
	for _, program := range []string{"sh", "curl", "jq"} {
		if !rig.Has(t, program) {
			return
		}
	}
	p, end := x.anew(t)
	defer end()
	var last [2]answer
	for i, side := range p.sides {
		shell := exec.Command("sh")
		shell.Env = append(os.Environ(), "URL="+side.url, "KEY="+side.keys[0], "KEY2="+side.keys[1])
		shell.Stdin = strings.NewReader(e.paste())
		out, err := shell.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, e.paste(), out)
		}
		lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
		last[i] = answer{status: 200, body: lines[len(lines)-1]}
	}
	if words := p.compare(e.sent[len(e.sent)-1].step, last); words != e.words {
		t.Errorf("pasted, they differ by %q and not by %q:\n%s", words, e.words, e.paste())
	}
}
