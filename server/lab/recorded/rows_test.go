package recorded

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"waybill/server/docs"
)

// made are pairs of which our own server's recording has none that agree: ROW, the request and the answer.
var made = map[string][]pair{
	"limits.table": {{"many", booking(strings.Repeat(one+",", 100) + one), invalid("passengers")}},
}

// madeOther are such pairs that differ.
var madeOther = map[string][]pair{
	"limits.table": {{"many", booking(strings.Repeat(one+",", 100) + one), "HTTP/1.1 201 Created\n\n{}"}},
}

const one = `{"firstName":"Lesia","lastName":"Ukrainka"}`

// booking is a request for passengers.
func booking(passengers string) string {
	return "POST /v2/bookings\n\n" + `{"offerId":"x","currency":"UAH","passengers":[` + passengers + `]}`
}

// invalid is a 400 that names a field.
func invalid(field string) string {
	const form = "HTTP/1.1 400 Bad Request\n\n" +
		`{"errors":[{"message":"it is wrong","errorCode":"VALIDATION_ERROR","details":{"field":"%s"}}]}`
	return fmt.Sprintf(form, field)
}

// otherwise are answers of our own server that are altered so that a row differs: the row, the pair, what of
// the answer is replaced, and by what.
var otherwise = [][4]string{
	{"bodies.strict", "create-strict", "400 Bad Request", "201 Created"},
	{"bodies.type", "create-form", "415 Unsupported Media Type", "400 Bad Request"},
	{"headers.repeated", "offers-twice", "401 Unauthorized", "200 OK"},
	{"query.parameters", "cities-country", "(?s)^.*$", invalid("unknown")},
	{"errors.listed", "cities-few", `"field"`, `"place"`},
	{"errors.order", "create-bare", "401 Unauthorized", "400 Bad Request"},
	{"errors.codes", "delete", "METHOD_NOT_ALLOWED", "NOT_FOUND"},
	{"errors.fixed", "city-none", "RESOURCE_NOT_FOUND", "there is no such city"},
	{"errors.place", "city-none", `"field"`, `"place"`},
	{"errors.plain", "city-none", `\{(?s:.*)$`, "<html>"},
	{"conflict.reasons", "create-many", `"reason":"NO_SEATS",`, ""},
	{"answers.headers", "cities", "X-Request-Id: .*\r\n", ""},
	{"answers.bodies", "cities", `\n$`, ""},
	{"answers.tags", "cities", `Etag: "`, `Etag: W/"`},
	{"ids.form", "booking", `"booking":\{"id":"[^"]*`, `"booking":{"id":"7`},
	{"ids.derived", "booking", `"passenger":\{"id":"[^"]*`, `"passenger":{"id":"7`},
	{"values.absent", "create", `"email":""`, `"email":null`},
	{"money.rounding", "offers", `"amount":[0-9.]+`, `"amount":1.125`},
	{"probes.open", "livez", "200 OK", "404 Not Found"},
	{"idempotency.key", "create-again", "Idempotent-Replayed: true\r\n", ""},
	{"origin.refused", "login-cross", "403 Forbidden", "200 OK"},
	{"bookings.currency", "create-empty", "400 Bad Request", "201 Created"},
	{"bookings.passengers", "create-empty", "400 Bad Request", "201 Created"},
	{"bookings.departure", "booking", `"onboardingDateTime":"2026`, `"onboardingDateTime":"2027`},
	{"seats.segments", "booking", `"label":"`, `"label":"A`},
	{"seats.short", "create-many", `,"seatsLeft":[0-9]+`, ""},
	{"windows.end", "booking", "Uncompleted", "Processing"},
	{"tickets.revival", "revive", "200 OK", "409 Conflict"},
	{"tickets.statuses", "booking", `"Unpaid"`, `"Paid"`},
	{"refunds.rule", "cancel", `"refundAmount":[0-9]+`, `"refundAmount":1`},
	{"preview.answer", "preview", `"allowed":true,`, ""},
	{"events.numbers", "events", `"seq":2,`, `"seq":1,`},
	{"ticket.document", "document", "<main>", "<main><script></script>"},
}

// Decision conform.recorded: of each row that is looked for one recording makes it agree, another one differ.
func TestEachRowAgreesAndDiffers(t *testing.T) {
	pairs := ownPairs(t)
	own := recordingOf(t, pairs)
	seen := map[string]int{}
	for _, x := range otherwise {
		id := x[0]
		expectRow(t, "agrees", id, own)
		altered := &Recording{exchanges: slices.Clone(own.exchanges), hasKeys: own.hasKeys}
		i, other := alter(t, pairs, x[1], x[2], x[3])
		altered.exchanges[i] = other
		expectRow(t, "differs", id, altered)
		seen[id]++
	}
	for id := range made {
		expectRow(t, "agrees", id, recordingOf(t, made[id]))
		expectRow(t, "differs", id, recordingOf(t, madeOther[id]))
		seen[id]++
	}
	for _, row := range rows {
		if seen[row.id] != 1 {
			t.Errorf("%s is tried %d times", row.id, seen[row.id])
		}
	}
}

// expectRow checks what is said of a row.
func expectRow(t *testing.T, word, id string, r *Recording) {
	t.Helper()
	i := slices.IndexFunc(rows, func(row row) bool { return row.id == id })
	if line := r.lineOf(id, rows[i].check); !strings.HasPrefix(line, word+"  "+id+"  ") {
		t.Errorf("%s should be said: %s", word, line)
	}
}

// isSame reports whether two rows are one.
func (r row) isSame(other row) bool { return r.id == other.id }

// Decision conform.recorded: each row that is looked for is one of decisions.md, of which each has a line, in
// its order.
func TestRowsAreThoseOfTheDecisions(t *testing.T) {
	known := decisions()
	for i, row := range rows {
		if !slices.Contains(known, row.id) {
			t.Errorf("decisions.md has no row %s", row.id)
		}
		if slices.ContainsFunc(rows[:i], row.isSame) {
			t.Errorf("%s is looked for twice", row.id)
		}
	}
	if len(rows) < 25 {
		t.Errorf("only %d rows are looked for", len(rows))
	}
	page, err := docs.Files.ReadFile("testing.md")
	if err != nil || !strings.Contains(string(page), fmt.Sprintf(" %d rows of the decisions ", len(rows))) {
		t.Errorf("testing.md does not say that %d rows are looked for: %v", len(rows), err)
	}
	var got []string
	for _, line := range said(t, recordingOf(t, made["legacy.gone"])) {
		words := strings.Fields(strings.Replace(line, "not seen", "unseen", 1))
		if slices.Contains([]string{"agrees", "differs", "unseen"}, words[0]) {
			got = append(got, words[1])
		}
	}
	if !slices.Equal(got, known) || len(known) < 100 {
		t.Errorf("the lines are of %q", got)
	}
}
