package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// leanPackages are those of the lean binary: all there are, but for server/lab and what only tests have.
var leanPackages = []string{
	"auth", "auth/oidc", "booking",
	"booking/seating", "report", "schedule",
	"schedule/gtfs", "schedule/ids", "schedule/journey", "server", "server/api/company",
	"server/api/legacy", "server/api/partner", "server/api/reference", "server/api/search",
	"server/command", "server/command/terminal", "server/docs", "server/frame/resource",
	"server/frame/web", "server/frame/words", "server/front", "server/ledger",
	"server/ledger/wire",
	"server/machines/keep", "server/machines/standby", "server/machines/tail", "server/operate/admin",
	"server/operate/carrier", "server/operate/desk", "server/operate/door", "server/operate/ops",
	"server/operate/stand", "server/proof/backup", "server/proof/events", "server/proof/evidence",
	"server/proof/export", "server/proof/history", "server/proof/statement",
	"server/proof/story", "server/proof/verify", "server/proof/witness", "server/reach/outbound", "server/reach/outbox", "server/reach/provider",
	"server/reach/qr", "server/reach/ticket", "store", "store/chain",
	"store/checkpoint", "store/durable",
	"store/inspect", "store/journal",
	"store/live", "store/note", "store/tree",
	"testdata",
}

// Decision lean.packages: the lean binary has these packages, none of which is of the lab, and none can move
// a clock.
func TestPackagesOfTheLeanBuild(t *testing.T) {
	t.Parallel()
	const form = "{{if not .Standard}}{{.ImportPath}} {{.Dir}} {{join .GoFiles \" \"}}{{end}}"
	out, err := exec.Command("go", "list", "-tags", "lean", "-deps", "-f", form, "waybill").Output()
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		name, within := strings.CutPrefix(words[0], "waybill/")
		if within {
			found = append(found, name)
		}
		if strings.HasPrefix(name+"/", "server/lab/") {
			t.Errorf("%s is in the lean binary", name)
		}
		for _, file := range words[2:] {
			for _, place := range clockMoves(t, name, filepath.Join(words[1], file)) {
				t.Error(place)
			}
		}
	}
	slices.Sort(found)
	if !slices.Equal(found, leanPackages) {
		t.Errorf("the lean binary has the packages\n%q", found)
	}
	// What moves a clock is found where it is.
	if len(clockMoves(t, "server/lab/bench", "../lab/bench/start.go")) == 0 {
		t.Error("the test bench moves no clock")
	}
}

// clockMoves returns what moves a clock in a file of a package. That takes the store's SetClock, or the event
// ClockSet, or the clock of the state. The ledger has the event and reads it from the journal; others may ask
// whether one that was read is of its type.
func clockMoves(t *testing.T, name, path string) (places []string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	asked := map[ast.Node]bool{} // expressions that a value is only held against
	ast.Inspect(file, func(n ast.Node) bool {
		wrong := ""
		switch n := n.(type) {
		case *ast.FuncDecl:
			asked[n.Name] = name == "store/live" && n.Name.Name == "SetClock"
		case *ast.TypeSwitchStmt:
			for _, clause := range n.Body.List {
				for _, of := range clause.(*ast.CaseClause).List {
					markAll(asked, of)
				}
			}
		case *ast.TypeAssertExpr:
			markAll(asked, n.Type)
		case *ast.Ident:
			moves := n.Name == "SetClock" || n.Name == "ClockSet" && name != "server/ledger"
			if moves && !asked[n] {
				wrong = n.Name
			}
		case *ast.CompositeLit:
			if last(n.Type) == "ClockSet" {
				wrong = "a ClockSet that is made"
			}
		case *ast.CallExpr:
			if last(n.Fun) == "new" && last(n.Args[0]) == "ClockSet" {
				wrong = "a ClockSet that is made"
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if setsClock(to) && !(name == "server/ledger" && filepath.Base(path) == "operating.go") {
					wrong = "a clock that is set"
				}
			}
		}
		if wrong != "" {
			places = append(places, files.Position(n.Pos()).String()+": "+wrong)
		}
		return true
	})
	return places
}

// markAll marks an expression and all that it consists of.
func markAll(marked map[ast.Node]bool, x ast.Expr) {
	if x == nil { // of x.(type)
		return
	}
	ast.Inspect(x, func(n ast.Node) bool {
		if n != nil {
			marked[n] = true
		}
		return true
	})
}

// last returns the last name of an expression: of ledger.ClockSet, ClockSet.
func last(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}

// setsClock reports whether what is assigned to is the field Clock of something, the clock of a
// ledger.State, or a part of them.
func setsClock(x ast.Expr) bool {
	for {
		field, ok := x.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		if field.Sel.Name == "Clock" || field.Sel.Name == "clock" && last(field.X) == "rest" {
			return true
		}
		x = field.X
	}
}
