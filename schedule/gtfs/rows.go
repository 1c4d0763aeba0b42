package gtfs

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"waybill/schedule"
)

// ErrNoFeed is returned for what is not a GTFS feed; the error text says why.
var ErrNoFeed = errors.New("not a GTFS feed")

func noFeed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoFeed, fmt.Sprintf(format, args...))
}

const ( // in bytes
	maxUnpacked = 4 << 30 // of a whole feed
	maxLine     = 1 << 18
	maxCell     = 1 << 16
)

// CheckZip refuses an archive with an entry that leaves it, or that unpacks beyond 4 GiB.
func CheckZip(z *zip.Reader) error {
	var total uint64
	for _, f := range z.File {
		if strings.HasPrefix(f.Name, "/") || strings.Contains(f.Name, `\`) || slices.Contains(strings.Split(f.Name, "/"), "..") {
			return noFeed("the archive's entry %q leaves the archive", f.Name)
		}
		if total += f.UncompressedSize64; total > maxUnpacked || f.UncompressedSize64 > maxUnpacked {
			return noFeed("the archive unpacks beyond 4 GiB")
		}
	}
	return nil
}

// root finds the directory that holds the feed: the top or one below it.
func root(feed fs.FS) (fs.FS, error) {
	required := []string{"agency.txt", "stops.txt", "routes.txt", "trips.txt", "stop_times.txt"}
	holds := func(dir string) bool {
		return !slices.ContainsFunc(required, func(name string) bool {
			info, err := fs.Stat(feed, path.Join(dir, name))
			return err != nil || info.IsDir()
		})
	}
	if holds(".") {
		return feed, nil
	}
	entries, err := fs.ReadDir(feed, ".")
	if err != nil {
		return nil, noFeed("%v", err)
	}
	for _, e := range entries {
		if e.IsDir() && holds(e.Name()) {
			return fs.Sub(feed, e.Name())
		}
	}
	return nil, noFeed("no %s at the top or in one sub-directory", strings.Join(required, ", "))
}

// rows gives the rows of a file, each until the next, and reports those in which something was found wrong. A file
// that is not there, or empty, has none; once one cannot be read, none has.
func (f *Feed) rows(file string) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		if f.err == nil {
			f.ids[file] = index{}
			f.err = f.read(file, yield)
		}
	}
}

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
	r := &row{file: file, line: 1, ids: f.ids}
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
		case first && (bytes.HasPrefix(line, []byte("\xff\xfe")) || bytes.HasPrefix(line, []byte("\xfe\xff"))):
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
			if f.counts[file]++; !yield(r) {
				return nil
			}
		}
		if r.reason != "" {
			f.opt.Skip(file, r.line, r.reason)
		}
		r.line, r.unused, r.reason = r.line+1, false, ""
	}
}

// row is one row of a file. The first thing found wrong with it sticks; it is then skipped, and reported.
type row struct {
	file    string
	line    int
	columns map[string]int
	cells   []string
	ids     map[string]index // the feed's
	unused  bool
	reason  string // why it is unused; "" passes over it in silence
	key     string // its id, if rows of the file have one
}

func (r *row) fail(reason string) {
	if !r.unused {
		r.unused, r.reason = true, reason
	}
}

// check fails the row unless ok, saying what is wrong with a cell.
func (r *row) check(ok bool, column, wrong string) {
	if !ok && !r.unused {
		r.fail(fmt.Sprintf("%s %q %s", column, r.get(column), wrong))
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
	case !utf8.Valid(line):
		r.fail("is not UTF-8")
	}
	return !r.unused
}

// split takes a line apart. No cell runs over lines, as GTFS has it: one whose quote is missing swallows no other.
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
		if len(cell) > maxCell {
			r.fail("a cell is longer than 64 KiB")
		}
		r.cells = append(r.cells, strings.TrimSpace(cell))
		line, more = rest, found
	}
}

// closing finds the quote that ends a cell in quotes, or -1: it is not doubled, and nothing but blanks comes before
// the comma or the line's end. A quote in front of anything else is a part of the cell, odd as it is.
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
	h, rest, _ := strings.Cut(cell, ":")
	hours, err1 := strconv.ParseUint(h, 10, 16)
	t, err2 := time.Parse("04:05", rest)
	ok := err1 == nil && err2 == nil && len(h) <= 3 && len(rest) == len("04:05") // else with a fraction
	r.check(ok, column, "is not a time as in 08:30:00")
	return int32(hours)*3600 + int32(t.Minute()*60+t.Second())
}
