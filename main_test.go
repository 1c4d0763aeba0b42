package main_test

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/gosym"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

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

	imports map[string]bool // packages of ours, but for those of tests
}

func (f *figures) tokensPerLine() float64 {
	return float64(f.tokens-f.inRows) / float64(max(f.code-f.rows, 1))
}

func (f *figures) commentShare() float64 {
	return 100 * float64(f.comments) / float64(max(f.code+f.comments, 1))
}

// handedOver reports whether a folder is that of the modules of tests, which only the source archive of a
// release has, and no repository.
func handedOver(path string) bool {
	_, err := os.Stat(".git")
	return path == "vendor" && os.IsNotExist(err)
}

// TestShape holds the picture's arrows and the limits above, and prints what it has measured.
func TestShape(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if name[0] != '.' && !slices.Contains(topLevel, name) && !ignored(name) && !handedOver(name) {
			t.Errorf("%s does not belong at the top level", name)
		}
	}
	pic := readPicture(t)
	packages := map[string]*figures{}
	err = filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && len(path) > 1 && path[0] == '.' {
			return fs.SkipDir // it is no part of the module, to the go command too
		}
		if err == nil && d.IsDir() && (filepath.Dir(path) == "testdata" || handedOver(path)) {
			return fs.SkipDir // these are no part of it either: mini is a module of its own
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
			packages[name] = &figures{imports: map[string]bool{}}
		}
		measure(t, pic, packages[name], path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	printFigures(t, pic, packages)
	drawn := map[string]int{}
	for name := range claims {
		drawn[name] = drawnIn(t, name)
	}
	checkReading(t, packages, drawn)
	checkSizes(t, pic, packages, drawn)
	for name := range pic.packages {
		if packages[name] == nil {
			t.Errorf("server/docs/code.md has the package %s, which is not there", name)
		}
	}
}

// measure adds a file to the figures of its package, and checks what holds for each file.
func measure(t *testing.T, p picture, f *figures, path string, text []byte) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, text, parser.ParseComments)
	if err != nil {
		t.Error(err)
		return
	}
	checkImports(t, p, path, file)
	checkUpdates(t, path, file)
	for _, imp := range file.Imports {
		if ours, own := strings.CutPrefix(strings.Trim(imp.Path.Value, `"`), "waybill/"); own {
			f.imports[ours] = true
		}
	}
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
func printFigures(t *testing.T, p picture, packages map[string]*figures) {
	var table strings.Builder
	tokens := 0
	for _, name := range slices.Sorted(maps.Keys(packages)) {
		f := packages[name]
		fmt.Fprintf(&table, "%-28s %6d %6d %7d %6.2f %5.1f %5d\n",
			name, f.lines, f.code, f.tokens, f.tokensPerLine(), f.commentShare(), f.longest)
		if !strings.HasSuffix(name, "(tests)") && !p.forTests[name] {
			tokens += f.tokens
		}
	}
	t.Logf("%d tokens without tests\n%-28s %6s %6s %7s %6s %5s %5s\n%s", tokens,
		"package", "lines", "code", "tokens", "/line", "% com", "func", table.String())
}

var update = flag.Bool("update", false, "write testdata/sizes.txt anew")

// sizes is the file that lists what there is to read: two ceilings, the tokens of each package, and the lines
// of the claims. A commit that makes one grow changes its line of the file, and says what for.
const sizes = "testdata/sizes.txt"

// The ceilings, in the first lines of the file. They only fall, which .ci/run sees to; nothing writes them.
const (
	programCeiling = "ceiling of the tokens of the program"
	besideCeiling  = "ceiling of the tokens of what stands beside it" // see beside
)

// beside are the folders of what is not in the binary, and is no test either. Packages that only tests import
// are too.
var beside = []string{".ci", "testdata/deploy"}

// hashComment matches a line of comment.
var hashComment = regexp.MustCompile(`(?m)^\s*#.*$`)

// besideTokens counts what is in the folders of beside: tokens of Go, and words of all else but for lines of
// comment.
func besideTokens(t *testing.T) (tokens int) {
	for _, folder := range beside {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.HasSuffix(path, ".go") {
				var f figures
				countTokens(&f, text)
				tokens += f.tokens
			} else {
				tokens += len(bytes.Fields(hashComment.ReplaceAll(text, nil)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return tokens
}

// claims are those for which it matters how much one has to read to believe them: the functions of ours that
// the linker keeps of a program that calls the claim's entry alone. No commit may go beyond most lines.
var claims = map[string]struct {
	imports, body string
	most          int
}{
	// What was acknowledged is on the disk: no more than when it was first counted.
	"store/live": {
		imports: `"waybill/store/durable"; "waybill/store/live"`,
		body: `v, _ := live.Open(live.Config[int, int]{Options: live.Options[int]{FS: durable.Dir("")}}, 0, live.End{})
			v.Update(nil, nil)`,
		most: 995,
	},
	// What the verdict says is so.
	"server/proof/verify": {
		imports: `"waybill/server/proof/verify"; "waybill/store/durable"; "waybill/store/inspect"`,
		body:    `verify.Judge(durable.Dir(""), "", verify.Beside{}, inspect.Expected{}, "")`,
		most:    9_500,
	},
}

// drawnIn returns the lines of a claim's functions, comments included. Nothing is inlined, so that each has
// its place in the program; of what is declared beside functions, those in it count.
func drawnIn(t *testing.T, name string) (sum int) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, overlay, program := dir+"/main.go", dir+"/overlay.json", dir+"/program"
	claim := claims[name]
	text := fmt.Sprintf("package main\nimport (%s)\nfunc main() {%s\n}\n", claim.imports, claim.body)
	replace := fmt.Sprintf(`{"Replace": {%q: %q}}`, root+"/claim/main.go", source)
	err = os.WriteFile(source, []byte(text), 0o666)
	if err := errors.Join(err, os.WriteFile(overlay, []byte(replace), 0o666)); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-gcflags=waybill/...=-l", "-o", program,
		"./claim")
	build.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for file, lines := range entriesOf(t, program) {
		if file, ours := strings.CutPrefix(file, root+"/"); ours && file != "claim/main.go" {
			sum += linesAround(t, file, lines)
		}
	}
	return sum
}

// entriesOf returns the lines where the functions of a program begin, by file.
func entriesOf(t *testing.T, program string) map[string][]int {
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	data, err := f.Section(".gopclntab").Data()
	if err != nil {
		t.Fatal(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, f.Section(".text").Addr))
	if err != nil {
		t.Fatal(err)
	}
	entries := map[string][]int{}
	for _, fn := range table.Funcs {
		file, line, _ := table.PCToLine(fn.Entry)
		entries[file] = append(entries[file], line)
	}
	return entries
}

// linesAround returns how many lines the functions of a file have that any of the given lines is in.
func linesAround(t *testing.T, path string, lines []int) (sum int) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		var doc *ast.CommentGroup
		switch n := n.(type) {
		case *ast.FuncDecl:
			doc = n.Doc
		case *ast.FuncLit:
		default:
			return true
		}
		first, last := fset.Position(n.Pos()).Line, fset.Position(n.End()).Line
		if slices.ContainsFunc(lines, func(line int) bool { return first <= line && line <= last }) {
			if doc != nil {
				first = fset.Position(doc.Pos()).Line
			}
			sum += last - first + 1
		}
		return false // what is within counts with it
	})
	return sum
}

// checkSizes fails where something is larger than the file of sizes says.
func checkSizes(t *testing.T, p picture, packages map[string]*figures, drawn map[string]int) {
	listed := readSizes(t)
	now := map[string]int{}
	sums := map[string]int{besideCeiling: besideTokens(t)}
	for name, f := range packages {
		switch {
		case strings.HasSuffix(name, "(tests)"):
		case p.forTests[name]:
			sums[besideCeiling] += f.tokens
		default:
			sums[programCeiling] += f.tokens
			now[name] = f.tokens
		}
	}
	for ceiling, sum := range sums {
		if sum > listed[ceiling] {
			t.Errorf("%d tokens are above the %s, %d: take something away", sum, ceiling, listed[ceiling])
		}
	}
	for name, lines := range drawn {
		now["lines that "+name+" draws in"] = lines
		if most := claims[name].most; lines > most {
			t.Errorf("%s draws in %d lines, at most %d", name, lines, most)
		}
	}
	if *update && !t.Failed() {
		var text strings.Builder
		for _, name := range []string{programCeiling, besideCeiling} {
			fmt.Fprintf(&text, "%7d %s\n", listed[name], name)
		}
		for _, name := range slices.Sorted(maps.Keys(now)) {
			fmt.Fprintf(&text, "%7d %s\n", now[name], name)
		}
		if err := os.WriteFile(sizes, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		listed = readSizes(t)
	}
	for name, n := range now {
		if n > listed[name] {
			t.Errorf("%s has grown from %d to %d; go test . -run TestShape -update lists it", name, listed[name], n)
		}
	}
}

// readSizes reads the file of sizes, by name.
func readSizes(t *testing.T) map[string]int {
	text, err := os.ReadFile(sizes)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for line := range strings.Lines(string(text)) {
		count, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		listed[name], err = strconv.Atoi(count)
		if err != nil {
			t.Errorf("%s: %q is not a number and a name", sizes, line)
		}
	}
	return listed
}

// closureOf returns the lines of some packages and of all packages of ours that they import.
func closureOf(packages map[string]*figures, names ...string) (lines int) {
	drawn := slices.Clone(names)
	for i := 0; i < len(drawn); i++ {
		f := packages[drawn[i]]
		lines += f.lines
		for other := range f.imports {
			if !slices.Contains(drawn, other) {
				drawn = append(drawn, other)
			}
		}
	}
	return lines
}

// checkReading holds the lines that auditing.md lists for each claim against those that are there: of
// functions that a claim draws in, of packages and of all that they import, or of audit.py, the whole or the
// part before the rules.
func checkReading(t *testing.T, packages map[string]*figures, drawn map[string]int) {
	page, noPage := os.ReadFile("server/docs/auditing.md")
	auditor, noAuditor := os.ReadFile("server/docs/audit.py")
	if err := errors.Join(noPage, noAuditor); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "## How much there is to read")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| [^|]+ \| ([^|]+) \| ([0-9,]+) \|$`).FindAllStringSubmatch(table, -1)
	for _, row := range rows {
		lines := bytes.Count(auditor, []byte("\n"))
		if strings.Contains(row[1], "part one") {
			chain, _, _ := bytes.Cut(auditor, []byte("\n# PART TWO"))
			lines = bytes.Count(chain, []byte("\n"))
		}
		var names []string
		for _, name := range regexp.MustCompile("`([a-z/]+)`").FindAllStringSubmatch(row[1], -1) {
			names = append(names, name[1])
		}
		if names != nil {
			lines = cmp.Or(drawn[names[0]], closureOf(packages, names...))
		}
		said, _ := strconv.Atoi(strings.ReplaceAll(row[2], ",", ""))
		if 20*said < 19*lines || 20*said > 21*lines {
			t.Errorf("auditing.md says that %s has %d lines to read, and it has %d", row[1], said, lines)
		}
	}
	if len(rows) != 5 {
		t.Errorf("auditing.md says of %d claims how much there is to read, and there are 5", len(rows))
	}
}

// picture is what server/docs/code.md shows of the packages.
type picture struct {
	line     map[string]int // of the picture, by folder: those of higher lines import those of lower ones
	packages map[string]bool
	forTests map[string]bool // packages that only tests import
}

// readPicture reads the first fenced block of the page, whose lines name folders in columns of 16, and the
// table, whose rows begin with a package.
func readPicture(t *testing.T) picture {
	text, err := os.ReadFile("server/docs/code.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "```\n")
	block, rest, _ := strings.Cut(block, "```\n")
	p := picture{map[string]int{"main.go": 0}, map[string]bool{".": true}, map[string]bool{}}
	for i, line := range strings.Split(block, "\n") {
		for folder := range strings.FieldsSeq(line[:min(len(line), 48)]) {
			p.line[folder] = i
		}
	}
	row := regexp.MustCompile("(?m)^\\| `([a-z/]+)` \\| (for tests only:)?")
	for _, row := range row.FindAllStringSubmatch(rest, -1) {
		p.packages[row[1]] = true
		p.forTests[row[1]] = row[2] != ""
	}
	return p
}

// folder returns the folder of the picture that a package is in.
func (p picture) folder(name string) string {
	if name == "." {
		return "main.go"
	}
	for _, known := p.line[name]; !known && name != "."; _, known = p.line[name] {
		name = path.Dir(name)
	}
	return name
}

// mayImport reports whether the picture lets one package import another.
func (p picture) mayImport(from, to string) bool {
	a, b := p.folder(from), p.folder(to)
	return a == b || p.line[a] < p.line[b]
}

// checkImports holds the picture, and that nothing but the standard library is imported.
func checkImports(t *testing.T, p picture, name string, file *ast.File) {
	test := strings.HasSuffix(name, "_test.go")
	from := filepath.ToSlash(filepath.Dir(name))
	if !p.packages[from] {
		t.Errorf("%s is in a package that the table of server/docs/code.md does not have", name)
	}
	for _, imp := range file.Imports {
		to := strings.Trim(imp.Path.Value, `"`)
		ours, own := strings.CutPrefix(to, "waybill/")
		isTest := (test || p.forTests[from]) && strings.HasPrefix(to, "github.com/google/go-cmp/")
		switch {
		case own && !test && !p.mayImport(from, ours):
			t.Errorf("%s imports %s, which is not below it in server/docs/code.md", name, to)
		case !test && p.forTests[ours] && !p.forTests[from]:
			t.Errorf("%s imports %s, which is for tests only", name, to)
		case !own && strings.Contains(to, ".") && !isTest:
			t.Errorf("%s imports %s, which is not the standard library's", name, to)
		}
	}
}

// mayUpdate are the rooms that may change the state. The list only gets shorter.
var mayUpdate = []string{
	"server/api/company", "server/api/partner", "server/operate/admin", "server/operate/carrier",
	"server/reach/outbox", "server/reach/provider", "server/lab/bench",
}

// checkUpdates holds that no other room changes the state.
func checkUpdates(t *testing.T, name string, file *ast.File) {
	room := filepath.ToSlash(filepath.Dir(name))
	isRoom := strings.HasPrefix(room, "server/") && !strings.HasPrefix(room, "server/frame/") &&
		room != "server/lab/rig"
	if !isRoom || strings.HasSuffix(name, "_test.go") || slices.Contains(mayUpdate, room) {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok {
			switch call.Sel.Name {
			case "Update", "UpdateHere", "UpdateWithRoom", "SetClock", "Record":
				t.Errorf("%s calls %s, which changes the state", name, call.Sel.Name)
			}
		}
		return true
	})
}

// ignored reports whether a name is what a build or the demo leaves behind.
func ignored(name string) bool { return name == "waybill" || name == "waybill-data" }
