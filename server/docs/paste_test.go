package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pasted is what came of commands that were pasted into a shell.
type pasted struct {
	out    string
	failed []string // commands, with their exit codes
}

// A paste is commands that are pasted into one shell, one after the other, as from a page: the shell reads
// them from its input, and none stops those after it. So that none hides its failure either, the exit code of
// each is looked at, and in a pipeline that of each part.
type paste struct {
	shell  string
	script strings.Builder
	lines  []string // that were pasted, by the number of the check after them
	// commands are those of each block that was added.
	commands map[string][]string
}

// newPaste returns a paste into the shell that most have. Where it is not there, a plain one does, which does
// not tell how the parts of a pipeline have ended.
func newPaste() *paste {
	p := &paste{shell: "sh", commands: map[string][]string{}}
	if _, err := exec.LookPath("bash"); err == nil {
		p.shell = "bash"
	}
	return p
}

// add pastes the commands of a block.
func (p *paste) add(t *testing.T, block string) {
	t.Helper()
	if _, ok := p.commands[block]; !ok {
		p.commands[block] = p.divide(t, block)
	}
	for _, command := range p.commands[block] {
		p.lines = append(p.lines, command)
		p.script.WriteString(command + p.check(len(p.lines)-1))
	}
}

// divide returns the commands of a block. The shell says where one is whole.
func (p *paste) divide(t *testing.T, block string) (commands []string) {
	t.Helper()
	command := ""
	for line := range strings.Lines(block) {
		command += line
		whole := !strings.HasSuffix(line, "\\\n") && exec.Command(p.shell, "-nc", command).Run() == nil
		if whole && strings.TrimSpace(command) != "" {
			commands = append(commands, command)
			command = ""
		}
	}
	if strings.TrimSpace(command) != "" {
		t.Errorf("this is no whole command:\n%s", command)
	}
	return commands
}

// check returns the line after a command that says how it ended, unless that was well.
func (p *paste) check(number int) string {
	statuses := "$?"
	if p.shell == "bash" {
		statuses = `"${PIPESTATUS[@]}"`
	}
	const look = "for status in %s; do [ $status = 0 ] || echo \"FAILED %d $status\"; done\n"
	return fmt.Sprintf(look, statuses, number)
}

// run pastes all that was added, in a directory. The shell may end with a failure only where it is left.
func (p *paste) run(dir string, env ...string) (done pasted, err error) {
	sh := exec.Command(p.shell)
	sh.Dir = dir
	sh.Env = append(os.Environ(), env...)
	sh.Stdin = strings.NewReader(p.script.String())
	out, err := sh.CombinedOutput()
	failure := regexp.MustCompile(`(?m)^FAILED (\d+) (\d+)\n`)
	for _, x := range failure.FindAllStringSubmatch(string(out), -1) {
		number := 0
		fmt.Sscan(x[1], &number)
		done.failed = append(done.failed, fmt.Sprintf("exit code %s of %s", x[2], p.lines[number]))
	}
	done.out = failure.ReplaceAllString(string(out), "")
	return done, err
}

// No command that fails is passed over when a page's commands are pasted, wherever it stands in a line.
func TestAPastedCommandThatFailsIsSeen(t *testing.T) {
	for block, want := range map[string]int{
		"echo one\necho two |\n  head -n 1\n":                   0,
		"for i in 1 2; do\n  [ $i = 2 ] && break\ndone\n":       0,
		"[ '' ] || echo so\n":                                   0,
		"cd nowhere && ls && echo good\necho more\n":            1,
		"nosuch\necho more\n":                                   1,
		"nosuch --that \\\n  --is long\n":                       1,
		"grep -q x /nowhere; test $? = 1 && echo gone\n":        1,
		"(cd nowhere && echo good)\n(exit 3)\n":                 2,
		"X=$(cat /nowhere)\ncat <(echo 1) > /dev/null; false\n": 2,
	} {
		p := newPaste()
		if p.shell != "bash" && strings.Contains(block, "<(") {
			continue
		}
		p.add(t, block)
		done, err := p.run(t.TempDir())
		if err != nil || len(done.failed) != want {
			t.Errorf("%q: %q, %v\n%s", block, done.failed, err, done.out)
		}
	}
	if p := newPaste(); p.shell == "bash" {
		p.add(t, "nosuch | head -n 1\necho x | grep y | cat\n")
		if done, err := p.run(t.TempDir()); err != nil || len(done.failed) != 2 {
			t.Errorf("in pipelines: %q, %v\n%s", done.failed, err, done.out)
		}
	}
}

// pageBlocks returns the commands of the pages that are pasted in order, of those that this machine can do.
// The first starts the server.
func pageBlocks(t *testing.T, text string) (blocks []string) {
	t.Helper()
	tools := map[string]string{
		"demo":     "sh",
		"audit":    "python3",
		"evidence": "python3",
	}
	fenced := regexp.MustCompile("(?s)```sh (demo|audit|evidence)\n(.*?)```")
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		if _, err := exec.LookPath(tools[block[1]]); err != nil {
			t.Logf("no %s: the lines in ```sh %s are not pasted", tools[block[1]], block[1])
			continue
		}
		blocks = append(blocks, block[2])
	}
	return blocks
}

// pastePages pastes the commands of the pages in one shell, then those of some pages again, then these once
// more from the first on, with another server, in a copy of what they need.
func pastePages(t *testing.T, blocks, more []string, bin, dir string) pasted {
	t.Helper()
	if err := os.CopyFS(filepath.Join(dir, "testdata"), os.DirFS("testdata")); err != nil {
		t.Fatal(err)
	}
	p := newPaste()
	all := func(blocks []string) {
		for _, block := range blocks {
			p.add(t, strings.ReplaceAll(block, "go build -o waybill .", "ln -sf "+bin+" waybill"))
		}
	}
	p.add(t, "trap 'kill $SERVER 2>&- || true' EXIT\nSERVER=\n")
	all(blocks)
	p.add(t, ". \"$WAYBILL_DATA.sh\"\n") // what the server has printed
	all(more[1:])
	p.add(t, "echo once more\n")
	all(more)
	p.add(t, "kill $SERVER\nwait $SERVER\necho DATA=$WAYBILL_DATA\n")
	done, err := p.run(dir, "TMPDIR="+dir)
	if err != nil {
		t.Fatalf("%v\n%s", err, done.out)
	}
	for _, failed := range done.failed {
		t.Error(failed)
	}
	return done
}
