package store

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sync"
)

// Lines reads single lines of a journal by their numbers, also while it is written. It remembers where the lines of
// the files that were asked for end.
type Lines struct {
	fsys FS

	mu   sync.Mutex
	ends map[uint64][]int64 // of a file, by its first line
}

// NewLines makes a reader of a directory's journal.
func NewLines(fsys FS) *Lines { return &Lines{fsys: fsys, ends: map[uint64][]int64{}} }

// Read calls visit for the lines with these numbers, which rise and are durable.
func (x *Lines) Read(seqs []uint64, visit func(*Line) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	firsts, err := numbers(x.fsys, "journal")
	for len(seqs) > 0 && err == nil {
		i, found := slices.BinarySearch(firsts, seqs[0])
		if !found {
			i--
		}
		if i < 0 {
			return fmt.Errorf("store: line %d is not in the journal", seqs[0])
		}
		n := 1
		for n < len(seqs) && (i+1 == len(firsts) || seqs[n] < firsts[i+1]) {
			n++
		}
		err = reading(x.fsys, "journal/"+numbered(firsts[i]), func(f *io.SectionReader) (err error) {
			for k := 0; k < n && err == nil; k++ {
				var l Line
				if l, err = x.find(f, firsts[i], seqs[k]); err != nil {
					delete(x.ends, firsts[i]) // erasing personal data moves what comes after it
					l, err = x.find(f, firsts[i], seqs[k])
				}
				if err == nil {
					err = visit(&l)
				}
			}
			return err
		})
		seqs = seqs[n:]
	}
	return err
}

// find reads a line of the file that starts with the line first.
func (x *Lines) find(f *io.SectionReader, first, seq uint64) (l Line, err error) {
	ends, n := x.ends[first], int(seq-first)
	if n >= len(ends) {
		end := int64(0)
		if len(ends) > 0 {
			end = ends[len(ends)-1]
		}
		lines := scanLines(io.NewSectionReader(f, end, f.Size()-end))
		for lines.Scan() && lines.Bytes()[len(lines.Bytes())-1] == '\n' { // the last may be in the writing
			end += int64(len(lines.Bytes()))
			ends = append(ends, end)
		}
		x.ends[first], err = ends, lines.Err()
	}
	if n >= len(ends) {
		return l, cmp.Or(err, fmt.Errorf("store: line %d is not in the journal", seq))
	}
	start := int64(0)
	if n > 0 {
		start = ends[n-1]
	}
	text := make([]byte, max(0, ends[n]-start-1))
	if _, err = f.ReadAt(text, start); err == nil {
		l, err = parseLine(text)
	}
	if err == nil && l.Seq != seq {
		err = fmt.Errorf("store: line %d stands where %d should", l.Seq, seq)
	}
	return l, err
}
