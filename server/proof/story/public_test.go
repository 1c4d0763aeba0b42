package story_test

import (
	"regexp"
	"strings"
	"testing"

	"waybill/server/docs"
	"waybill/server/ledger"
	"waybill/server/proof/story"
	"waybill/store/journal"
)

// Decision desk.wall: what the wall says of a line has no name, whatever its type, also where its data lacks
// what its words name.
func TestNoTypeOfLineHasANameForTheWall(t *testing.T) {
	page, err := docs.Files.ReadFile("journal.md")
	if err != nil {
		t.Fatal(err)
	}
	_, types, _ := strings.Cut(string(page), "\n## The types\n")
	types, _, _ = strings.Cut(types, "\n### Members of several types")
	found := regexp.MustCompile(`(?m)^### ([a-z._]+)$`).FindAllStringSubmatch(types, -1)
	if len(found) < 35 {
		t.Fatalf("journal.md has %d types", len(found))
	}
	state, _ := ledger.NewReplay()
	told := 0
	for _, m := range found {
		l := &journal.Line{Type: m[1], Data: []byte(`{"name":"Hans","reason":"Hans asks","feed":"Hans"}`)}
		said := story.Public(state, l)
		if strings.Contains(said, "Hans") {
			t.Errorf("of %s it says %q", m[1], said)
		}
		if said != "" {
			told++
		}
	}
	if told < 26 {
		t.Errorf("only %d types have words", told)
	}
	for _, data := range []string{"", `{"tickets":7}`, `[]`} {
		l := &journal.Line{Type: "tickets.canceled", Data: []byte(data)}
		if said := story.Public(state, l); said != "" {
			t.Errorf("of %s it says %q", data, said)
		}
	}
	l := &journal.Line{Type: "of.tomorrow", Data: []byte(`{"name":"Hans"}`)}
	if said := story.Public(state, l); said != "" {
		t.Errorf("of a type that it does not know it says %q", said)
	}
}

// A line without words of its own is told without who did it, whatever is in that user's name.
func TestALineIsToldWithoutWhoDidIt(t *testing.T) {
	for _, by := range []string{"", `,"by":{"uid":5}`, `,"by":{"uid":5,"user":"o}l\"e{na","login":"}"}`} {
		l := &journal.Line{Data: []byte(`{"messages":["7-1"]` + by + `,"personal":"ab"}`)}
		if said := story.Plain(l); said != "messages [7-1], personal ab" {
			t.Errorf("with %s it says %q", by, said)
		}
	}
	l := &journal.Line{Data: []byte(`{"by":{"uid":5,"user":"}"}}`)}
	if said := story.Plain(l); said != "" {
		t.Errorf("of nothing else it says %q", said)
	}
}
