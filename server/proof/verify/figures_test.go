package verify_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"testing"

	"waybill/booking/books"
)

// The figures of the books have the names that auditing.md gives them, in both directions.
func TestFiguresAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/auditing.md")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)\| figure \| is \|\n\|---\|---\|\n(.*?)\n\n`).FindSubmatch(page)
	if table == nil {
		t.Fatal("auditing.md has no table of figures")
	}
	var named []string
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllSubmatch(table[1], -1) {
		for _, name := range regexp.MustCompile("`([a-z]+)`").FindAllSubmatch(row[1], -1) {
			named = append(named, string(name[1]))
		}
	}
	text, err := json.Marshal(books.New())
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
