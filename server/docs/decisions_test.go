package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decision finds the rows of decisions.md: the id, and the cell of files.
var decision = regexp.MustCompile("(?m)^\\| `([^`]*)` \\| .+ \\| .+ \\| (.+) \\|$")

// citation finds where a comment or a page speaks of decisions by their ids, also where a line breaks.
var citation = regexp.MustCompile(`\b[Dd]ecisions?[\s/#]+([a-z]+(?:\.[a-z]+)+(?:,[\s/#]+[a-z]+(?:\.[a-z]+)+)*)`)

// Each decision has an id of its own, and a file that is there.
func TestDecisions(t *testing.T) {
	t.Chdir(root)
	ids := decisionIDs(t)
	form := regexp.MustCompile(`^[a-z]+(\.[a-z]+)+$`)
	for i, id := range ids {
		if !form.MatchString(id) {
			t.Errorf("%s is no id: lower-case words with dots between", id)
		}
		if slices.Contains(ids[:i], id) {
			t.Errorf("%s is the id of two decisions", id)
		}
	}
	page := content(t, "server/docs/decisions.md")
	code := regexp.MustCompile("`([^`]+)`")
	for _, row := range decision.FindAllStringSubmatch(page, -1) {
		for _, file := range code.FindAllStringSubmatch(row[2], -1) {
			if _, err := os.Stat(file[1]); err != nil {
				t.Errorf("%s: %v", row[1], err)
			}
		}
	}
	const sections = 10
	if n := strings.Count(page, "\n## "); n != sections {
		t.Errorf("decisions.md has %d sections, want %d", n, sections)
	}
	// A row that lacks a cell would not be found above, and nobody would miss it.
	if rows := strings.Count(page, "\n| ") - sections; rows != len(ids) {
		t.Errorf("decisions.md has %d rows, of which %d have four cells", rows, len(ids))
	}
}

// What comments and pages cite is there.
func TestCitedDecisionsAreThere(t *testing.T) {
	t.Chdir(root)
	ids := decisionIDs(t)
	cited := 0
	for name, text := range readable(t) {
		for _, m := range citation.FindAllStringSubmatch(text, -1) {
			cited++
			for _, id := range regexp.MustCompile(`[a-z.]+`).FindAllString(m[1], -1) {
				if !slices.Contains(ids, id) {
					t.Errorf("%s cites the decision %s, which decisions.md does not have", name, id)
				}
			}
		}
	}
	if cited == 0 {
		t.Error("nothing cites a decision: the test does not see what it should")
	}
}

// Nobody who has only the repository can look a section of the contract up: its decisions have ids here.
func TestNothingCitesTheContract(t *testing.T) {
	t.Chdir(root)
	section := regexp.MustCompile(`(?i)contract[\s/#,]*(section )?(§|[0-9])`)
	for name, text := range readable(t) {
		if section.MatchString(text) {
			t.Errorf("%s cites the contract, which a reader does not have: name the decision by its id", name)
		}
	}
}

// Each test that CI names is there: of a name that has changed `go test` would say that all is well. What the
// race detector is not given is one test each, so that none of another package goes with it.
func TestCINamesTests(t *testing.T) {
	t.Chdir(root)
	var declared strings.Builder
	declared.WriteString("\n")
	for name, text := range readable(t) {
		if strings.HasSuffix(name, "_test.go") {
			for _, f := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(text, -1) {
				declared.WriteString(f[1] + "\n\n")
			}
		}
	}
	for _, name := range regexp.MustCompile(`Test[A-Z]\w*`).FindAllString(content(t, ".ci/run"), -1) {
		if !strings.Contains(declared.String(), "\n"+name) {
			t.Errorf("CI names the test %s, which is not there", name)
		}
	}
	for line := range strings.Lines(content(t, ".ci/single")) {
		if n := strings.Count(declared.String(), "\n"+line); line[0] != '#' && n != 1 {
			t.Errorf("%d tests have the name %s that .ci/single keeps from the race detector", n, line)
		}
	}
}

// decisionIDs returns the ids of decisions.md, in its order.
func decisionIDs(t *testing.T) (ids []string) {
	t.Helper()
	for _, row := range decision.FindAllStringSubmatch(content(t, "server/docs/decisions.md"), -1) {
		ids = append(ids, row[1])
	}
	return ids
}

// readable returns the texts of the repository that a reader of the code meets, by name.
func readable(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if err == nil && (name == "vendor" || len(name) > 1 && name[0] == '.') {
				return fs.SkipDir
			}
			return err
		}
		if slices.Contains([]string{".go", ".md", ".html", ".json", ".py", ".txt"}, filepath.Ext(name)) {
			texts[filepath.ToSlash(name)] = content(t, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}
