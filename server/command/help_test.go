package command

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestHelpIsInGroups: the list of all has the four groups of decision verbs.help, in that order. Each verb of
// this build stands in it once.
func TestHelpIsInGroups(t *testing.T) {
	t.Parallel()
	all := want(t, 0, "", "-h")
	var titles, listed, known []string
	for _, title := range regexp.MustCompile(`(?m)^(\S.*):$`).FindAllStringSubmatch(all, -1) {
		titles = append(titles, title[1])
	}
	if !slices.Equal(titles, []string{"Serve", "Look", "Run it", "Test"}) {
		t.Errorf("the groups are %q", titles)
	}
	for _, row := range regexp.MustCompile(`(?m)^  (\w+(?: \w+)?)  +\w`).FindAllStringSubmatch(all, -1) {
		listed = append(listed, row[1])
	}
	for _, v := range verbs {
		known = append(known, v.name)
	}
	if !slices.Equal(listed, known) {
		t.Errorf("the list has\n%q, and the verbs are\n%q", listed, known)
	}
}

// TestHelpIsNarrow: no line of the list, of a group or of a verb's own page has more than 78 columns.
func TestHelpIsNarrow(t *testing.T) {
	t.Parallel()
	pages := []string{"-h"}
	for _, v := range verbs {
		pages = append(pages, v.name+" -h")
		if word, _, grouped := strings.Cut(v.name, " "); grouped {
			pages = append(pages, word+" -h")
		}
	}
	for _, page := range pages {
		for line := range strings.Lines(want(t, 0, "", strings.Fields(page)...)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > helpWidth {
				t.Errorf("waybill %s: %d columns: %s", page, n, line)
			}
		}
	}
}

// imperatives are the words that a line of the list begins with.
var imperatives = strings.Fields("answer append back cancel check copy end erase exit export forget give import list " +
	"make measure mint move play print remove serve set sign take try write")

// TestHelpBeginsWithAnImperative: so does what each verb does (decision verbs.help).
func TestHelpBeginsWithAnImperative(t *testing.T) {
	t.Parallel()
	for _, v := range verbs {
		if word, _, _ := strings.Cut(v.about, " "); !slices.Contains(imperatives, word) {
			t.Errorf("%s: %q does not begin with an imperative", v.name, v.about)
		}
		if strings.HasSuffix(v.about, ".") || v.more != "" && !strings.HasSuffix(v.more, ".") {
			t.Errorf("%s: %q has no full stop, and %q has one", v.name, v.about, v.more)
		}
	}
}
