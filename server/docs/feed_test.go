package docs

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A carrier writes prices, buses and refund rules from the page alone: it has each column of our own that an
// import reads, with an example, which is a value of the demo's where the demo has the column.
func TestTheFeedsOwnColumnsAreListed(t *testing.T) {
	t.Chdir(root)
	text := content(t, "server/docs/feed.md")
	listed := map[string]bool{}
	file := ""
	for line := range strings.Lines(text) {
		if named := regexp.MustCompile("^In `([a-z_]+\\.txt)`").FindStringSubmatch(line); named != nil {
			file = named[1]
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) < 4 || !strings.Contains(line, "| `") {
			continue
		}
		if len(cells) == 5 {
			file = strings.TrimSpace(cells[0])
			cells = cells[1:]
		}
		example := strings.TrimSpace(cells[3])
		columns := regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[0], -1)
		for i, column := range columns {
			listed[column[1]] = true
			if values := demoColumn(t, file, column[1]); i == 0 && len(values) > 0 &&
				example[0] != '[' && !slices.Contains(values, example) {
				t.Errorf("%s: no %s of the demo is %q", file, column[1], example)
			}
		}
	}
	if len(listed) < 35 {
		t.Errorf("%d columns are listed", len(listed))
	}
	var source strings.Builder
	for _, name := range []string{"import.go", "cities.go", "network.go"} {
		source.WriteString(content(t, filepath.Join("schedule/gtfs", name)))
	}
	ours := regexp.MustCompile(`"(waybill_[a-z_]+)"`)
	for _, column := range ours.FindAllStringSubmatch(source.String(), -1) {
		if !listed[column[1]] {
			t.Errorf("the page does not list %s", column[1])
		}
	}
	for _, name := range []string{"buses", "refund_rules", "discounts"} {
		for _, column := range header(t, "waybill_"+name+".txt") {
			if !listed[column] {
				t.Errorf("the page does not list %s of waybill_%s.txt", column, name)
			}
		}
	}
	for row := range strings.Lines(text[strings.Index(text, "```")+4 : strings.LastIndex(text, "```")]) {
		demo := content(t, "testdata/demo/fare_attributes.txt") + content(t, "testdata/demo/fare_rules.txt")
		if !strings.Contains(demo, row) {
			t.Errorf("the demo's fares have no row %q", row)
		}
	}
}

// header returns the columns of a file of the demo.
func header(t *testing.T, file string) []string {
	first, _, _ := strings.Cut(content(t, "testdata/demo/"+file), "\n")
	return strings.Split(strings.TrimSpace(first), ",")
}

// demoColumn returns what a column of the demo has; none where the demo does not have the column.
func demoColumn(t *testing.T, file, column string) (values []string) {
	f, err := os.Open("testdata/demo/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	at := slices.Index(rows[0], column)
	for _, row := range rows[1:] {
		if at >= 0 {
			values = append(values, row[at])
		}
	}
	return values
}
