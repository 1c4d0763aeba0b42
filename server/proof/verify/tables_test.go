package verify_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/lab/rig"
)

// The members of lines and rows that audit.py checks are those of journal.md, in the order of its tables.
func TestTheSecondAuditorHasTheTablesOfThePage(t *testing.T) {
	page, err := os.ReadFile(rig.File("server/docs/journal.md"))
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(rig.File("server/docs/audit.py"))
	if err != nil {
		t.Fatal(err)
	}
	_, tables, _ := strings.Cut(string(script), "\nTABLES = \"\"\"\n")
	tables, _, _ = strings.Cut(tables, "\n\"\"\"")
	has := strings.Split(regexp.MustCompile(`\n +`).ReplaceAllString(tables, " "), "\n")
	want := tablesOf(string(page))
	for i := range max(len(has), len(want)) {
		if i >= len(has) || i >= len(want) || has[i] != want[i] {
			t.Fatalf("audit.py has %q, and the page %q", has[min(i, len(has)):], want[min(i, len(want)):])
		}
	}
}

var (
	headingOfPage = regexp.MustCompile(`^#+ (.*)`)
	memberOfPage  = regexp.MustCompile("^\\| `([^`]+)` \\| ([^|]+) \\|")
	rowOfNumbers  = regexp.MustCompile(`^A row is a list of (\w+),`)
)

// tablesOf returns the tables of members of the page, in the notation of audit.py.
func tablesOf(page string) (rows []string) {
	var heading string
	var table *tableMember
	end := func() {
		if table != nil {
			rows = append(rows, strings.TrimSuffix(table.kind+": "+table.inner(), " "))
		}
		table = nil
	}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		cells := memberOfPage.FindStringSubmatch(line)
		switch {
		case headingOfPage.MatchString(line):
			heading = headingOfPage.FindStringSubmatch(line)[1]
		case strings.Contains(line, "no members of its own."):
			rows = append(rows, heading+":")
		case rowOfNumbers.MatchString(line):
			rows = append(rows, heading+": ["+rowOfNumbers.FindStringSubmatch(line)[1]+"]")
		case strings.HasPrefix(line, "| member | type |"), strings.HasPrefix(line, "| member of a form |"):
			table = &tableMember{kind: nameOfTable(heading)}
		case strings.HasPrefix(line, "| personal member |"):
			table = &tableMember{kind: nameOfTable(heading) + " personal"}
		case line == "":
			end()
		case table != nil && cells != nil:
			table.add(strings.Split(strings.ReplaceAll(cells[1], "[]", ".[]"), "."), cells[2])
		}
	}
	return rows
}

// nameOfTable is what audit.py calls the table under a heading.
func nameOfTable(heading string) string {
	switch heading {
	case "Members of several types":
		return "several"
	case "Forms and runs":
		return "form"
	}
	return heading
}

// tableMember is one of a table, with its own members in their order; "[]" is what a list has.
type tableMember struct {
	name, kind string
	own        []*tableMember
}

// add adds a member at a path, with the type that the page says.
func (m *tableMember) add(path []string, kind string) {
	for _, o := range m.own {
		if o.name == path[0] {
			o.add(path[1:], kind)
			return
		}
	}
	next := &tableMember{name: path[0]}
	m.own = append(m.own, next)
	if len(path) > 1 {
		next.add(path[1:], kind)
		return
	}
	next.kind = kind
}

// inner returns the members in a row.
func (m *tableMember) inner() string {
	var list []string
	for _, o := range m.own {
		kind, optional := strings.CutSuffix(o.kind, ", optional")
		name := o.name
		if optional {
			name += "?"
		}
		list = append(list, name+" "+o.value(kind))
	}
	return strings.Join(list, ", ")
}

// value returns what a member is.
func (m *tableMember) value(kind string) string {
	of, isList := strings.CutPrefix(kind, "list of ")
	switch {
	case isList:
		return "[" + strings.ReplaceAll(of, "rows", "row") + "]"
	case kind == "list" && len(m.own[0].own) > 0:
		return "[{" + m.own[0].inner() + "}]"
	case kind == "list":
		return "[" + m.own[0].value(m.own[0].kind) + "]"
	case len(m.own) > 0:
		return "{" + m.inner() + "}"
	case kind == "seq or object":
		return "before"
	}
	return strings.ReplaceAll(kind, " ", "_")
}

// Part one of audit.py is a program by itself: with -chain, and where the file is cut off before part two. It
// says what it has not checked, and does not call books sound that only part two finds wrong.
func TestPartOneOfTheSecondAuditorRunsAlone(t *testing.T) {
	t.Parallel()
	if !rig.Has(t, "python3") {
		return
	}
	script, err := os.ReadFile(rig.File("server/docs/audit.py"))
	if err != nil {
		t.Fatal(err)
	}
	one, _, whole := strings.Cut(string(script), "\n# PART TWO")
	cut := filepath.Join(t.TempDir(), "one.py")
	if err := os.WriteFile(cut, []byte(one+"\n"), 0o600); err != nil || !whole {
		t.Fatal(err)
	}
	sound := rig.File("testdata/journal/v3")
	spoilt := copied(t, sound)
	name := filepath.Join(spoilt, rig.JournalFile)
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.Replace(text, []byte(`"amount":`), []byte(`"amount": `), 1)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{rig.File("server/docs/audit.py"), "-chain"}, {cut}, {cut, "-chain"}} {
		for dir, want := range map[string]string{sound: "sound", spoilt: "damaged"} {
			given := slices.Concat([]string{"-I", "-S"}, args, []string{dir})
			said, _ := exec.Command("python3", given...).Output()
			if !strings.HasPrefix(string(said), dir+": "+want+"\n") ||
				!strings.Contains(string(said), "part two") {
				t.Errorf("%v says\n%s", args, said)
			}
		}
	}
}
