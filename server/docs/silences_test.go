package docs_test

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write silent.json anew")

// "Where the interface is silent" has the rows of decisions.md.
func TestSilencesAreTheDecisions(t *testing.T) {
	page, err := os.ReadFile("decisions.md")
	if err != nil {
		t.Fatal(err)
	}
	table := string(page)
	var rows [][3]string
	threeCells := regexp.MustCompile(`(?m)^\| (.*) \| (.*) \| (.*) \|$`)
	for _, m := range threeCells.FindAllStringSubmatch(table, -1) {
		rows = append(rows, [3]string{m[1], m[2], m[3]})
	}
	if *update {
		var lines []string
		for _, r := range rows[1:] {
			b, _ := json.Marshal(r)
			lines = append(lines, " "+strings.ReplaceAll(string(b), `","`, `", "`))
		}
		array := "[\n" + strings.Join(lines, ",\n") + "\n]\n"
		if err := os.WriteFile("silent.json", []byte(array), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile("silent.json")
	var silent [][3]string
	if err == nil {
		err = json.Unmarshal(text, &silent)
	}
	if err != nil || len(rows) < 2 || !slices.Equal(rows[1:], silent) {
		t.Errorf("silent.json has not the rows of decisions.md; go test ./server/docs -run Silences -update " +
			"writes it anew")
	}
}
