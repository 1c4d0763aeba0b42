package verify_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"waybill/booking"
	"waybill/server/proof/verify"
)

// The figures of the books have the names that auditing.md and rules.md give them, in both directions.
func TestFiguresAreThoseOfThePages(t *testing.T) {
	for _, name := range []string{"auditing.md", "rules.md"} {
		t.Run(name, func(t *testing.T) { holdFigures(t, name) })
	}
}

// holdFigures holds the table of figures in a page against the books that are printed.
func holdFigures(t *testing.T, name string) {
	page, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)\| figure \| is( exactly)? \|\n\|---\|---\|\n(.*?)\n\n`).FindSubmatch(page)
	if table == nil {
		t.Fatal("the page has no table of figures")
	}
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllSubmatch(table[2], -1) {
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllSubmatch(row[1], -1) {
			named = append(named, string(name[1]))
		}
	}
	text, err := json.Marshal(booking.New())
	if err != nil {
		t.Fatal(err)
	}
	var figures map[string]json.RawMessage
	if err := json.Unmarshal(text, &figures); err != nil {
		t.Fatal(err)
	}
	for _, name := range named {
		if figures[name] == nil {
			t.Errorf("the page names %s, which is no figure", name)
		}
	}
	for name := range figures {
		if !slices.Contains(named, name) {
			t.Errorf("the page does not name %s", name)
		}
	}
}

// The verdicts of rules.md are those of the program, in the order in which they count.
func TestVerdictsAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)\| verdict \| where \| exit \|\n.*?\n\n`).Find(page)
	var named []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllSubmatch(table, -1) {
		named = append(named, string(row[1]))
	}
	if !slices.Equal(named, verify.Kinds) {
		t.Errorf("the page has the verdicts %s, and the program %s", named, verify.Kinds)
	}
}
