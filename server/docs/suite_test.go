package docs

import (
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// suite returns the blocks of the page for testers that are in a language.
func suite(t *testing.T, language string) (blocks []string) {
	t.Helper()
	fenced := regexp.MustCompile("(?s)```" + language + " suite\n(.*?)```")
	for _, block := range fenced.FindAllStringSubmatch(content(t, "server/docs/testing.md"), -1) {
		blocks = append(blocks, block[1])
	}
	if blocks == nil {
		t.Fatalf("no example in %s", language)
	}
	return blocks
}

// freeAddress returns an address that nobody listens at.
func freeAddress(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

var long = flag.Bool("long", false, "try all, and not each kind once")

// TestSuiteExamples runs what the page for testers says to paste, with its example in each language that is
// there, and all of it a second time.
func TestSuiteExamples(t *testing.T) {
	t.Chdir(root)
	if _, err := exec.LookPath("curl"); err != nil {
		t.Log("no curl: the examples are not run")
		return
	}
	dir := t.TempDir()
	if err := os.Symlink(build(t), filepath.Join(dir, "waybill")); err != nil {
		t.Fatal(err)
	}
	shell := suite(t, "sh")
	var examples strings.Builder
	examples.WriteString(shell[1] + shell[2])
	said := []string{"shell: one booking, paid once, one letter"}
	for _, x := range []struct{ language, needs, file, run, says string }{
		{"go", "go", "suite_test.go", "go test -count=1 suite_test.go", "ok  \tcommand-line-arguments"},
		{"js", "node", "suite.mjs", "node --test suite.mjs", "pass 1"},
		{"python", "python3", "suite.py", "python3 -I suite.py", "Ran 1 test"},
	} {
		if err := exec.Command(x.needs, "--version").Run(); err != nil && x.needs != "go" {
			t.Logf("no %s: its example is not run", x.needs)
			continue
		}
		example := suite(t, x.language)[0]
		if err := os.WriteFile(filepath.Join(dir, x.file), []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		examples.WriteString(x.run + "\n")
		said = append(said, x.says)
	}
	again := shell[2] // by default the examples in languages are not run a second time
	times := []int{2, 1}
	if *long {
		again = examples.String()
		times[1] = 2
	}
	begin := strings.Replace(shell[0], "go build -o waybill .\n", "", 1)
	script := "trap 'kill $SERVER 2>&- || true' EXIT\nSERVER=\n" + begin + examples.String() + shell[3] +
		begin + again + shell[3] // a second time
	script = strings.ReplaceAll(script, "127.0.0.1:8080", freeAddress(t))
	script = strings.ReplaceAll(script, "127.0.0.1:8081", freeAddress(t))
	p := newPaste()
	p.add(t, script)
	done, err := p.run(dir, "TMPDIR="+dir, "GOFLAGS=")
	out := done.out
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, failed := range done.failed {
		t.Error(failed)
	}
	for i, want := range said {
		if n := times[min(i, 1)]; strings.Count(out, want) != n {
			t.Errorf("%q is not said %d times", want, n)
		}
	}
	if !strings.Contains(out, " passed, 0 failed, ") {
		t.Error("the rules are not kept")
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
