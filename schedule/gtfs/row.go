package gtfs

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/schedule"
)

// row is one row of a file. The first thing found wrong with it sticks: what is read of it
// from then on is of no use, and it is skipped and reported.
type row struct {
	file    string
	line    int
	columns map[string]int
	cells   []string
	unused  bool
	reason  string // why it is unused; "" passes over it in silence
}

const maxCell = 1 << 16 // bytes of one cell

// fail makes the row unused for a reason, unless it is already.
func (r *row) fail(format string, args ...any) {
	if !r.unused {
		r.unused, r.reason = true, fmt.Sprintf(format, args...)
	}
}

// check fails the row unless ok.
func (r *row) check(ok bool, format string, args ...any) {
	if !ok {
		r.fail(format, args...)
	}
}

// parse takes a line as the row; it tells whether it is one, rather than blank, the header, or unused.
func (r *row) parse(line []byte) bool {
	if !r.unused {
		r.split(string(line))
	}
	switch {
	case r.unused, len(r.cells) == 1 && r.cells[0] == "":
		return false
	case r.columns == nil:
		r.columns = map[string]int{}
		for i, name := range r.cells {
			r.columns[name] = i
		}
		return false
	}
	r.check(utf8.Valid(line), "is not UTF-8")
	return !r.unused
}

// split takes a line apart, as GTFS has it: no cell runs over several lines, so
// that one whose quote is missing does not swallow the lines after it.
func (r *row) split(line string) {
	r.cells = r.cells[:0]
	for more := true; more; {
		line = strings.TrimSpace(line)
		cell, rest, found := strings.Cut(line, ",")
		if strings.HasPrefix(line, `"`) {
			end := closing(line)
			if end < 0 {
				r.fail("a quote is missing")
				return
			}
			cell = strings.ReplaceAll(line[1:end], `""`, `"`)
			_, rest, found = strings.Cut(line[end:], ",")
		}
		r.check(len(cell) <= maxCell, "a cell is longer than 64 KiB")
		r.cells = append(r.cells, strings.TrimSpace(cell))
		line, more = rest, found
	}
}

// closing finds the quote that ends a cell in quotes, -1 where none does: it is not doubled, and
// after it comes nothing but blanks before the comma or the line's end. A quote in front of
// anything else is a part of the cell, odd as it is.
func closing(line string) int {
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			continue
		}
		next := line[i+1:]
		after := strings.TrimLeft(next, " \t")
		switch {
		case after == "" || after[0] == ',':
			return i
		case next[0] == '"':
			i++
		case len(after) < len(next):
			return -1
		}
	}
	return -1
}

// get gives a cell without padding, "" where the row or the file has none.
func (r *row) get(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

// list gives the parts of a cell.
func (r *row) list(column, separator string) []string {
	var list []string
	for part := range strings.SplitSeq(r.get(column), separator) {
		if part = strings.TrimSpace(part); part != "" {
			list = append(list, part)
		}
	}
	return list
}

// index finds what the rows of a file became by the ids that the feed gives them.
type index map[string]int32

// leftOut stands for what an option leaves out: rows that name it are passed over in silence.
const leftOut int32 = -2

// id reads the id of a row, which no other has.
func (r *row) id(column string, others index) string {
	r.check(r.get(column) != "", "has no %s", column)
	return r.unique(column, others)
}

// unique reads what no other row has.
func (r *row) unique(column string, others index) string {
	cell := r.get(column)
	if _, double := others[cell]; double {
		r.fail("%s %q is there already", column, cell)
	}
	return cell
}

// ref finds the row of another file that a cell names.
func (r *row) ref(column string, in index, file string) int32 {
	i, ok := in[r.get(column)]
	if !ok {
		r.fail("%s %q is no usable row of %s", column, r.get(column), file)
	} else if i == leftOut {
		r.unused = true
	}
	return i
}

// maybe is ref where a cell may name nothing, which is -1.
func (r *row) maybe(column string, in index, file string) int32 {
	if _, ok := in[""]; !ok && r.get(column) == "" {
		return -1
	}
	return r.ref(column, in, file)
}

// number reads a whole number. One that is not in the range is least.
func (r *row) number(column string, least, most int) int {
	n, err := strconv.Atoi(r.get(column))
	if err != nil || n < least || n > most {
		r.fail("%s %q is not a whole number from %d to %d", column, r.get(column), least, most)
		return least
	}
	return n
}

// degrees reads a latitude or longitude.
func (r *row) degrees(column string, most float64) float64 {
	x, err := strconv.ParseFloat(r.get(column), 64)
	r.check(err == nil && -most <= x && x <= most, "%s %q is not a number from -%v to %v", column, r.get(column), most, most)
	return x
}

// percent reads a percentage, in hundredths.
func (r *row) percent(column string) int64 {
	n, ok := parseHundredths(r.get(column))
	r.check(ok && n <= 100_00, "%s %q is not a percentage from 0 to 100", column, r.get(column))
	return n
}

// date reads a date as in 20261120.
func (r *row) date(column string) schedule.Day {
	t, err := time.Parse("20060102", r.get(column))
	r.check(err == nil, "%s %q is not a date as in 20261120", column, r.get(column))
	return schedule.DayOf(t)
}

// clock reads a time of a service day, in seconds; it may be blank.
func (r *row) clock(column string) int32 {
	cell := r.get(column)
	if cell == "" {
		return blank
	}
	seconds, ok := parseTime(cell)
	if !ok {
		r.fail("%s %q is not a time as in 08:30:00", column, cell)
	}
	return seconds
}
