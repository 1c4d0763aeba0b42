// Package gtfs makes the tables of a timetable from a feed in GTFS Schedule,
// with the columns of Waybill's own (contract §5).
//
// [Import] takes any feed as it comes: a byte-order mark, CRLF, padded cells,
// rows and columns in any order, files and columns it does not know. What it
// cannot use it skips, row by row, and says where and why. What is no feed at
// all it refuses.
package gtfs

import (
	"archive/zip"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// ErrNoFeed is returned for what is not a GTFS feed; the error text says why.
var ErrNoFeed = errors.New("not a GTFS feed")

func noFeed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoFeed, fmt.Sprintf(format, args...))
}

const (
	maxUnpacked = 4 << 30 // bytes of a whole feed
	maxCell     = 1 << 16 // bytes of one cell
	maxLine     = 1 << 18 // bytes of one line
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

var required = []string{"agency.txt", "stops.txt", "routes.txt", "trips.txt", "stop_times.txt"}

// root finds the directory that holds the feed: the top or one below it.
func root(feed fs.FS) (fs.FS, error) {
	holds := func(dir string) bool {
		for _, name := range required {
			if info, err := fs.Stat(feed, path.Join(dir, name)); err != nil || info.IsDir() {
				return false
			}
		}
		return true
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

// table is one file being read. Its row is only valid until the next.
type table struct {
	file    string
	columns map[string]int
	cells   []string
	line    int
	wrong   string // why the row cannot be used
	skip    func(file string, line int, reason string)
}

// get gives a cell without padding, "" where the row or the file has none.
func (t *table) get(column string) string {
	if i, ok := t.columns[column]; ok && i < len(t.cells) {
		return t.cells[i]
	}
	return ""
}

// drop says why the row is not used.
func (t *table) drop(format string, args ...any) {
	t.skip(t.file, t.line, fmt.Sprintf(format, args...))
}

// read calls use for each row of a file. A file that is not there, or empty, has no rows.
func (im *importer) read(file string, use func(t *table)) error {
	info, err := fs.Stat(im.feed, file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err == nil && !info.Mode().IsRegular() {
		return noFeed("%s is not a regular file", file)
	}
	f, err := im.feed.Open(file)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	im.text.Reset(&checked{r: f, file: file, left: &im.left})
	if err := im.skipMark(file); err != nil {
		return err
	}
	t := &table{file: file, skip: im.skip}
	for t.line = 1; ; t.line++ {
		line, err := im.text.ReadSlice('\n')
		t.wrong = ""
		for err == bufio.ErrBufferFull {
			t.wrong = "is longer than 256 KiB"
			_, err = im.text.ReadSlice('\n')
		}
		if err == io.EOF && len(line) == 0 {
			return nil
		} else if err != nil && err != io.EOF {
			return fmt.Errorf("%s: %w", file, err)
		}
		if t.wrong == "" {
			t.split(string(line))
		}
		switch {
		case t.wrong != "":
			t.drop("%s", t.wrong)
		case len(t.cells) == 1 && t.cells[0] == "": // a blank line
		case t.columns == nil:
			t.columns = map[string]int{}
			for i, name := range t.cells {
				t.columns[name] = i
			}
		case !utf8.Valid(line):
			t.drop("is not UTF-8")
		default:
			im.counts[file]++
			use(t)
		}
	}
}

// skipMark passes over a byte-order mark and refuses what begins as no text of GTFS does.
func (im *importer) skipMark(file string) error {
	start, err := im.text.Peek(len(lfsPointer))
	switch {
	case err != nil && err != io.EOF:
		return err
	case bytes.HasPrefix(start, []byte(lfsPointer)):
		return noFeed("%s is a Git LFS pointer; fetch the file itself", file)
	case bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")):
		return noFeed("%s is in UTF-16, GTFS is in UTF-8", file)
	case bytes.HasPrefix(start, []byte("\ufeff")):
		_, err = im.text.Discard(len("\ufeff"))
		return err
	}
	return nil
}

const lfsPointer = "version https://git-lfs"

// checked passes a file on and stops at what no text file has.
type checked struct {
	r    io.Reader
	file string
	left *int64 // of the whole feed's bytes
}

func (c *checked) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if bytes.IndexByte(b[:n], 0) >= 0 {
		return 0, noFeed("%s has NUL bytes: it is in UTF-16, or no text file", c.file)
	}
	if *c.left -= int64(n); *c.left < 0 {
		return 0, noFeed("the feed unpacks beyond 4 GiB")
	}
	return n, err
}

// split takes a line apart, as GTFS has it: no cell runs over several lines, so
// that one whose quote is missing does not swallow the lines after it.
func (t *table) split(line string) {
	t.cells = t.cells[:0]
	for more := true; more; {
		line = strings.TrimSpace(line)
		cell, rest, found := strings.Cut(line, ",")
		if strings.HasPrefix(line, `"`) {
			end := closing(line)
			if end < 0 {
				t.wrong = "a quote is missing"
				return
			}
			cell = strings.ReplaceAll(line[1:end], `""`, `"`)
			_, rest, found = strings.Cut(line[end:], ",")
		}
		if len(cell) > maxCell {
			t.wrong = "a cell is longer than 64 KiB"
		}
		t.cells = append(t.cells, strings.TrimSpace(cell))
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
