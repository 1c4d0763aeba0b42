package docs

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"
)

// root is the repository, seen from here.
const root = "../.."

// build returns the binary.
func build(t *testing.T) string {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// program has it once for all tests, in programDir. The go command keeps what it runs, not what it builds, so
// that it is linked only where something has changed.
var program = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(programDir, "waybill")
	out, err := exec.Command("go", "run", "-exec", "cp", "waybill", bin).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// programDir is where the program is that tests start.
var programDir string

// TestMain removes the program.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "waybill")
	if err == nil {
		err = os.Chmod(dir, 0o755) // another user runs the program, too
	}
	if err != nil {
		panic(err)
	}
	programDir = dir
	os.Setenv("GOGC", cmp.Or(os.Getenv("GOGC"), "400")) // of the programs, as those of package rig have it
	if out, err := exec.Command("python3", "-c", "import sys; print(sys.executable)").Output(); err == nil {
		at := filepath.Dir(strings.TrimSpace(string(out))) // without the script that chooses a version
		os.Setenv("PATH", at+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// pages are the README and what it leads to, in the order in which a newcomer reads them.
var pages = []string{"README.md", "server/docs/integrating.md", "server/docs/signing-in.md",
	"server/docs/reports.md",
	"server/docs/testing.md", "server/docs/migrating.md", "server/docs/operating.md", "server/docs/feed.md",
	"server/docs/carrier.md", "server/docs/standby.md", "server/docs/auditing.md", "server/docs/journal.md",
	"server/docs/rules.md",
	"server/docs/decisions.md", "server/docs/performance.md", "server/docs/code.md", "server/docs/tour.md",
	"server/docs/lesson.md", "server/docs/lesson-answers.md",
	"server/docs/glossary.md",
	"server/docs/write-your-own.md", "server/docs/two-servers.md", "server/docs/checking.md",
	"server/docs/compatibility.md", "server/docs/security.md", "server/docs/changes.md"}

// TestPages: the README is one page, names all others, every link to a file leads to one, and no line is
// wider than 110 columns but those of tables and, on other pages, of code.
func TestPages(t *testing.T) {
	t.Chdir(root)
	const maxWords, maxWidth = 1500, 110
	readme := content(t, "README.md")
	if n := len(strings.Fields(readme)); n > maxWords {
		t.Errorf("the README has %d words, at most %d", n, maxWords)
	}
	files, err := filepath.Glob("server/docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !slices.Contains(pages, file) || !strings.Contains(readme, "("+file+")") {
			t.Errorf("%s is no page that is tested, or the README does not lead to it", file)
		}
	}
	linked := regexp.MustCompile(`\]\(([^):#]+)[^):]*\)`)
	for _, page := range pages {
		for _, m := range linked.FindAllStringSubmatch(content(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s leads to %s: %v", page, m[1], err)
			}
		}
		code := false
		for i, line := range strings.Split(content(t, page), "\n") {
			code = code != strings.HasPrefix(line, "```")
			exempt := strings.HasPrefix(line, "|") || code && page != "README.md"
			if utf8.RuneCountInString(line) > maxWidth && !exempt {
				t.Errorf("%s:%d has more than %d columns", page, i+1, maxWidth)
			}
		}
	}
}

// TestReadme runs the commands that the README and its pages say to paste, in one shell, in a copy of what
// they need, and sees that they show what the README says. Those of the README and of the page for auditors
// are run again on the same server, and once more on a second one; with -long those of all pages are. Where
// there is no curl, it says so and runs none.
func TestReadme(t *testing.T) {
	t.Chdir(root)
	var all strings.Builder
	for _, page := range pages {
		all.WriteString(content(t, page))
	}
	text := all.String()
	more := content(t, "README.md") + content(t, "server/docs/auditing.md")
	if *long {
		more = text
	}
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("no curl: the README's commands are not run")
		return
	}
	bin := build(t)
	dir := t.TempDir()
	out := pastePages(t, pageBlocks(t, text), pageBlocks(t, more), bin, dir).out
	checkShown(t, text, out)
	if t.Failed() {
		t.Logf("%.4000s", out)
	}
	data := regexp.MustCompile(`(?m)^DATA=(.*)$`).FindStringSubmatch(out)
	if data == nil {
		t.Fatalf("%.4000s", out)
	}
	checkAudit(t, data[1])
	checkErased(t, bin, data[1])
	for _, file := range regexp.MustCompile("`([a-z]+/[a-z/]+\\.go)`").FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(file[1]); err != nil {
			t.Error(err)
		}
	}
	for _, block := range regexp.MustCompile("(?s)```sh serve\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for command := range strings.SplitSeq(strings.TrimSpace(block[1]), "\n") {
			p := startServer(t, bin, t.TempDir(), strings.Fields(command)[2:]...)
			p.stop(t, syscall.SIGTERM)
		}
	}
}

// checkShown sees that what was pasted shows what the pages say, and more of what it should.
func checkShown(t *testing.T, text, out string) {
	for _, want := range []string{
		`"status":"Confirmed","paymentStatus":"Paid"`,
		`"status":"Uncompleted"`, `"refundAmount":36`, "ticket.paid", "tickets.canceled", "(derived)  ticket",
		`"availableAccesses":[{"contextType":"COMPANY"`, `"revokedAt":null`, "anna@example.com is ADMIN",
		"name and password are as they were",
		`"busId":"bus-zor-02","isGeolocation":true`, "refundAmount,source,partner", "Ukrainka", "Sunset: ",
		"rel=\"deprecation\"", "no legacy call  gone for it from", "sound: ", "has all lines up to",
		"the books at ", "extends 1 checkpoint", "/backup is sound", "line 4 says what was cut",
		"dry run: nothing is changed", "wb_", "Second partner", "offers are signed with a new key", "dependencies none",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the output has no %s", want)
		}
	}
	for _, shown := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(shown[1]) {
			pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(line)), "…", ".*")
			if !regexp.MustCompile("(?m)^" + pattern + "$").MatchString(out) {
				t.Errorf("nothing that was pasted shows %q", line)
			}
		}
	}
	if _, err := exec.LookPath("python3"); err == nil && !strings.Contains(out, "as they were written (") {
		t.Error("the output has no word of verify.py")
	}
}

// checkAudit has audit.py judge the journal that the commands of the pages have left, and sees that it finds
// what was changed in it, and in the note that was kept. Where there is no Python, that is said.
func checkAudit(t *testing.T, data string) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Log("no python3: audit.py is not run")
		return
	}
	journal := filepath.Join(data, "journal/000000000001.jsonl")
	note := data + ".note"
	run := func() (string, error) {
		cmd := exec.Command("python3", "-I", "-S", "server/docs/audit.py", data, "-against", note, "-key",
			data+".pub")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if out, err := run(); err != nil || !strings.Contains(out, "sound") {
		t.Errorf("audit.py: %v\n%.2000s", err, out)
	}
	for name, texts := range map[string][]string{
		journal: spoilt(content(t, journal)),
		note:    spoiltNotes(content(t, note)),
	} {
		was := content(t, name)
		for i, changed := range texts {
			if !*long && i%5 > 0 {
				continue
			}
			write(t, name, changed)
			if out, err := run(); err == nil || changed == was {
				t.Errorf("audit.py does not find change %d of %s: %.200s", i, filepath.Base(name), out)
			}
		}
		write(t, name, was)
	}
}

// spoilt returns journals that were not written so.
func spoilt(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	last := len(lines) - 2
	all := func(lines ...[]string) string { return strings.Join(slices.Concat(lines...), "") }
	personal := regexp.MustCompile(`,"personal":{.*}}`)
	return []string{
		strings.Replace(text, `"amount":`, `"amount":1`, 1),
		strings.Replace(text, "Lesia", "Lesya", 1),
		text + lines[last],
		strings.Replace(text, `"seq":4,`, `"seq":5,`, 1),
		strings.Replace(text, "{", "\x00{", 1),
		text[:len(text)-3],
		all(lines[1:]),
		all(lines[:4], lines[5:]),
		all(lines[:5], lines[4:]),
		all(lines[:4], lines[5:6], lines[4:5], lines[6:]),
		personal.ReplaceAllString(text, "}"),
		personal.ReplaceAllString(text, ""),
		personal.ReplaceAllString(text, `,"personal":{"erased":"2026-11-20T09:00:00.000Z"}}`),
	}
}

// spoiltNotes returns notes that were not signed so.
func spoiltNotes(text string) []string {
	seq := strings.Split(text, "\n")[1]
	return []string{
		strings.Replace(text, "\n"+seq+"\n", "\n"+seq+"0\n", 1),
		strings.Replace(text, "T", "S", 1),
		strings.Replace(text, "\n— ", "\n— x", 1)[:100],
	}
}

// checkErased has audit.py judge a journal from which the program has erased a line's personal part: a line
// says so.
func checkErased(t *testing.T, bin, data string) {
	journal := filepath.Join(data, "journal/000000000001.jsonl")
	id := regexp.MustCompile(`"booking.created","data":{"booking":"([^"]+)"`).
		FindStringSubmatch(content(t, journal))
	out, err := exec.Command(bin, "forget", "-data", data, "-booking", id[1], "-reason", "a test").
		CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := exec.LookPath("python3"); err != nil {
		return // checkAudit has said so
	}
	out, err = exec.Command("python3", "-I", "-S", "server/docs/audit.py", data).CombinedOutput()
	if err != nil || !strings.Contains(content(t, journal), `"erased"`) {
		t.Errorf("audit.py: %v\n%s", err, out)
	}
}

func content(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serverProcess is the binary, serving.
type serverProcess struct {
	cmd  *exec.Cmd
	addr string
}

func startServer(t *testing.T, bin, dir string, flags ...string) *serverProcess {
	t.Helper()
	p := &serverProcess{cmd: exec.Command(bin,
		append([]string{"serve", "-addr", "127.0.0.1:0", "-data", filepath.Join(dir, "data")}, flags...)...)}
	stdout, noOut := p.cmd.StdoutPipe()
	stderr, noErr := p.cmd.StderrPipe()
	if err := errors.Join(noOut, noErr, p.cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	log := bufio.NewScanner(stderr)
	for log.Scan() {
		if m := servingAt.FindStringSubmatch(log.Text()); m != nil {
			p.addr = m[1]
			break
		}
	}
	if p.addr == "" {
		t.Fatal("the server does not say where it serves")
	}
	go io.Copy(io.Discard, stderr)
	go io.Copy(io.Discard, stdout)
	return p
}

func (p *serverProcess) stop(t *testing.T, sig os.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		t.Error(err)
	}
	if err := p.cmd.Wait(); err != nil && sig != syscall.SIGKILL {
		t.Errorf("%v: %v", sig, err)
	}
}

// servingAt finds the address in the log of a server that has started.
var servingAt = regexp.MustCompile(`"msg":"serving","addr":"([^"]+)"`)
