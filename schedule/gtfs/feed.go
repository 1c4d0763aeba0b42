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
)

// CheckZip refuses an archive with an entry that leaves it, or that unpacks beyond 4 GiB.
func CheckZip(z *zip.Reader) error {
	var total uint64
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, "/")
		if !fs.ValidPath(name) || strings.Contains(name, `\`) {
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

// has tells whether the file has a column.
func (t *table) has(column string) bool { _, ok := t.columns[column]; return ok }

// drop says why the row is not used.
func (t *table) drop(format string, args ...any) {
	t.skip(t.file, t.line, fmt.Sprintf(format, args...))
}

// read calls use for each row of a file. A file that is not there, or empty, has no rows.
func (im *importer) read(file string, use func(t *table)) error {
	f, err := im.feed.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	defer f.Close()
	text := &checked{r: f, file: file, left: &im.left}
	buffered := bufio.NewReaderSize(text, 1<<16)
	if start, _ := buffered.Peek(32); bytes.HasPrefix(start, []byte("version https://git-lfs")) {
		return noFeed("%s is a Git LFS pointer; fetch the file itself", file)
	} else if bytes.HasPrefix(start, []byte{0xff, 0xfe}) || bytes.HasPrefix(start, []byte{0xfe, 0xff}) {
		return noFeed("%s is in UTF-16, GTFS is in UTF-8", file)
	} else if bytes.HasPrefix(start, []byte("\xef\xbb\xbf")) {
		buffered.Discard(3)
	}
	r := csv.NewReader(buffered)
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
		case strings.Contains(cell, "\n"):
			return "a cell runs over several lines; a quote is missing"
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
		return 0, noFeed("%s has NUL bytes, it is not a text file", c.file)
	}
	if *c.left -= int64(n); *c.left < 0 {
		return 0, noFeed("the feed unpacks beyond 4 GiB")
	}
	return n, err
}
