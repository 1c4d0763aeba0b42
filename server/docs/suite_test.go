package docs

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"waybill/server/lab/ports"
)

// suite returns the example in a language that stands under a heading of the page for testers.
func suite(t *testing.T, heading, language string) string {
	t.Helper()
	blocks := fencedSuite(suiteSection(t, heading), language)
	if len(blocks) != 1 {
		t.Fatalf("there are %d examples in %s under %q", len(blocks), language, heading)
	}
	return blocks[0]
}

// suiteSection returns what stands under a heading of the page for testers.
func suiteSection(t *testing.T, heading string) string {
	t.Helper()
	_, section, found := strings.Cut(content(t, "server/docs/testing.md"), "\n## "+heading+"\n")
	if !found {
		t.Fatalf("the page for testers has no %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// fencedSuite returns the examples in a language that stand in a text.
func fencedSuite(text, language string) (blocks []string) {
	fenced := regexp.MustCompile("(?s)```" + language + " suite\n(.*?)```")
	for _, block := range fenced.FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

var long = flag.Bool("long", false, "try all, and not each kind once")

// TestSuiteExamples runs what the page for testers says to paste into a shell, and most of it a second time.
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
	shell := fencedSuite(suiteSection(t, "In a plain shell"), "sh")
	if len(shell) != 2 {
		t.Fatalf("%d blocks start a server and test it", len(shell))
	}
	begin := strings.Replace(shell[0], "go build -o waybill .\n", "", 1)
	record := suite(t, "How near it is to the service", "sh")
	judge := suite(t, "Is it the service?", "sh")
	again := shell[1] + judge // by default a recording is not made a second time
	if *long {
		again = shell[1] + record + judge
	}
	script := "trap 'kill $SERVER 2>&- || true' EXIT\nSERVER=\n" + begin + shell[1] + record + judge + begin + again
	p := newPaste()
	p.add(t, atFreeAddresses(t, script))
	done, err := p.run(dir, "TMPDIR="+dir)
	out := done.out
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, failed := range done.failed {
		t.Error(failed)
	}
	for _, want := range []string{
		"shell: one booking, paid once, one letter",
		" passed, 0 failed (0 causes)",
	} {
		if strings.Count(out, want) != 2 {
			t.Errorf("%q is not said twice", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// atFreeAddresses returns an example whose server, and the worlds beside it, are at addresses of their own.
func atFreeAddresses(t *testing.T, text string) string {
	t.Helper()
	for _, address := range []string{"127.0.0.1:8080", "127.0.0.1:8081"} {
		if !strings.Contains(text, address) {
			t.Errorf("no server is at %s", address)
		}
		text = strings.ReplaceAll(text, address, ports.Address(t))
	}
	return text
}

// TestProgramsOfTheSuite runs the whole programs of the page for testers in each language that is here: they
// start the binary themselves, and leave nothing behind.
func TestProgramsOfTheSuite(t *testing.T) {
	t.Chdir(root)
	for _, x := range []struct{ heading, language, needs, file, option, says string }{
		{"In Node", "js", "node", "suite.mjs", "--test", "pass 2"},
		{"In Python", "python", "python3", "suite.py", "-I", "Ran 2 tests"},
	} {
		example := atFreeAddresses(t, suite(t, x.heading, x.language))
		if err := exec.Command(x.needs, "--version").Run(); err != nil {
			t.Logf("no %s: its program is not run", x.needs)
			continue
		}
		dir := t.TempDir()
		if err := os.Symlink(build(t), filepath.Join(dir, "waybill")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, x.file), []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		temp := filepath.Join(dir, "temp")
		if err := os.Mkdir(temp, 0o700); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(x.needs, x.option, x.file)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), x.says) {
			t.Errorf("%s: %v\n%s", x.file, err, out)
		}
		if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
			t.Errorf("%s leaves %v, %v", x.file, left, err)
		}
	}
}

// TestTheModuleOfTheSuite writes the module with which the page for testers begins, and runs its tests as
// another module's, with no network and no module but ours.
func TestTheModuleOfTheSuite(t *testing.T) {
	t.Chdir(root)
	repository, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	_, first, _ := strings.Cut(content(t, "server/docs/testing.md"), "\n```")
	if !strings.HasPrefix(first, "mod suite\n") {
		t.Error("another example stands before the module")
	}
	dir := t.TempDir()
	const beside = "replace waybill => ../waybill\n"
	module := suite(t, "In Go", "mod")
	if !strings.Contains(module, beside) {
		t.Errorf("it does not say where Waybill is:\n%s", module)
	}
	// Waybill is where it is, or all of it would be compiled again.
	module = strings.Replace(module, beside, "replace waybill => "+repository+"\n", 1)
	for name, text := range map[string]string{
		"go.mod":       module,
		"shop_test.go": suite(t, "In Go", "go"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test := exec.Command("go", "test", "-v", "./...")
	test.Dir = dir
	test.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off",
		"GOMODCACHE="+filepath.Join(dir, "none"))
	out, err := test.CombinedOutput()
	if err != nil || strings.Count(string(out), "--- PASS: TestShop/") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
	if text, err := exec.Command("gofmt", "-l", dir).CombinedOutput(); err != nil || len(text) > 0 {
		t.Errorf("gofmt: %v %s", err, text)
	}
}
