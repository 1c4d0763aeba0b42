package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// arrows are those of the picture in server/docs/code.md: what each package may import of ours.
var arrows = map[string][]string{
	".": {"server/command", "store/durable"},
	"server/command": {
		"server/ticket", "schedule",
		"server", "server/front", "server/door", "server/worlds", "server/conform", "server/seed", "server/tour", "server/command/terminal", "server/command/load",
		"server/admin", "server/inspect", "server/inspect/verdict", "server/evidence", "server/standby", "server/reference", "server/witness", "server/web",
		"server/words",
		"auth/oidc", "server/outbound", "store", "store/durable", "store/note", "auth", "booking", "schedule/gtfs",
	},
	"server/command/load": {"server/ledger", "store/durable", "server", "server/front", "server/admin", "server/web"},
	"server/front":        {"server", "server/admin", "server/desk", "server/web"},
	"server/door":         {"server/desk", "server/web"},
	"server/webdriver":    {},
	"server/conform":      {"server/transcript"},
	"server/tour": {
		"server", "server/front", "server/admin", "server/inspect", "server/seed", "store", "store/checkpoint", "store/durable",
		"store/tree",
	},
	"server/worlds":           {"server", "server/front", "server/admin", "server/bench", "server/desk", "server/ledger", "server/web", "server/wire", "store", "store/durable", "booking"},
	"server/command/terminal": {"server/words", "store/durable"},
	"server": {
		"server/partner", "server/ticket", "server/company", "server/carrier", "server/legacy", "server/admin", "server/desk", "server/ops", "server/bench", "server/reference",
		"server/search", "server/provider", "server/outbox", "server/witness", "server/resource", "server/web",
		"server/ledger", "server/seed", "auth/oidc", "server/outbound", "store", "store/durable", "auth", "booking", "schedule",
	},
	"server/qr":     {},
	"server/ticket": {"server/qr", "server/docs", "server/words", "store", "store/durable", "booking", "schedule"},
	"server/partner": {
		"booking/ids",
		"booking/passenger",
		"server/ticket", "server/docs",
		"server/search", "server/provider", "server/resource", "server/web", "server/ledger", "server/wire",
		"store", "store/durable", "auth", "booking", "schedule",
	},
	"server/company": {
		"booking/ids",
		"server/web", "server/ledger", "server/wire", "auth/oidc",
		"store", "store/durable", "auth", "booking", "schedule", "report",
	},
	"server/carrier": {
		"server/story", "server/docs", "server/web", "server/ledger", "server/wire", "server/words", "store", "auth", "booking", "report", "schedule",
	},
	"server/legacy": {
		"server/partner", "server/search", "server/resource", "server/web", "server/ledger", "server/wire",
		"auth", "booking", "schedule",
	},
	"server/admin": { // what verbs do reaches into the rooms
		"booking/ids",
		"server/company", "server/carrier", "server/provider", "server/outbox", "server/witness", "server/web", "server/ledger",
		"server/words", "store", "store/durable", "auth", "auth/oidc", "booking", "schedule", "schedule/gtfs", "schedule/gtfs/feed",
	},
	"server/desk": { // what operators see reaches into the rooms, too
		"server/admin", "server/bench", "server/carrier", "server/outbox", "server/ticket", "server/witness", "server/inspect",
		"server/inspect/verdict",
		"server/story", "server/docs", "server/outbound", "server/web", "server/ledger", "server/words", "store", "store/checkpoint",
		"store/note", "store/durable", "auth", "booking", "schedule",
	},
	"server/bench": {"booking/ids", "server/outbox", "server/provider", "server/outbound", "server/web", "server/ledger", "server/wire", "auth", "booking"},
	"server/ops":   {"server/web", "server/ledger", "server/wire", "booking"},
	"server/inspect": {
		"booking/ids",
		"booking/books",
		"server/resource", "server/story", "server/ledger", "server/wire", "server/words", "store", "store/note", "store/durable",
		"auth", "booking", "report", "schedule",
	},
	"server/inspect/verdict": {"server/inspect", "server/words", "store", "store/note", "store/durable"},
	"server/reference":       {"server/web", "server/docs", "server/wire", "auth"},
	"server/search":          {"server/resource", "server/web", "server/ledger", "server/wire", "auth", "schedule"},
	"server/provider": {
		"server/resource", "server/outbound", "server/web", "server/ledger", "server/wire", "store", "store/durable", "booking",
	},
	"server/outbox": {
		"booking/ids",
		"server/ticket",
		"server/outbound", "server/web", "server/ledger", "server/wire", "server/words",
		"store", "store/durable", "booking", "schedule",
	},
	"server/story":   {"server/ledger", "server/words", "store", "auth", "booking"},
	"server/witness": {"server/web", "server/ledger", "server/wire", "store", "store/checkpoint", "store/note"},
	"server/standby": {"server/ledger", "store", "store/checkpoint", "store/journal", "store/durable"},
	"server/evidence": {
		"server/inspect", "server/words", "store", "store/checkpoint", "store/journal", "store/tree", "store/note",
		"store/durable",
	},
	"server/resource":    {"server/wire", "booking", "schedule"},
	"server/web":         {"server/ledger", "server/wire", "store", "store/durable", "auth", "booking", "schedule", "report"},
	"server/ledger":      {"booking/packing", "booking/passenger", "server/wire", "server/words", "store", "store/durable", "auth", "booking", "schedule", "report"},
	"server/outbound":    {},
	"server/seed":        {},
	"server/transcript":  {},
	"server/docs":        {},
	"server/wire":        {},
	"server/words":       {},
	"store":              {"store/checkpoint", "store/journal", "store/tree", "store/note", "store/durable"},
	"store/checkpoint":   {"store/journal", "store/tree", "store/note", "store/durable"},
	"store/journal":      {"store/durable"},
	"store/tree":         {"store/durable"},
	"store/durable":      {},
	"store/note":         {},
	"auth":               {},
	"auth/oidc":          {"auth"},
	"booking":            {"booking/ids", "booking/books", "booking/changes", "booking/packing", "booking/pages", "booking/passenger", "booking/phase", "booking/seating", "booking/tally", "schedule"},
	"booking/books":      {"booking/ids", "schedule"},
	"booking/changes":    {"booking/ids", "schedule"},
	"booking/packing":    {"booking/ids"},
	"booking/pages":      {},
	"booking/passenger":  {},
	"booking/phase":      {"schedule"},
	"booking/seating":    {"booking/ids", "schedule"},
	"booking/ids":        {"schedule"},
	"booking/tally":      {},
	"report":             {"booking"},
	"schedule":           {},
	"schedule/gtfs":      {"schedule", "schedule/gtfs/feed"},
	"schedule/gtfs/feed": {"schedule"},
}

// topLevel is all that may stand beside the dotfiles.
var topLevel = []string{
	"main.go", "main_test.go", "README.md", "go.mod", "go.sum", "testdata",
	"server", "store", "booking", "schedule", "auth", "report",
}

// The shape of the code, as server/docs/code.md describes it: what is held. Sizes of packages, tokens per
// line and comments are printed, for people to judge.
const (
	maxFunction = 70  // lines
	maxTest     = 110 // lines of a function of tests, which may hold a table
	maxFile     = 600 // lines
	maxWidth    = 110 // columns, a tab counting four
)

// figures are what is measured of a package.
type figures struct {
	lines    int // of all its files
	code     int // lines that have code
	tokens   int // of code, as go/scanner counts them
	rows     int // lines of code that are rows of tables
	inRows   int // tokens in them
	comments int // lines that have a comment
	longest  int // lines of its longest function
}

func (f *figures) tokensPerLine() float64 {
	return float64(f.tokens-f.inRows) / float64(max(f.code-f.rows, 1))
}

func (f *figures) commentShare() float64 {
	return 100 * float64(f.comments) / float64(max(f.code+f.comments, 1))
}

// TestShape holds the picture's arrows and the limits above, and prints what it has measured.
func TestShape(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if name[0] != '.' && !slices.Contains(topLevel, name) && !ignored(name) {
			t.Errorf("%s does not belong at the top level", name)
		}
	}
	packages := map[string]*figures{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(path) > 1 && path[0] == '.' {
			return fs.SkipDir // it is no part of the module, to the go command too
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(filepath.Dir(path))
		if strings.HasSuffix(path, "_test.go") {
			name += " (tests)"
		}
		if packages[name] == nil {
			packages[name] = new(figures)
		}
		measure(t, packages[name], path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	printFigures(t, packages)
}

// measure adds a file to the figures of its package, and checks what holds for each file.
func measure(t *testing.T, f *figures, path string, text []byte) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Error(err)
		return
	}
	checkImports(t, path, file)
	lines := bytes.Count(text, []byte("\n"))
	if lines > maxFile {
		t.Errorf("%s has %d lines, at most %d", path, lines, maxFile)
	}
	f.lines += lines
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			f.longest = max(f.longest, n)
			most := maxFunction
			if strings.HasSuffix(path, "_test.go") {
				most = maxTest
			}
			if n > most {
				t.Errorf("%s: %s has %d lines, at most %d", path, fn.Name.Name, n, most)
			}
		}
	}
	texts := countTokens(f, text)
	for i, line := range strings.Split(string(text), "\n") {
		columns := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
		if columns > maxWidth && !texts[i+1] && !isRow.MatchString(line) {
			t.Errorf("%s:%d has %d columns, at most %d", path, i+1, columns, maxWidth)
		}
	}
}

// isRow matches a row of a table: one composite literal, or one key and its value.
var isRow = regexp.MustCompile("^\t+(\\{.*\\}|[\"`].*),$")

// longText is how many bytes a string literal has that may make a line wide.
const longText = 50

// countTokens counts a file's tokens and its lines of code and comment. It returns the lines that hold a long
// text.
func countTokens(f *figures, text []byte) (texts map[int]bool) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	lines := strings.Split(string(text), "\n")
	code := map[int]bool{}
	comments := map[int]bool{}
	texts = map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue // none was written
		}
		first := file.Line(pos)
		last := first + strings.Count(literal, "\n")
		if tok == token.COMMENT {
			for line := first; line <= last; line++ {
				comments[line] = true
			}
			continue
		}
		f.tokens++
		if isRow.MatchString(lines[first-1]) {
			f.inRows++
			if !code[first] {
				f.rows++
			}
		}
		code[first] = true
		for line := first; tok == token.STRING && len(literal) >= longText && line <= last; line++ {
			texts[line] = true
		}
	}
	f.code += len(code)
	f.comments += len(comments)
	return texts
}

// printFigures prints the table of what was measured.
func printFigures(t *testing.T, packages map[string]*figures) {
	var table strings.Builder
	tokens := 0
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f := packages[name]
		fmt.Fprintf(&table, "%-28s %6d %6d %7d %6.2f %5.1f %5d\n",
			name, f.lines, f.code, f.tokens, f.tokensPerLine(), f.commentShare(), f.longest)
		if !strings.HasSuffix(name, "(tests)") {
			tokens += f.tokens
		}
	}
	t.Logf("%d tokens without tests\n%-28s %6s %6s %7s %6s %5s %5s\n%s", tokens,
		"package", "lines", "code", "tokens", "/line", "% com", "func", table.String())
}

// checkImports holds the arrows of the picture.
func checkImports(t *testing.T, path string, file *ast.File) {
	test := strings.HasSuffix(path, "_test.go")
	allowed, known := arrows[filepath.ToSlash(filepath.Dir(path))]
	if !known {
		t.Errorf("%s is in a package that the picture does not show", path)
	}
	for _, imp := range file.Imports {
		name := strings.Trim(imp.Path.Value, `"`)
		ours, own := strings.CutPrefix(name, "waybill/")
		isTest := test && strings.HasPrefix(name, "github.com/google/go-cmp/")
		switch {
		case own && !test && !slices.Contains(allowed, ours):
			t.Errorf("%s imports %s, against the picture", path, name)
		case !own && strings.Contains(name, ".") && !isTest:
			t.Errorf("%s imports %s, which is not the standard library's", path, name)
		}
	}
}

// ignored reports whether a name is what a build or the demo leaves behind.
func ignored(name string) bool { return name == "waybill" || name == "waybill-data" }
