package docs

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var updateWords = flag.Bool("update", false, "write testdata/words.txt anew")

const anew = "go test ./server/docs -run TestWords -update writes it"

// wordsFile lists every text that the programs print, by folder. It is made from the source: see printed.
const wordsFile = "testdata/words.txt"

// unprinted are folders and files that have texts, and print none of them for users.
var unprinted = []string{
	"server/lab/rig", "server/lab/webdriver", // for our own tests
	"server/docs/made", "server/docs/filled", // made from pages
	"server/docs/reference.html", "server/docs/migration.html", // pages
}

// TestWords: every text that the programs print stands in one file, so that all can be read at one sitting
// and a change is a line of a diff. go test ./server/docs -run TestWords -update writes it.
func TestWords(t *testing.T) {
	t.Chdir(root)
	made := wordsPage(printed(t))
	if *updateWords {
		if err := os.WriteFile(wordsFile, []byte(made), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept := map[string]bool{}
	for line := range strings.Lines(content(t, wordsFile)) {
		kept[line] = true
	}
	for line := range strings.Lines(made) {
		if !kept[line] {
			t.Errorf("%s lacks %s", wordsFile, line)
		}
	}
	if made != content(t, wordsFile) {
		t.Errorf("%s is not as the source has it; %s", wordsFile, anew)
	}
}

// wordsPage returns the texts of each folder, in order, one a line.
func wordsPage(texts map[string]map[string]bool) string {
	var page strings.Builder
	page.WriteString("Every text that the programs print, by folder, made from the source.\n" +
		"{} stands for a value. " + anew + ".\n")
	for _, folder := range slices.Sorted(maps.Keys(texts)) {
		page.WriteString("\n" + folder + "\n")
		for _, text := range slices.Sorted(maps.Keys(texts[folder])) {
			page.WriteString("\t" + text + "\n")
		}
	}
	return page.String()
}

// printed returns the texts of all programs by folder: string literals of Go and Python that have at least
// two words, or that an error or the log has; and what a template shows.
func printed(t *testing.T) map[string]map[string]bool {
	t.Helper()
	texts := map[string]map[string]bool{}
	walk := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (len(path) > 1 && path[0] == '.' || path == "vendor"):
			return fs.SkipDir
		case slices.Contains(unprinted, path) && entry.IsDir():
			return fs.SkipDir
		case slices.Contains(unprinted, path):
			return nil
		}
		var found []string
		switch filepath.Ext(path) {
		case ".go":
			if !strings.HasSuffix(path, "_test.go") {
				found = textsOfGo(t, path)
			}
		case ".html":
			found = textsOfTemplate(content(t, path))
		case ".py":
			found = textsOfScript(docstrings.ReplaceAllString(content(t, path), ""))
		case ".txt":
			if filepath.Base(path) == "readme.txt" {
				found = strings.Split(actions.ReplaceAllString(content(t, path), "{}"), "\n")
			}
		}
		for _, text := range found {
			folder := filepath.ToSlash(filepath.Dir(path))
			if texts[folder] == nil {
				texts[folder] = map[string]bool{}
			}
			if text != "" {
				texts[folder][text] = true
			}
		}
		return nil
	}
	if err := filepath.WalkDir(".", walk); err != nil {
		t.Fatal(err)
	}
	return texts
}

// prose is a text of at least two words.
var prose = regexp.MustCompile(`\pL{2,}[,;:.)'"` + "`" + `]* [\pL%({"'` + "`" + `-]`)

// saysSo are functions whose text is printed, even if it is one word: of an error, or of the log.
var saysSo = []string{"New", "Errorf", "Debug", "Info", "Warn", "Error"}

// textsOfGo returns the texts of a file of Go.
func textsOfGo(t *testing.T, path string) (texts []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	add := func(text string, always bool) {
		if always || prose.MatchString(text) {
			texts = append(texts, strings.ReplaceAll(strings.ReplaceAll(text, "\n", `\n`), "\t", `\t`))
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.CallExpr:
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) > 0 &&
				slices.Contains(saysSo, called.Sel.Name) {
				if text, ok := literal(n.Args[0]); ok {
					add(text, true)
				}
			}
			if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "MustCompile" {
				return false
			}
		case ast.Expr:
			if text, ok := literal(n); ok {
				add(text, false)
				return false
			}
		}
		return true
	})
	return texts
}

// literal returns the text of a literal, or of a sum in which there is one: {} stands for what else it has.
func literal(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return literal(e.X)
	case *ast.BinaryExpr:
		left, leftOK := literal(e.X)
		right, rightOK := literal(e.Y)
		if e.Op != token.ADD || !leftOK && !rightOK {
			return "", false
		}
		if !leftOK {
			left = "{}"
		}
		if !rightOK {
			right = "{}"
		}
		return left + right, true
	}
	return "", false
}

var (
	actions    = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	styles     = regexp.MustCompile(`(?s)<style.*?</style>|<!--.*?-->`)
	scripts    = regexp.MustCompile(`(?s)<script.*?</script>`)
	inline     = regexp.MustCompile(`</?(?:a|b|i|em|strong|code|span|small|time|kbd)\b[^>]*>`)
	tags       = regexp.MustCompile(`<[^>]*>`)
	shown      = regexp.MustCompile(`(?:aria-label|title|alt|placeholder|data-label)="([^"]+)"`)
	docstrings = regexp.MustCompile(`(?s)""".*?"""`)
	quoted     = regexp.MustCompile(`"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'`)
	statements = regexp.MustCompile(`(?:\{\} ?)+`)
)

// textsOfTemplate returns what a page of HTML shows, tags left out, and the literals of its script.
func textsOfTemplate(page string) (texts []string) {
	page = actions.ReplaceAllString(page, "{}")
	for _, script := range scripts.FindAllString(page, -1) {
		texts = append(texts, textsOfScript(script)...)
	}
	page = styles.ReplaceAllString(scripts.ReplaceAllString(page, "\x00"), "\x00")
	for _, attribute := range shown.FindAllStringSubmatch(page, -1) {
		texts = append(texts, attribute[1])
	}
	page = tags.ReplaceAllString(inline.ReplaceAllString(page, ""), "\x00")
	for text := range strings.SplitSeq(page, "\x00") {
		text = statements.ReplaceAllString(strings.Join(strings.Fields(text), " "), "{} ")
		if regexp.MustCompile(`\pL{2}`).MatchString(text) {
			texts = append(texts, strings.TrimSpace(text))
		}
	}
	return texts
}

// textsOfScript returns the literals of a script, of Python or a browser's, that have at least two words.
func textsOfScript(script string) (texts []string) {
	for _, text := range quoted.FindAllStringSubmatch(script, -1) {
		if said := text[1] + text[2]; prose.MatchString(said) {
			texts = append(texts, said)
		}
	}
	return texts
}
