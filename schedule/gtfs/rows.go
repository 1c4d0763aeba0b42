package gtfs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/schedule"
)

const ( // in bytes
	maxLine = 1 << 18
	maxCell = 1 << 16
)

// rows returns the rows of a file, each until the next, and reports those in which something was found wrong.
// A file that is not there, or empty, has none; once one cannot be read, none has.
func (f *Feed) rows(file string) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		if f.err == nil {
			f.ids[file] = index{}
			f.err = f.read(file, yield)
		}
	}
}

// read yields the rows of a file, one after another.
func (f *Feed) read(file string, yield func(*row) bool) error {
	info, err := fs.Stat(f.dir, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil && !info.Mode().IsRegular() {
		return noFeed("%s is not a regular file", file)
	}
	opened, err := f.dir.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer opened.Close()
	f.text.Reset(opened)
	r := &row{
		feed: f,
		file: file,
		line: 1,
		ids:  f.ids,
	}
	for {
		line, err := f.text.ReadSlice('\n')
		f.left -= int64(len(line))
		first := r.line == 1
		switch {
		case err == io.EOF && len(line) == 0 && !r.unused:
			return nil
		case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
			return fmt.Errorf("%s: %w", file, err)
		case f.left < 0:
			return noFeed("the feed unpacks beyond 4 GiB")
		case first && bytes.HasPrefix(line, []byte("version https://git-lfs")):
			return noFeed("%s is a Git LFS pointer; fetch the file itself", file)
		case first &&
			(bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff"))):
			return noFeed("%s is in UTF-16, GTFS is in UTF-8", file)
		case bytes.IndexByte(line, 0) >= 0:
			return noFeed("%s has NUL bytes: it is in UTF-16, or no text file", file)
		case err == bufio.ErrBufferFull: // the line goes on
			r.fail("is longer than 256 KiB")
			continue
		case first:
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if r.parse(line) {
			f.counts[file]++
			if !yield(r) {
				return nil
			}
		}
		if r.reason != "" {
			f.opt.Skip(file, r.line, r.reason)
		}
		r.line = r.line + 1
		r.unused = false
		r.reason = ""
	}
}

// row is one row of a file. The first thing found wrong with it sticks; it is then skipped, and reported.
// Readers see such rows too: what they would have restricted must not become wider without them (contract
// §5).
type row struct {
	feed    *Feed
	file    string
	line    int
	columns map[string]int
	width   int // cells of the header
	cells   []string
	ids     map[string]index // the feed's
	unused  bool
	reason  string // why it is unused; "" passes over it in silence
	key     string // its id, if rows of the file have one
}

// fail marks a row as one that is not used, and says why. The first reason counts.
func (r *row) fail(reason string) {
	if !r.unused {
		r.unused = true
		r.reason = reason
	}
}

// check fails the row unless ok, saying what is wrong with a cell.
func (r *row) check(ok bool, column, wrong string) {
	if !ok && !r.unused {
		r.fail(fmt.Sprintf("%s %q %s", column, r.get(column), wrong))
	}
}

// parse takes a line as the row. It reports whether it is one, rather than blank or the header.
func (r *row) parse(line []byte) bool {
	if r.unused { // it is too long
		r.cells = r.cells[:0]
	} else {
		r.split(string(line))
	}
	switch {
	case !r.unused && len(r.cells) == 1 && r.cells[0] == "":
		return false
	case r.columns == nil && r.unused:
		return false
	case r.columns == nil:
		r.columns = map[string]int{}
		r.width = len(r.cells)
		for i, name := range r.cells {
			r.columns[name] = i
		}
		return false
	case !utf8.Valid(line):
		r.fail("is not UTF-8")
	case len(r.cells) > r.width:
		r.fail(fmt.Sprintf("has %d cells, and the header has %d", len(r.cells), r.width))
	}
	return true
}

// split takes a line apart. No cell runs over lines, as GTFS has it: one whose quote is missing swallows no
// other.
func (r *row) split(line string) {
	r.cells = r.cells[:0]
	for more := true; more; {
		line = strings.TrimSpace(line)
		cell, rest, found := strings.Cut(line, ",")
		if strings.HasPrefix(line, `"`) {
			end := closing(line)
			if end < 0 { // what the row is about can be told all the same
				r.fail("a quote is missing")
				line = strings.ReplaceAll(line, `"`, "")
				continue
			}
			cell = strings.ReplaceAll(line[1:end], `""`, `"`)
			_, rest, found = strings.Cut(line[end:], ",")
		}
		if len(cell) > maxCell {
			r.fail("a cell is longer than 64 KiB")
		}
		r.cells = append(r.cells, strings.TrimSpace(cell))
		line = rest
		more = found
	}
}

// closing finds the quote that ends a cell in quotes, or -1: it is not doubled, and nothing but blanks comes
// before the comma or the line's end. A quote in front of anything else is a part of the cell, odd as it is.
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

// get returns a cell without padding, "" where the row or the file has none.
func (r *row) get(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

// list returns the elements of a cell.
func (r *row) list(column, separator string) []string {
	var list []string
	for part := range strings.SplitSeq(r.get(column), separator) {
		part = strings.TrimSpace(part)
		if part != "" {
			list = append(list, part)
		}
	}
	return list
}

// index finds what the rows of a file became by the ids that they have in the feed.
type index map[string]int32

// leftOut stands for what an option leaves out: rows that name it are passed over in silence.
const leftOut int32 = -2

// id returns a cell that must be there.
func (r *row) id(column string) string {
	r.check(r.get(column) != "", column, "is missing")
	return r.unique(column)
}

// unique reads an id, which may be blank but is no other row's of the file.
func (r *row) unique(column string) string {
	r.key = r.get(column)
	_, double := r.ids[r.file][r.key]
	r.check(!double, column, "is there already")
	return r.key
}

// keep puts what a row became into a table, where its id finds it; nothing if the row is unused.
func keep[T any](r *row, table *[]T, x T) {
	if !r.unused {
		r.ids[r.file][r.key] = add(table, x)
	}
}

// ref finds the row of another file that a cell names.
func (r *row) ref(column, file string) int32 {
	i, ok := r.ids[file][r.get(column)]
	if !ok {
		r.check(false, column, "is no usable row of "+file)
	} else if i == leftOut {
		r.unused = true
	}
	return i
}

// known reports whether a cell names a usable row of another file.
func (r *row) known(column, file string) bool {
	i, ok := r.ids[file][r.get(column)]
	return ok && i >= 0
}

// maybe is ref where a cell may name nothing, which is -1.
func (r *row) maybe(column, file string) int32 {
	if _, ok := r.ids[file][""]; !ok && r.get(column) == "" {
		return -1
	}
	return r.ref(column, file)
}

// number reads a whole number. One that is not in the range is least.
func (r *row) number(column string, least, most int) int {
	n, err := strconv.Atoi(r.get(column))
	if err == nil && least <= n && n <= most {
		return n
	}
	r.check(false, column, fmt.Sprintf("is not a whole number from %d to %d", least, most))
	return least
}

// degrees returns a coordinate, whose absolute value is at most most.
func (r *row) degrees(column string, most float64) float64 {
	x, err := strconv.ParseFloat(r.get(column), 64)
	r.check(err == nil && -most <= x && x <= most, column, "is not a coordinate")
	return x
}

// hundredths reads a decimal number with at most two decimals that count.
func (r *row) hundredths(column string, most uint64, wrong string) int64 {
	whole, decimals, _ := strings.Cut(r.get(column), ".")
	decimals = strings.TrimRight(decimals, "0")
	ok := len(decimals) <= 2 && len(whole) <= 12 && whole+decimals != ""
	n, err := strconv.ParseUint(whole+(decimals + "00")[:2], 10, 63)
	r.check(ok && err == nil && n <= most, column, wrong)
	return int64(n)
}

// date returns a day, which GTFS writes as 20261120.
func (r *row) date(column string) schedule.Day {
	t, err := time.Parse("20060102", r.get(column))
	r.check(err == nil, column, "is not a date as in 20261120")
	return schedule.DayOf(t)
}

// clock reads a time of a service day as in 8:30:00, in seconds; hours go beyond 24. It may be blank.
func (r *row) clock(column string) int32 {
	cell := r.get(column)
	if cell == "" {
		return blank
	}
	hour, rest, _ := strings.Cut(cell, ":")
	if len(rest) == len("04") {
		rest += ":00"
		r.feed.decided(r.file, r.line, "times without seconds, which are full minutes")
	}
	hours, noHours := strconv.ParseUint(hour, 10, 16)
	t, noTime := time.Parse("04:05", rest)
	whole := len(rest) == len("04:05") // else it has a fraction
	r.check(noHours == nil && noTime == nil && len(hour) <= 3 && whole, column,
		"is not a time as in 08:30:00")
	return int32(hours)*3600 + int32(t.Minute()*60+t.Second())
}
