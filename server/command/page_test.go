package command

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waybill/server/ledger"
)

// What the line of a start says of the program is what journal.md has, in that order.
func TestPageHasWhatAStartSaysOfTheProgram(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/journal.md")
	if err != nil {
		t.Fatal(err)
	}
	var said, written []string
	for _, row := range regexp.MustCompile("(?m)^\\| `program\\.(.*?)` \\|").FindAllSubmatch(page, -1) {
		said = append(said, string(row[1]))
	}
	for f := range reflect.TypeFor[ledger.Program]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		written = append(written, name)
	}
	if !slices.Equal(said, written) {
		t.Errorf("journal.md has %s, and the code writes %s", said, written)
	}
}
