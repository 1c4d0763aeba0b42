package recorded

import (
	"fmt"
	"io"
	"regexp"
	"slices"

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

// other is what an exchange shows where the deployment does otherwise.
func other(what string) sight { return sight{isSeen: true, differs: what} }

// sameIf is same where something holds, else what is otherwise.
func sameIf(holds bool, what string) sight {
	if holds {
		return same
	}
	return other(what)
}

// either returns the first of some sights that shows something; one that differs goes before others.
func either(sights ...sight) sight {
	seen := unseen
	for _, s := range sights {
		if s.differs != "" {
			return s
		}
		if s.isSeen {
			seen = s
		}
	}
	return seen
}

// row is a row of decisions.md that a recording can show, and what an exchange shows of it.
type row struct {
	id    string
	check func(*Recording, *exchange) sight
}

// rows are the rows that a recording can show. No check looks for the parts of a row that no answer shows, as
// those about the disk. Of a row with several parts those count that were seen.
var rows = slices.Concat(requestRows, bookingRows)

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

// writeRows writes a line for each row of decisions.md. One exchange that does otherwise outweighs all that
// do the same.
func (r *Recording) writeRows(w io.Writer) {
	checks := map[string]func(*Recording, *exchange) sight{}
	for _, row := range rows {
		checks[row.id] = row.check
	}
	for _, id := range decisions() {
		fmt.Fprintln(w, r.lineOf(id, checks[id]))
	}
}

// lineOf returns the line of a row, of which check is nil where no recording can show it.
func (r *Recording) lineOf(id string, check func(*Recording, *exchange) sight) string {
	agrees := ""
	for _, x := range r.exchanges {
		if check == nil {
			break
		}
		s := check(r, x)
		if s.differs != "" {
			return "differs  " + id + "  " + x.place() + ": " + s.differs
		}
		if s.isSeen && agrees == "" {
			agrees = x.place()
		}
	}
	if agrees == "" {
		return "not seen  " + id
	}
	return "agrees  " + id + "  " + agrees
}
