package docs

import (
	"regexp"
	"strings"
	"testing"
)

// The glossary's terms stand in the order of the alphabet, each once, with two sentences at most.
func TestGlossary(t *testing.T) {
	t.Chdir(root)
	page := strings.ReplaceAll(content(t, "server/docs/glossary.md"), "\n  ", " ")
	entries := regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*: (.+)$`).FindAllStringSubmatch(page, -1)
	if n := strings.Count(page, "\n- "); n != len(entries) || n == 0 {
		t.Errorf("%d of %d entries have a term and what it means", len(entries), n)
	}
	last := ""
	for _, e := range entries {
		term, meaning := e[1], e[2]
		if term <= last {
			t.Errorf("%s comes after %s", term, last)
		}
		last = term
		if n := len(regexp.MustCompile(`\.( |$)`).FindAllString(meaning, -1)); n < 1 || n > 2 {
			t.Errorf("%s has %d sentences, one or two are enough", term, n)
		}
	}
	if !strings.Contains(content(t, "server/docs/code.md"), "(glossary.md)") {
		t.Error("code.md does not lead to the glossary")
	}
}
