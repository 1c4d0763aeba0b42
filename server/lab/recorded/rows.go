package recorded

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"waybill/server/docs"
)

// sight is what an exchange shows of a row of decisions.md: that the deployment does the same, or, in words
// without values, what it does otherwise; the zero value shows nothing about the row.
type sight struct {
	isSeen  bool
	differs string // what is otherwise; "" where it is the same
}

// unseen is what an exchange shows that is about something else.
var unseen sight

// same is what an exchange shows where the deployment does as this program.
var same = sight{isSeen: true}

// sameIf is same where something holds, else what is otherwise.
func sameIf(holds bool, what string) sight {
	if holds {
		return same
	}
	return sight{true, what}
}

// row is a row of decisions.md of which one exchange can show something.
type row struct {
	id    string
	check func(*exchange) sight
}

// rows are the rows that a recording can show. No check looks for the parts of a row that no answer shows, as
// those about the disk. Of a row with several parts those count that were seen.
var rows = slices.Concat(schemaRows(), formRows())

// flowRows are those of which flows tell (see flows.show).
var flowRows = []string{"idempotency.key", "windows.end", "tickets.statuses", "tickets.revival",
	"refunds.rule"}

// schemaRows are those of which the schemas of this program tell: of some answers, that nothing of a kind is
// to be told.
func schemaRows() (list []row) {
	for _, s := range []struct {
		id    string
		of    func(*exchange) bool
		fault *regexp.Regexp // what is told
	}{
		{"errors.codes", (*exchange).isRefused, regexp.MustCompile(`^errors\[\]\.errorCode `)},
		{"errors.fixed", (*exchange).isRefused, regexp.MustCompile(`^errors\[\]\.message `)},
		{"conflict.reasons", (*exchange).isConflict, regexp.MustCompile(`^errors\[\]\.details`)},
		{"values.absent", (*exchange).isAnswerV2, regexp.MustCompile(`has no member| is null`)},
	} {
		list = append(list, row{s.id, func(x *exchange) sight {
			if !s.of(x) {
				return unseen
			}
			for _, fault := range x.againstOurs() {
				if s.fault.MatchString(fault.say()) {
					return sight{true, fault.say()}
				}
			}
			return same
		}})
	}
	return list
}

// isRefused reports whether an answer is a refusal in the envelope.
func (x *exchange) isRefused() bool {
	return x.isV2() && x.status >= http.StatusBadRequest && len(x.errors()) > 0
}

func (x *exchange) isConflict() bool { return x.isRefused() && x.status == http.StatusConflict }

// isAnswerV2 reports whether an answer has a result.
func (x *exchange) isAnswerV2() bool { return x.isV2() && x.ok() && x.answer.isJSON }

// formRows are those of which the form of a text tells.
func formRows() (list []row) {
	for _, f := range []struct {
		id    string
		texts func(*exchange) []any
		form  *regexp.Regexp
		what  string
	}{
		{"ids.form", (*exchange).ids, regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{21}$`),
			"the id of a booking or ticket is of another form"},
		{"seats.segments", (*exchange).labels, regexp.MustCompile(`^[1-9][0-9]{0,3}$`),
			"the label of a seat is not a number from 1 on"},
		{"answers.headers", (*exchange).headers, regexp.MustCompile(`^.+ nosniff$`),
			"there is no X-Request-Id, or no X-Content-Type-Options: nosniff"},
	} {
		list = append(list, row{f.id, func(x *exchange) sight {
			seen := unseen
			for _, v := range f.texts(x) {
				if !f.form.MatchString(fmt.Sprint(v)) {
					return sight{true, f.what}
				}
				seen = same
			}
			return seen
		}})
	}
	return list
}

func (x *exchange) ids() []any { return append(of(x.bookings(), "id"), of(x.tickets(), "id")...) }

// labels are those of the service's own seats.
func (x *exchange) labels() (list []any) {
	for _, t := range x.tickets() {
		if textOf(t, "source") == ownSource {
			list = append(list, of(t, "slices", "seat", "label")...)
		}
	}
	return list
}

func (x *exchange) headers() []any {
	h := x.answer.header
	if !x.isV2() || len(h) == 0 || x.mayBeAnothers() {
		return nil
	}
	return []any{h.Get("X-Request-Id") + " " + h.Get("X-Content-Type-Options")}
}

// decisionRow finds the ids of decisions.md.
var decisionRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")

// decisions returns the ids of all rows of decisions.md, in its order.
func decisions() (ids []string) {
	page, err := docs.Files.ReadFile("decisions.md")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, m := range decisionRow.FindAllSubmatch(page, -1) {
		ids = append(ids, string(m[1]))
	}
	return ids
}

// show notes what an exchange shows of a row. One that does otherwise outweighs all that do the same.
func (f *flows) show(id string, x *exchange, s sight) {
	had := f.rows[id]
	if s.isSeen && (had == "" || s.differs != "" && strings.HasPrefix(had, "agrees")) {
		f.rows[id] = "agrees  " + id + "  " + x.place()
		if s.differs != "" {
			f.rows[id] = "differs  " + id + "  " + x.place() + ": " + s.differs
		}
	}
}

// shownRows returns the ids of the rows that a recording can show.
func shownRows() []string {
	ids := slices.Clone(flowRows)
	for _, row := range rows {
		ids = append(ids, row.id)
	}
	return ids
}

// writeRows writes a line for each row of decisions.md that a recording can show, and one that names all
// others.
func (f *flows) writeRows(w io.Writer) {
	shown := shownRows()
	var others []string
	for _, id := range decisions() {
		if !slices.Contains(shown, id) {
			others = append(others, id)
			continue
		}
		fmt.Fprintln(w, cmp.Or(f.rows[id], "not seen  "+id))
	}
	fmt.Fprintln(w, "no recording shows  "+strings.Join(others, ", "))
}
