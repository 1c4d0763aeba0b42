package gtfs

import (
	"bufio"
	"fmt"
	"io/fs"
	"iter"
	"slices"
)

// The files of a feed are read row by row, by what knows nothing of what the rows are about.
//
// A feed comes as it comes: in an archive or a directory, at its top or one below; with a byte-order mark,
// CRLF, padded cells, columns in any order, rows that are too long or too short. [Open] finds the feed, and
// [Files.Rows] yields the rows of one of its files. A [Row] reads its cells as what they should be, and keeps
// what is first wrong with them; such a row is skipped by whoever reads it, and reported with its place. What
// the reader decides where the feed leaves it open is counted as a [decision].
//
//	files, err := Open(os.DirFS("sample"), report)
//	for r := range files.Rows("routes.txt") {
//		route := Route{ID: r.ID("route_id"), Agency: r.Ref("agency_id", "agency.txt")}
//		if !r.Unused {
//			r.Became(add(&routes, route)) // later rows find it by its id
//		}
//	}

// Files are the files of a feed.
type Files struct {
	Dir    fs.FS                                      // what holds them
	Skip   func(file string, line int, reason string) // is told of each row that is not used
	Counts map[string]int                             // rows read so far, by file
	IDs    map[string]Index                           // what the rows became, by file
	Err    error                                      // the first; from then on no file has rows

	text      *bufio.Reader // of the file being read
	left      int64         // bytes that the feed may still have
	decisions []decision
}

// Index finds what the rows of a file became by the ids that they have in the feed.
type Index map[string]int32

// leftOut stands for what an option leaves out: rows that name it are passed over in silence.
const leftOut int32 = -2

// Open finds the one feed that a directory holds, at its top or one below; skip is told of each row that is
// not used. The error is an ErrInvalid or the file system's.
func Open(dir fs.FS, skip func(file string, line int, reason string)) (*Files, error) {
	top, err := root(dir)
	if err != nil {
		return nil, err
	}
	return &Files{
		Dir:    top,
		Skip:   skip,
		Counts: map[string]int{},
		IDs:    map[string]Index{},
		text:   bufio.NewReaderSize(nil, maxLine),
		left:   maxUnpacked,
	}, nil
}

// Rows returns the rows of a file, each until the next, and reports those in which something was found wrong.
// A file that is not there, or empty, has none; once one cannot be read, none has.
func (f *Files) Rows(file string) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		if f.Err == nil {
			f.IDs[file] = Index{}
			f.Err = f.read(file, yield)
		}
	}
}

// Has reports whether the feed has a file.
func (f *Files) Has(name string) bool {
	info, err := fs.Stat(f.Dir, name)
	return err == nil && info.Mode().IsRegular()
}

// A decision is something that an import decided where the feed left it open or said it in an unusual way:
// what it was, how often, and where first. An operator reads them to know what is sold.
type decision struct {
	What  string // in words, as "times without seconds, read as full minutes"
	Count int
	File  string // of the first; "" where the decision is about no row
	Line  int
}

// String returns the decision as a line of the import's report.
func (d decision) String() string {
	if d.File == "" {
		return fmt.Sprintf("%s: %d", d.What, d.Count)
	}
	return fmt.Sprintf("%s: %d, first at %s:%d", d.What, d.Count, d.File, d.Line)
}

// Decided counts a decision about a row.
func (f *Files) Decided(file string, line int, what string) {
	f.DecidedMany(1, file, line, what)
}

// DecidedMany counts a decision about several rows, of which the first is named.
func (f *Files) DecidedMany(n int, file string, line int, what string) {
	i := slices.IndexFunc(f.decisions, func(d decision) bool {
		return d.What == what
	})
	if i < 0 {
		i = len(f.decisions)
		f.decisions = append(f.decisions, decision{
			What: what,
			File: file,
			Line: line,
		})
	}
	f.decisions[i].Count += n
}

// Decisions returns what was decided, in the order in which it first was.
func (f *Files) Decisions() []decision { return f.decisions }
