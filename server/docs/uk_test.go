package docs

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	headings = regexp.MustCompile(`(?m)^#+ `)
	codes    = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]+`")
	blocks   = regexp.MustCompile("(?ms)^```.*?^```$")
	rows     = regexp.MustCompile(`(?m)^(\|.*|- .*)$`)
	figures  = regexp.MustCompile(`\d[\d,.]*\d|\d`)
)

// A page in Ukrainian is true to the English one: it has the same headings by their levels, the same commands
// and outputs, the same rows and items, and the same words of code and figures in each section.
func TestPagesInUkrainianAreThoseInEnglish(t *testing.T) {
	t.Chdir(root)
	files, err := filepath.Glob("server/docs/uk/*.md")
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		there := content(t, file)
		english := strings.Replace(file, "/uk/", "/", 1)
		if filepath.Base(file) == "readme.md" { // its first screen
			compare(t, file, "commands", blocks.FindAllString(content(t, "README.md"), 6),
				blocks.FindAllString(there, -1))
			continue
		}
		for i, section := range sections(content(t, english)) {
			translated := sections(there)
			if i >= len(translated) {
				t.Fatalf("%s has %d sections", file, len(translated))
			}
			compare(t, file, "commands", blocks.FindAllString(section, -1),
				blocks.FindAllString(translated[i], -1))
			compare(t, file, "code", sorted(codes.FindAllString(section, -1)),
				sorted(codes.FindAllString(translated[i], -1)))
			compare(t, file, "figures", sorted(figures.FindAllString(section, -1)),
				sorted(figures.FindAllString(translated[i], -1)))
			want, got := len(rows.FindAllString(section, -1)), len(rows.FindAllString(translated[i], -1))
			if want != got {
				t.Errorf("%s: section %d has %d rows and items, in English %d", file, i, got, want)
			}
		}
		compare(t, file, "headings", headings.FindAllString(content(t, english), -1),
			headings.FindAllString(there, -1))
		for i, line := range strings.Split(blocks.ReplaceAllString(there, ""), "\n") {
			if utf8.RuneCountInString(line) > 110 && !strings.HasPrefix(line, "|") {
				t.Errorf("%s: paragraph line %d has more than 110 columns", file, i+1)
			}
		}
	}
}

// sections cuts a page at its headings of the second level.
func sections(page string) []string { return strings.Split(page, "\n## ") }

// sorted returns the distinct elements of a list, in order.
func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func compare(t *testing.T, file, what string, english, ukrainian []string) {
	t.Helper()
	if !slices.Equal(english, ukrainian) {
		t.Errorf("%s: the %s are\n%q\nand in English\n%q", file, what, ukrainian, english)
	}
}
