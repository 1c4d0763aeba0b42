package docs

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// plays is how often the README is played. What differs from one time to another, as a note that comes a
// moment after a line, is seen by many.
var plays = flag.Int("plays", 1, "how often the README's blocks are pasted")

// TestTheReadmeShowsAllOfWhatOneSees pastes the README's blocks in one go, as a newcomer does, and compares
// all that they print, line by line, with what the page shows after each. Where the page leaves a part of a
// line out, it has "…".
func TestTheReadmeShowsAllOfWhatOneSees(t *testing.T) {
	t.Chdir(root)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("no curl: the README's commands are not run")
		return
	}
	list := blocksShown(content(t, "README.md"))
	bin := build(t)
	var script strings.Builder
	script.WriteString("trap 'kill $SERVER 2>&- || true' EXIT\nSERVER=\n")
	const mark = "<<the next block>>"
	for range max(1, *plays) {
		for _, b := range list {
			built := strings.Replace(b.commands, "go build -o waybill .", "ln -sf "+bin+" waybill", 1)
			script.WriteString(built)
			script.WriteString("echo; echo '" + mark + "'\n")
		}
	}
	sh := exec.Command("sh", "-c", script.String())
	sh.Dir = t.TempDir()
	sh.Env = append(os.Environ(), "TMPDIR="+sh.Dir)
	out, err := sh.Output() // what the server logs goes to another place
	if err != nil {
		t.Fatalf("%v\n%.4000s", err, out)
	}
	said := strings.Split(string(out), mark+"\n")
	if len(said) != len(list)*max(1, *plays)+1 {
		t.Fatalf("%d blocks were played, want %d", len(said)-1, len(list)*max(1, *plays))
	}
	for i, text := range said[:len(said)-1] {
		compareShown(t, list[i%len(list)], text)
	}
	if matches, _ := filepath.Glob(filepath.Join(sh.Dir, "*", "data")); len(matches) == 0 {
		t.Error("no directory was served")
	}
}

// block is what a page says to paste, and the lines that it says one sees.
type block struct {
	commands string
	shown    []string
}

// blocksShown returns the blocks of a page that are pasted, in order. The text blocks that follow one are
// what it shows.
func blocksShown(page string) (list []block) {
	for _, m := range regexp.MustCompile("(?s)```(sh demo|text)\n(.*?)```").FindAllStringSubmatch(page, -1) {
		if m[1] == "sh demo" {
			list = append(list, block{commands: m[2]})
		} else {
			last := &list[len(list)-1]
			last.shown = append(last.shown, strings.Split(strings.TrimSuffix(m[2], "\n"), "\n")...)
		}
	}
	return list
}

// compareShown compares what a block has printed with what the page shows, where … is anything within a line.
func compareShown(t *testing.T, b block, out string) {
	t.Helper()
	var lines []string
	for line := range strings.Lines(out) {
		if line = strings.TrimSuffix(line, "\n"); line != "" {
			lines = append(lines, line)
		}
	}
	for i, want := range b.shown {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*") + "$"
		if i >= len(lines) {
			t.Errorf("nothing is printed where the page shows %q", want)
		} else if !regexp.MustCompile(pattern).MatchString(lines[i]) {
			t.Errorf("the page shows %q, printed was %.400q", want, lines[i])
		}
	}
	for _, line := range lines[min(len(lines), len(b.shown)):] {
		t.Errorf("the page does not show %.400q", line)
	}
}
