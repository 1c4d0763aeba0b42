package gtfs

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/schedule"
)

const ( // in bytes
	maxLine = 1 << 18
	maxCell = 1 << 16
)

// read yields the rows of a file, one after another.
func (f *Files) read(file string, yield func(*Row) bool) error {
	info, err := fs.Stat(f.Dir, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil && !info.Mode().IsRegular() {
		return Invalid("%s is not a regular file", file)
	}
	opened, err := f.Dir.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer opened.Close()
	f.text.Reset(opened)
	r := &Row{
		files: f,
		File:  file,
		Line:  1,
	}
	for {
		line, err := f.text.ReadSlice('\n')
		f.left -= int64(len(line))
		first := r.Line == 1
		switch {
		case err == io.EOF && len(line) == 0 && !r.Unused:
			return nil
		case err != nil && err != io.EOF && err != bufio.ErrBufferFull:
			return fmt.Errorf("%s: %w", file, err)
		case f.left < 0:
			return Invalid("the feed unpacks beyond 4 GiB")
		case first && bytes.HasPrefix(line, []byte("version https://git-lfs")):
			return Invalid("%s is a Git LFS pointer; fetch the file itself", file)
		case first &&
			(bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff"))):
			return Invalid("%s is in UTF-16, GTFS is in UTF-8", file)
		case bytes.IndexByte(line, 0) >= 0:
			return Invalid("%s has NUL bytes: it is in UTF-16, or is not a text file", file)
		case first && bytes.IndexByte(line, ',') < 0 && bytes.ContainsAny(bytes.TrimSpace(line), ";\t"):
			return Invalid("%s has semicolons or tabs between its cells, GTFS has commas", file)
		case err == bufio.ErrBufferFull: // the line goes on
			r.Fail("is longer than 256 KiB")
			continue
		case first:
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if r.parse(line) {
			f.Counts[file]++
			if !yield(r) {
				return nil
			}
		}
		if r.Reason != "" {
			f.Skip(file, r.Line, r.Reason)
		}
		r.Line = r.Line + 1
		r.Unused = false
		r.Reason = ""
	}
}

// Row is one row of a file. The first thing found wrong with it stays; the row is then skipped, and
// reported. Readers see such rows too: a restriction in a skipped row must still hold (decision
// feed.skipped).
type Row struct {
	File   string
	Line   int
	Unused bool
	Reason string // why it is unused; "" passes over it in silence
	Key    string // its id, if rows of the file have one

	files   *Files
	columns map[string]int
	width   int // cells of the header
	cells   []string
}

// Fail marks a row as not used, and says why. The first reason counts.
func (r *Row) Fail(reason string) {
	if !r.Unused {
		r.Unused = true
		r.Reason = reason
	}
}

// Check fails the row unless ok. It says what is wrong with a cell.
func (r *Row) Check(ok bool, column, wrong string) {
	if !ok && !r.Unused {
		if _, there := r.columns[column]; !there {
			wrong = "is missing: the header has no such column"
		}
		r.Fail(fmt.Sprintf("%s %q %s", column, r.Get(column), wrong))
	}
}

// parse takes a line as the row. It reports whether it is one, rather than blank or the header.
func (r *Row) parse(line []byte) bool {
	if r.Unused { // it is too long
		r.cells = r.cells[:0]
	} else {
		r.split(string(line))
	}
	switch {
	case !r.Unused && len(r.cells) == 1 && r.cells[0] == "":
		return false
	case r.columns == nil && r.Unused:
		return false
	case r.columns == nil:
		r.columns = map[string]int{}
		r.width = len(r.cells)
		twice := ""
		for i, name := range r.cells {
			if _, again := r.columns[name]; again {
				twice = cmp.Or(name, twice)
			}
			r.columns[name] = i
		}
		if twice != "" {
			r.Decided(fmt.Sprintf("headers with the column %s twice, of which the last counts", twice))
		}
		return false
	case !utf8.Valid(line):
		r.Fail("is not UTF-8")
	case len(r.cells) > r.width:
		r.Fail(fmt.Sprintf("has %d cells, but the header has %d", len(r.cells), r.width))
	}
	return true
}

// split splits a line into cells. A cell ends with its line: one whose closing quote is missing swallows no
// other line.
func (r *Row) split(line string) {
	r.cells = r.cells[:0]
	for more := true; more; {
		line = strings.TrimSpace(line)
		cell, rest, found := strings.Cut(line, ",")
		if strings.HasPrefix(line, `"`) {
			end := closing(line)
			if end < 0 { // the cells are read all the same, to learn what the row names
				r.Fail("a quote is missing")
				line = strings.ReplaceAll(line, `"`, "")
				continue
			}
			if strings.Contains(strings.ReplaceAll(line[1:end], `""`, ""), `"`) {
				r.Decided("quotes in quoted cells that are not doubled, which are read as they stand")
			}
			cell = strings.ReplaceAll(line[1:end], `""`, `"`)
			_, rest, found = strings.Cut(line[end:], ",")
		}
		if len(cell) > maxCell {
			r.Fail("a cell is longer than 64 KiB")
		}
		r.cells = append(r.cells, r.tidy(strings.TrimSpace(cell)))
		line = rest
		more = found
	}
}

// tidy removes characters from a cell that would act where the cell is shown, and counts the cell.
func (r *Row) tidy(cell string) string {
	taken := 0
	tidied := strings.Map(func(c rune) rune {
		if !acts(c) {
			return c
		}
		taken++
		return -1
	}, cell)
	if taken == 0 {
		return cell
	}
	r.files.DecidedMany(taken, r.File, r.Line, actingOut)
	return strings.TrimSpace(tidied)
}

const actingOut = "control characters and characters that reverse text, which are removed"

// acts reports whether a character acts instead of being seen: the control characters C0, DEL and C1, and
// those that turn the direction of the text after them.
func acts(c rune) bool {
	return unicode.IsControl(c) || c >= '\u202a' && c <= '\u202e' || c >= '\u2066' && c <= '\u2069'
}

// closing finds the quote that ends a quoted cell, or -1. It is not doubled, and only blanks may come
// between it and the comma or the line's end. A quote in front of anything else is a part of the cell. So is
// the next one, which closes what it has opened: only the quote after that may end the cell.
func closing(line string) int {
	opened := false // a quote that is a part of the cell
	ends := func(after string) bool { return after == "" || after[0] == ',' }
	for i := 1; i < len(line); i++ {
		if line[i] != '"' {
			continue
		}
		next := line[i+1:]
		after := strings.TrimLeft(next, " \t")
		switch {
		case ends(after):
			return i
		case next[0] == '"':
			i++
			if opened && ends(strings.TrimLeft(next[1:], " \t")) {
				return i
			}
		case len(after) < len(next) && !opened:
			return -1
		default:
			opened = !opened
		}
	}
	return -1
}

// Get returns a cell without padding, "" where the row or the file has none.
func (r *Row) Get(column string) string {
	if i, ok := r.columns[column]; ok && i < len(r.cells) {
		return r.cells[i]
	}
	return ""
}

// List returns the elements of a cell.
func (r *Row) List(column, separator string) []string {
	var list []string
	for part := range strings.SplitSeq(r.Get(column), separator) {
		part = strings.TrimSpace(part)
		if part != "" {
			list = append(list, part)
		}
	}
	return list
}

// ID returns a cell that must be there.
func (r *Row) ID(column string) string {
	r.Check(r.Get(column) != "", column, "is missing")
	return r.Unique(column)
}

// Unique reads an id, which may be blank but is no other row's of the file.
func (r *Row) Unique(column string) string {
	r.Key = r.Get(column)
	_, double := r.files.IDs[r.File][r.Key]
	r.Check(!double, column, "already exists")
	return r.Key
}

// OptionalID reads an id that a row need not have; one that it has is no other row's of the file.
func (r *Row) OptionalID(column string) string {
	if r.Get(column) == "" {
		return ""
	}
	return r.Unique(column)
}

// Became records the index that the row has in its table, for rows of later files that name it.
func (r *Row) Became(i int32) {
	r.files.IDs[r.File][r.Key] = i
}

// LeaveOut passes over the rows of later files that name this one.
func (r *Row) LeaveOut() {
	r.files.IDs[r.File][r.Key] = leftOut
}

// Decided counts a decision about the row.
func (r *Row) Decided(what string) {
	r.files.Decided(r.File, r.Line, what)
}

// Find returns the index of the row of another file that a cell names, if that row is usable.
func (r *Row) Find(column, file string) (i int32, ok bool) {
	i, ok = r.files.IDs[file][r.Get(column)]
	return i, ok && i >= 0
}

// Ref finds the row of another file that a cell names.
func (r *Row) Ref(column, file string) int32 {
	i, ok := r.files.IDs[file][r.Get(column)]
	if !ok {
		r.Check(false, column, "is not a usable row of "+file)
	} else if i == leftOut {
		r.Unused = true
	}
	return i
}

// Known reports whether a cell names a usable row of another file.
func (r *Row) Known(column, file string) bool {
	_, ok := r.Find(column, file)
	return ok
}

// Maybe is Ref where a cell may name nothing, which is -1.
func (r *Row) Maybe(column, file string) int32 {
	if _, ok := r.files.IDs[file][""]; !ok && r.Get(column) == "" {
		return -1
	}
	return r.Ref(column, file)
}

// Number reads a whole number. One that is not in the range is least.
func (r *Row) Number(column string, least, most int) int {
	n, err := strconv.Atoi(r.Get(column))
	if err == nil && least <= n && n <= most {
		return n
	}
	r.Check(false, column, fmt.Sprintf("is not a whole number from %d to %d", least, most))
	return least
}

// Degrees returns a coordinate, whose absolute value is at most most.
func (r *Row) Degrees(column string, most float64) float64 {
	x, err := strconv.ParseFloat(r.Get(column), 64)
	r.Check(err == nil && -most <= x && x <= most, column, "is not a coordinate")
	return x
}

// Hundredths reads a decimal number with at most two decimals that count.
func (r *Row) Hundredths(column string, most uint64, wrong string) int64 {
	whole, decimals, _ := strings.Cut(r.Get(column), ".")
	decimals = strings.TrimRight(decimals, "0")
	ok := len(decimals) <= 2 && len(whole) <= 12 && whole+decimals != ""
	n, err := strconv.ParseUint(whole+(decimals + "00")[:2], 10, 63)
	r.Check(ok && err == nil && n <= most, column, wrong)
	return int64(n)
}

// Date returns a day, which GTFS writes as 20261120.
func (r *Row) Date(column string) schedule.Day {
	t, err := time.Parse("20060102", r.Get(column))
	r.Check(err == nil, column, "is not a date as in 20261120")
	return schedule.DayOf(t)
}

// blank is a time that the feed leaves out.
const blank = -1

// Clock reads a time of a service day as in 8:30:00, in seconds; hours go beyond 24. It may be blank.
func (r *Row) Clock(column string) int32 {
	cell := r.Get(column)
	if cell == "" {
		return blank
	}
	hour, rest, _ := strings.Cut(cell, ":")
	if len(rest) == len("04") {
		rest += ":00"
		r.Decided("times without seconds, which are full minutes")
	}
	hours, noHours := strconv.ParseUint(hour, 10, 16)
	t, noTime := time.Parse("04:05", rest)
	whole := len(rest) == len("04:05") // else it has a fraction
	r.Check(noHours == nil && noTime == nil && len(hour) <= 3 && whole, column,
		"is not a time as in 08:30:00")
	return int32(hours)*3600 + int32(t.Minute()*60+t.Second())
}
