package histories

import (
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
)

// mistake is what somebody who writes a server gets wrong, as edits of the small server in testdata/mini.
type mistake struct {
	rule, name, said string
	warning          string // in write-your-own.md, of this mistake; "" where it has none
	edits            []edit
}

// edit replaces a text of a file, which is there once.
type edit struct{ file, old, text string }

// mistakeLine is the first of a mistake.
var mistakeLine = regexp.MustCompile(`^mistake (\d+\.\d\d) (\S+): (.+)$`)

// readMistakes reads mistakes.txt.
func readMistakes(t *testing.T) (list []*mistake) {
	t.Helper()
	text, err := os.ReadFile(rig.File("server/lab/conform/testdata/mistakes.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		m := mistakeLine.FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#':
		case m != nil:
			list = append(list, &mistake{rule: m[1], name: m[2], said: m[3]})
		case len(list) == 0:
			t.Fatalf("%q is of no mistake", line)
		case strings.HasPrefix(line, "> "):
			list[len(list)-1].warning = line[2:]
		case strings.HasSuffix(line, ".go") && line[0] != '-' && line[0] != '+':
			last := list[len(list)-1]
			last.edits = append(last.edits, edit{file: line})
		default:
			edits := list[len(list)-1].edits
			e := &edits[len(edits)-1]
			if line[0] == '-' {
				e.old += strings.TrimPrefix(line[1:], " ") + "\n"
			} else {
				e.text += strings.TrimPrefix(line[1:], " ") + "\n"
			}
		}
	}
	return list
}

// write writes the small server with the mistake in it into a directory.
func (m *mistake) write(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(rig.File("testdata/mini"))); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	for _, e := range m.edits {
		name := filepath.Join(dir, e.file)
		source, err := os.ReadFile(name)
		if n := strings.Count(string(source), e.old); err != nil || n != 1 {
			t.Fatalf("%s: what it replaces is %d times in %s: %v", m.name, n, e.file, err)
		}
		text := strings.Replace(string(source), e.old, e.text, 1)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// someMistakes is of how many one is played where not all of them are.
const someMistakes = 40

// Each mistake is found by a rule of the stage in which somebody makes it, with a server beside that has
// none. All are programs of one module, so that the go command builds them together.
func TestMistakesAreFound(t *testing.T) {
	o := startOurs(t, rig.File("testdata/demo"))
	list := readMistakes(t)
	if len(list) < 60 {
		t.Errorf("there are only %d mistakes", len(list))
	}
	if !*rig.Long {
		some := list[:0:0]
		for i := 0; i < len(list); i += someMistakes {
			some = append(some, list[i])
		}
		list = some
	}
	module := t.TempDir()
	for _, m := range list {
		m.write(t, filepath.Join(module, m.name))
	}
	goMod := []byte("module mistakes\n\ngo 1.26\n")
	if err := os.WriteFile(filepath.Join(module, "go.mod"), goMod, 0o600); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Join(module, "bin") + "/"
	build := exec.Command("go", "build", "-ldflags=-s -w", "-o", programs, "./...")
	build.Dir = module
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, m := range list {
		t.Run(m.name, func(t *testing.T) {
			m.isFound(t, o, programs+m.name)
		})
	}
}

// Where the page says where most get stuck in a stage, a rule of that stage finds who got stuck.
func TestWhereMostGetStuck(t *testing.T) {
	page, err := os.ReadFile(rig.File("server/docs/write-your-own.md"))
	if err != nil {
		t.Fatal(err)
	}
	paragraphs := regexp.MustCompile(`(?s)\n## Stage (\d):.*?\nWhere most get stuck: (.*?)\n\n`)
	warned := map[string]string{}
	for _, m := range paragraphs.FindAllStringSubmatch(string(page), -1) {
		warned[m[1]] = strings.ReplaceAll(m[2], "\n", " ")
	}
	found := map[string]bool{}
	for _, m := range readMistakes(t) {
		stage, _, _ := strings.Cut(m.rule, ".")
		if m.warning != "" && !strings.Contains(warned[stage], m.warning) {
			t.Errorf("%s: in stage %s the page does not warn that %q, but says %q", m.name, stage, m.warning,
				warned[stage])
		}
		found[stage] = found[stage] || m.warning != ""
	}
	for _, stage := range slices.Sorted(maps.Keys(warned)) {
		if !found[stage] {
			t.Errorf("no mistake is one of which stage %s warns: %q", stage, warned[stage])
		}
	}
	if len(warned) != 9 {
		t.Errorf("%d stages warn", len(warned))
	}
}

// isFound plays the stage of a mistake against the server that has it.
func (m *mistake) isFound(t *testing.T, o *ours, program string) {
	s := startMini(t, program, stillAtStart(rig.File("testdata/demo"))...)
	defer s.stop()
	o.reset(t)
	opt := conform.Options{
		BaseURL:   s.url,
		Key:       s.keys[0],
		Key2:      s.keys[1],
		IDToken:   s.said["ID_TOKEN"],
		Email:     s.said["EMAIL"],
		Password:  s.said["PASSWORD"],
		FMSObject: s.said["FMS"],
		Write:     true,
		LikeURL:   o.url,
		LikeKey:   o.keys[0],
	}
	opt.Stage, _ = strconv.Atoi(strings.Split(m.rule, ".")[0])
	sum, err := conform.Run(opt, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var failed []string
	for _, r := range sum.Results {
		if r.Verdict == conform.Fail {
			failed = append(failed, r.ID)
		}
	}
	if !slices.Contains(failed, m.rule) {
		t.Errorf("%s is not found by %s, but by %v", m.said, m.rule, failed)
	}
}
