package command

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page for operators says which exit codes a verb ends with on a directory that is damaged, or of a newer
// format. Each verb that it names does so.
func TestExitCodesAreThoseOfThePage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	out := filepath.Join(t.TempDir(), "out")
	serve(t, "-data", dir).stop()
	page := content(t, "../docs/operating.md")
	_, page, _ = strings.Cut(page, "\nExit codes of all verbs: ")
	page, _, _ = strings.Cut(page, "\n\n")
	writing, reading, found := strings.Cut(strings.Join(strings.Fields(page), " "), "What only reads it")
	if !found {
		t.Fatalf("the page is another: %s", page)
	}
	operands := map[string][]string{
		"serve":       {"-addr", "127.0.0.1:0", "-data", dir},
		"import":      {"-data", dir, "../../testdata/demo"},
		"partner add": {"-data", dir, "x"},
		"key rotate":  {"-data", dir},
		"forget":      {"-data", dir, "-email", "x@example.com", "-reason", "x"},
		"receive":     {"-next", dir},
		"verify":      {"-data", dir},
		"log":         {"-data", dir},
		"export":      {"-data", dir, out},
		"backup":      {"-data", dir, out},
		"repair":      {"-data", dir, "-cut-at", "3", "-reason", "x", out},
		"tail":        {"-data", dir},
		"statement":   {"-data", dir, "-from", "2026-11-20", "-to", "2026-11-20"},
		"evidence":    {"-data", dir, "-booking", "AAAAAAAAAAAAAAAAAAAAAA", out},
	}
	all := func(said string, damaged int) {
		for _, name := range regexp.MustCompile("`([a-z ]+)`").FindAllStringSubmatch(said, -1) {
			verb := strings.Fields(name[1])
			args, known := operands[name[1]]
			if !known {
				t.Errorf("%s is not tried here", name[1])
				continue
			}
			delete(operands, name[1])
			changed(t, filepath.Join(dir, firstFile), `"seq":2`, `"seq":9`, func() {
				want(t, damaged, "line 2 of journal/", append(verb, args...)...)
			})
			os.RemoveAll(out)
			changed(t, filepath.Join(dir, "FORMAT"), " v3 ", " v4 ", func() {
				newer := 78
				if name[1] == "verify" {
					newer = 1
				}
				want(t, newer, "newer", append(verb, args...)...)
			})
			os.RemoveAll(out)
		}
	}
	_, writing, _ = strings.Cut(writing, "What opens the directory to write")
	writing = strings.Replace(writing, "for `receive`", "for receive", 1)
	all(writing, 65)
	all(reading, 1)
	for verb := range operands {
		t.Errorf("the page does not say how %s ends", verb)
	}
}

// changed does something while a file is another.
func changed(t *testing.T, name, old, new string, do func()) {
	t.Helper()
	was := content(t, name)
	is := strings.Replace(was, old, new, 1)
	if is == was {
		t.Fatalf("%s has no %s", name, old)
	}
	for _, text := range []string{is, was} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if text == is {
			do()
		}
	}
}
