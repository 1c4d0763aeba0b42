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
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"
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
	row     []string
	line    int
	skip    func(file string, line int, reason string)
}

// get gives a cell without padding, "" where the row or the file has none.
func (t *table) get(column string) string {
	i, ok := t.columns[column]
	if !ok || i >= len(t.row) {
		return ""
	}
	return strings.TrimSpace(t.row[i])
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
	buffered := bufio.NewReaderSize(&checked{r: f, file: file, left: &im.left}, 1<<16)
	start, err := buffered.Peek(32)
	if err != nil && err != io.EOF {
		return err
	}
	if bytes.HasPrefix(start, []byte("version https://git-lfs")) {
		return noFeed("%s is a Git LFS pointer; fetch the file itself", file)
	} else if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
		return noFeed("%s is in UTF-16, GTFS is in UTF-8", file)
	} else if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		buffered.Discard(3)
	}
	r := csv.NewReader(&tidy{r: buffered, drop: func(line int, reason string) { im.skip(file, line, reason) }})
	r.FieldsPerRecord, r.ReuseRecord, r.LazyQuotes, r.TrimLeadingSpace = -1, true, true, true
	t := &table{file: file, skip: im.skip}
	for {
		row, err := r.Read()
		if err == io.EOF {
			return nil
		}
		var syntax *csv.ParseError
		if errors.As(err, &syntax) {
			im.skip(file, syntax.StartLine, syntax.Err.Error())
			continue
		} else if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		t.line, _ = r.FieldPos(0)
		if t.columns == nil {
			t.columns = map[string]int{}
			for i, name := range row {
				t.columns[strings.TrimSpace(name)] = i
			}
			continue
		}
		t.row = row
		if reason := unusable(row); reason != "" {
			t.drop("%s", reason)
		} else if len(row) > 1 || strings.TrimSpace(row[0]) != "" {
			im.counts[file]++
			use(t)
		}
	}
}

// unusable says why no cell of a row can be trusted.
func unusable(row []string) string {
	for _, cell := range row {
		switch {
		case len(cell) > maxCell:
			return "a cell is longer than 64 KiB"
		case !utf8.ValidString(cell):
			return "is not UTF-8"
		}
	}
	return ""
}

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

// tidy passes a file on line by line, as GTFS has it: no cell runs over
// several. A line whose quotes do not match is left out, so that it does not
// swallow those after it; blanks between a closing quote and the comma go.
type tidy struct {
	r    *bufio.Reader
	drop func(line int, reason string)
	line int
	rest []byte
}

var blanksAfterQuote = regexp.MustCompile(`"[ \t]+(,|\r?\n|$)`)

func (t *tidy) Read(b []byte) (int, error) {
	for len(t.rest) == 0 {
		line, err := t.r.ReadSlice('\n')
		if err == bufio.ErrBufferFull {
			line, err = t.long(line)
		}
		if len(line) == 0 || err != nil && err != io.EOF {
			return 0, err
		}
		t.line++
		quoted := bytes.IndexByte(line, '"') >= 0
		switch {
		case len(line) > maxLine:
			t.drop(t.line, "is longer than 256 KiB")
			line = []byte("\n")
		case quoted && !closed(line):
			t.drop(t.line, "a quote is missing")
			line = []byte("\n")
		case quoted:
			line = blanksAfterQuote.ReplaceAll(line, []byte(`"$1`))
		}
		t.rest = line
	}
	n := copy(b, t.rest)
	t.rest = t.rest[n:]
	return n, nil
}

// closed tells whether every quoted cell of a line ends in it.
func closed(line []byte) bool {
	for rest := line; ; {
		rest = bytes.TrimLeftFunc(rest, unicode.IsSpace) // as package csv does
		if len(rest) > 0 && rest[0] == '"' {
			end := closing.FindIndex(rest[1:])
			if end == nil {
				return false
			}
			rest = rest[end[1]:]
		}
		_, after, more := bytes.Cut(rest, []byte{','})
		if rest = after; !more {
			return true
		}
	}
}

// closing finds the end of a quoted cell: a quote that is not doubled, before a comma or the line's end.
var closing = regexp.MustCompile(`^([^"]|""|"[^",\s])*"[ \t]*(,|\r?\n?$)`)

// long goes on with a line that is longer than the buffer; what is too long anyway it only counts.
func (t *tidy) long(start []byte) (line []byte, err error) {
	line = bytes.Clone(start)
	for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull; {
		var more []byte
		if more, err = t.r.ReadSlice('\n'); len(line) <= maxLine {
			line = append(line, more...)
		}
	}
	return line, err
}
