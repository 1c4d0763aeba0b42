// Package gtfs makes the tables of a timetable from a feed in GTFS Schedule,
// with the columns of Waybill's own (contract §5).
//
// [Read] takes any feed as it comes: a byte-order mark, CRLF, padded cells,
// rows and columns in any order, files and columns it does not know. What it
// cannot use it skips, row by row, and says where and why. What is no feed at
// all it refuses.
//
// A file is read as rows; a row knows how to read its cells and keeps what is
// first wrong with them; a Feed makes tables of the rows that are left.
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
	"strings"
)

// ErrNoFeed is returned for what is not a GTFS feed; the error text says why.
var ErrNoFeed = errors.New("not a GTFS feed")

func noFeed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoFeed, fmt.Sprintf(format, args...))
}

const (
	maxUnpacked = 4 << 30 // bytes of a whole feed
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

// rows gives the rows of a file, each until the next, and reports those in which
// something was found wrong. A file that is not there, or empty, has none; once
// one cannot be read, none has.
func (f *Feed) rows(file string) iter.Seq[*row] {
	return func(yield func(*row) bool) {
		if f.err == nil {
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
	r := &row{line: 1}
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
			f.counts[file]++
			if !yield(r) {
				return nil
			}
		}
		if r.reason != "" {
			f.opt.Skip(file, r.line, r.reason)
		}
		r.line, r.unused, r.reason = r.line+1, false, ""
	}
}

// skip reports a row that turned out to be of no use once others were read.
func (f *Feed) skip(file string, line int, format string, args ...any) {
	f.opt.Skip(file, line, fmt.Sprintf(format, args...))
}
