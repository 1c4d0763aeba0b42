package docs

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// patches has all changes of the tour tried. Without it one is, so that go test ./... stays short.
var patches = flag.Bool("patches", false, "try all changes of the tour, and not one alone")

// A change is one that breaks a promise of the tour, as it stands in testdata/tour.
type change struct {
	name  string // of the file, without its suffix
	pkg   string // ./booking
	test  string // that must fail
	among string // the tests that are run, a regular expression; "" is all of the package
	file  string // that it changes
	text  string // of the file once it is changed
}

// changes returns the tour's changes, in its order.
func changes(t *testing.T) (list []change) {
	t.Helper()
	files, err := filepath.Glob("testdata/tour/*.patch")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		c := change{name: strings.TrimSuffix(filepath.Base(file), ".patch")}
		head, diff, _ := strings.Cut(content(t, file), "\n--- a/")
		about := func(name string) string {
			m := regexp.MustCompile("(?m)^" + name + ": (.*)$").FindStringSubmatch(head)
			if m == nil {
				return ""
			}
			return m[1]
		}
		c.pkg, c.test, _ = strings.Cut(about("Test"), " ")
		c.among = about("Among")
		c.file, _, _ = strings.Cut(diff, "\n")
		if c.text, err = patched(content(t, c.file), diff); err != nil {
			t.Errorf("%s does not fit %s: %v", file, c.file, err)
		}
		list = append(list, c)
	}
	return list
}

// patched returns a text with the hunks of a unified diff carried out. Each must fit in one place.
func patched(text, diff string) (string, error) {
	hunks := regexp.MustCompile(`(?m)^@@ .*\n`).Split(diff, -1)[1:]
	for _, hunk := range hunks {
		var was, becomes strings.Builder
		for line := range strings.Lines(hunk) {
			if line[0] != '+' {
				was.WriteString(line[1:])
			}
			if line[0] != '-' {
				becomes.WriteString(line[1:])
			}
		}
		if n := strings.Count(text, was.String()); n != 1 {
			return "", fmt.Errorf("what it changes stands in %d places:\n%s", n, &was)
		}
		text = strings.Replace(text, was.String(), becomes.String(), 1)
	}
	return text, nil
}

// model is a test that plays random histories of all that booking does. It finds many a change, too, and says
// less of what broke than the test that a stop names.
const model = "TestNoSeatIsSoldTwice"

// TestEachChangeOfTheTourBreaksItsTest tries the changes that the tour says break a promise: each is made in
// a copy of its file, and then that test fails, and no other of the package but the model.
func TestEachChangeOfTheTourBreaksItsTest(t *testing.T) {
	t.Chdir(root)
	list := changes(t)
	for _, c := range list {
		formatted, err := format.Source([]byte(c.text))
		if err != nil || string(formatted) != c.text {
			t.Errorf("%s: what it makes of %s is not formatted Go: %v", c.name, c.file, err)
		}
	}
	if !*patches {
		list = slices.DeleteFunc(list, func(c change) bool {
			return !strings.Contains(c.name, "04-decision")
		})
	}
	if len(list) == 0 {
		t.Fatal("there is no change to try")
	}
	for _, c := range list {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			failed := slices.DeleteFunc(c.try(t), func(name string) bool { return name == model })
			if !slices.Equal(failed, []string{c.test}) {
				t.Errorf("%q failed, want %s alone", failed, c.test)
			}
		})
	}
}

// try runs the tests of the change's package with the change, and returns which fail.
func (c *change) try(t *testing.T) (failed []string) {
	t.Helper()
	dir := t.TempDir()
	file, err := filepath.Abs(c.file)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, "changed.go")
	overlay := filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{file: copied}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{copied: c.text, overlay: string(replace)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"test", "-overlay", overlay, "-vet=off"}
	if c.among != "" {
		args = append(args, "-run", "^("+c.among+")$")
	}
	out, err := exec.Command("go", append(args, c.pkg)...).CombinedOutput()
	for _, m := range regexp.MustCompile(`(?m)^--- FAIL: (\w+)`).FindAllSubmatch(out, -1) {
		failed = append(failed, string(m[1]))
	}
	if err == nil || len(failed) == 0 {
		t.Logf("%v\n%s", err, out)
	}
	return failed
}

// A stop of the tour, as its page has it.
type stop struct {
	title string
	text  string
}

// stops returns the stops of the tour.
func stops(t *testing.T) (list []stop) {
	t.Helper()
	parts := regexp.MustCompile(`(?m)^## (\d+\. .*)\n`).Split(content(t, "server/docs/tour.md"), -1)
	titles := regexp.MustCompile(
		`(?m)^## (\d+\. .*)\n`,
	).FindAllStringSubmatch(
		content(t, "server/docs/tour.md"),
		-1,
	)
	for i, m := range titles {
		text, _, _ := strings.Cut(parts[i+1], "\n## ")
		list = append(list, stop{title: m[1], text: text})
	}
	return list
}

// TestEachStopOfTheTourIsWhole: each stop names functions that there are, asks three questions whose answers
// are folded away, and names its change and the test that it breaks.
func TestEachStopOfTheTourIsWhole(t *testing.T) {
	t.Chdir(root)
	list := stops(t)
	made := changes(t)
	if len(list) != len(made) {
		t.Errorf("%d stops, and %d changes", len(list), len(made))
	}
	for i, s := range list {
		if !strings.HasPrefix(s.title, fmt.Sprint(i+1, ". ")) {
			t.Errorf("stop %d is called %q", i+1, s.title)
		}
		code := regexp.MustCompile("(?m)^- `([^`]+)` in `([^`]+)`$").FindAllStringSubmatch(s.text, -1)
		if len(code) == 0 {
			t.Errorf("stop %s names no function", s.title)
		}
		for _, m := range code {
			if !declares(t, m[2], m[1]) {
				t.Errorf("stop %s: %s has no %s", s.title, m[2], m[1])
			}
		}
		questions := strings.Count(s.text, "<details>\n<summary>")
		if questions != 3 || strings.Count(s.text, "</details>") != 3 {
			t.Errorf("stop %s asks %d questions, want 3", s.title, questions)
		}
		if i >= len(made) {
			continue
		}
		c := made[i]
		for _, name := range []string{"testdata/tour/" + c.name + ".patch", "`" + c.test + "`"} {
			if !strings.Contains(s.text, name) {
				t.Errorf("stop %s does not name %s", s.title, name)
			}
		}
		if !hasTest(t, c.pkg, c.test) {
			t.Errorf("%s has no %s", c.pkg, c.test)
		}
	}
}

// declares reports whether a file declares a function, or a method written as Type.Method.
func declares(t *testing.T, file, name string) bool {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(tree.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && named(f) == name
	})
}

// named returns what the tour calls a function.
func named(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	switch x := of.(type) {
	case *ast.IndexExpr:
		of = x.X
	case *ast.IndexListExpr:
		of = x.X
	}
	return fmt.Sprint(of) + "." + f.Name.Name
}

// hasTest reports whether a package has a test.
func hasTest(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		return declares(t, file, test)
	})
}
