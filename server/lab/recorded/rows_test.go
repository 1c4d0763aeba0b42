package recorded

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waybill/server/docs"
)

// otherwise are answers of our own server that are altered so that a row differs: the row, the pair, what of
// the answer is replaced, and by what.
var otherwise = [][4]string{
	{"errors.codes", "city-none", `"NOT_FOUND"`, `"NO_SUCH_CITY"`},
	{"errors.fixed", "city-none", "RESOURCE_NOT_FOUND", "there is no such city"},
	{"conflict.reasons", "create-many", `"reason":"NO_SEATS",`, ""},
	{"answers.headers", "cities", "X-Request-Id: .*\r\n", ""},
	{"ids.form", "booking", `"booking":\{"id":"[^"]*`, `"booking":{"id":"7`},
	{"values.absent", "create", `"email":""`, `"email":null`},
	{"idempotency.key", "create-again", "Idempotent-Replayed: true\r\n", ""},
	{"seats.segments", "booking", `"label":"`, `"label":"A`},
	{"windows.end", "booking", "Uncompleted", "Processing"},
	{"tickets.statuses", "booking", `"status":"Boarding"`, `"status":"Upcoming"`},
	{"refunds.rule", "cancel", `"refundAmount":[0-9]+`, `"refundAmount":1`},
}

// Decision conform.recorded: of each row that is looked for one recording makes it agree, another one differ.
func TestEachRowAgreesAndDiffers(t *testing.T) {
	pairs := ownPairs(t)
	own := recordingOf(t, pairs)
	seen := map[string]int{}
	for _, x := range otherwise {
		id := x[0]
		expectRow(t, "agrees", id, own)
		altered := &Recording{exchanges: slices.Clone(own.exchanges)}
		i, other := alter(t, pairs, x[1], x[2], x[3])
		altered.exchanges[i] = other
		expectRow(t, "differs", id, altered)
		seen[id]++
	}
	expectRow(t, "agrees", "tickets.revival", own) // nothing else is to be seen of it
	seen["tickets.revival"]++
	for _, id := range shownRows() {
		if seen[id] != 1 {
			t.Errorf("%s is tried %d times", id, seen[id])
		}
	}
}

// expectRow checks what is said of a row.
func expectRow(t *testing.T, word, id string, r *Recording) {
	t.Helper()
	f := r.judge(new(findings))
	if line := f.rows[id]; !strings.HasPrefix(line, word+"  "+id+"  ") {
		t.Errorf("%s should be said of %s: %s", word, id, line)
	}
}

// Decision conform.recorded: each row that is looked for is one of decisions.md, of which each has a line or
// stands in the last one.
func TestRowsAreThoseOfTheDecisions(t *testing.T) {
	known := decisions()
	shown := shownRows()
	for i, id := range shown {
		if !slices.Contains(known, id) {
			t.Errorf("decisions.md has no row %s", id)
		}
		if slices.Contains(shown[:i], id) {
			t.Errorf("%s is looked for twice", id)
		}
	}
	page, err := docs.Files.ReadFile("testing.md")
	sentence := fmt.Sprintf(" the %d rows of [the decisions]", len(shown))
	if err != nil || !strings.Contains(string(page), sentence) || len(shown) < 12 {
		t.Errorf("testing.md does not say that %d rows are looked for: %v", len(shown), err)
	}
	lines := said(t, new(Recording))
	word, hidden, isLast := strings.Cut(lines[len(lines)-1], "  ")
	var got []string
	for _, line := range lines[:len(lines)-1] {
		got = append(got, strings.TrimPrefix(line, "not seen  "))
	}
	got = append(got, strings.Split(hidden, ", ")...)
	slices.Sort(got)
	slices.Sort(known)
	if !isLast || word != "no recording shows" || !slices.Equal(got, known) || len(known) < 100 {
		t.Errorf("the lines are of %q", got)
	}
}
