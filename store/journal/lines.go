package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"sync"

	"waybill/store/durable"
)

// Lines reads single lines of a journal by their numbers, also while it is written. It remembers where the
// lines of the files that were asked for end.
//
// What it reads is shown to somebody, so each line is checked before: it must follow from the line before
// it, and the line after it, if there is one, from it. A line that was altered in its file, with its hash
// or without, is a *Damage.
//
// Many may read at a time. Only the index of a file is made by one, for whom the others wait.
type Lines struct {
	fsys durable.ReadFS

	mu    sync.Mutex
	files map[uint64]*index // by the first line of a file
}

// index is where the lines of a file end, as far as it was read.
type index struct {
	mu   sync.Mutex
	ends []int64
}

// NewLines makes a reader of a directory's journal.
func NewLines(fsys durable.ReadFS) *Lines {
	return &Lines{
		fsys:  fsys,
		files: map[uint64]*index{},
	}
}

// Read calls visit for the lines with these numbers, which rise and are durable.
func (x *Lines) Read(seqs []uint64, visit func(*Line) error) error {
	firsts, err := Numbers(x.fsys, "journal")
	for len(seqs) > 0 && err == nil {
		i, found := slices.BinarySearch(firsts, seqs[0])
		if !found {
			i--
		}
		if i < 0 {
			return errNoLine(seqs[0])
		}
		n := 1
		for n < len(seqs) && (i+1 == len(firsts) || seqs[n] < firsts[i+1]) {
			n++
		}
		err = x.readFile(firsts, i, seqs[:n], visit)
		seqs = seqs[n:]
	}
	return err
}

// Last returns the number of the last whole line, 0 where there is none.
func (x *Lines) Last() (seq uint64, err error) {
	firsts, err := Numbers(x.fsys, "journal")
	if err != nil || len(firsts) == 0 {
		return 0, err
	}
	first := firsts[len(firsts)-1]
	seq = first - 1
	err = durable.Read(x.fsys, "journal/"+Name(first), func(f *io.SectionReader) error {
		ends, err := x.index(first).upTo(f, first, math.MaxInt)
		seq += uint64(len(ends))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) { // it was begun and taken back: the disk is full
		err = nil
	}
	return seq, err
}

// ErrNoLine is returned for a line that the journal does not have, or not yet.
var ErrNoLine = errors.New("is not in the journal")

func errNoLine(seq uint64) error {
	return fmt.Errorf("store: line %d %w", seq, ErrNoLine)
}

// readFile visits lines of the file i of the journal.
func (x *Lines) readFile(firsts []uint64, i int, seqs []uint64, visit func(*Line) error) error {
	return durable.Read(x.fsys, "journal/"+Name(firsts[i]), func(f *io.SectionReader) error {
		for _, seq := range seqs {
			l, err := x.checked(f, firsts, i, seq)
			if err == nil {
				err = visit(&l)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// checked reads a line of the file i, and checks it against the lines before and after it.
func (x *Lines) checked(f *io.SectionReader, firsts []uint64, i int, seq uint64) (Line, error) {
	l, at, ends, err := x.find(f, firsts[i], seq)
	if err != nil {
		return l, err
	}
	before, err := x.hashBefore(f, firsts, i, ends[:at.Line-1])
	if err != nil {
		return l, err
	}
	if !l.HasHashAfter(before) {
		return l, DamageAt(at, seq, "has a hash that does not follow from its bytes and the line before")
	}
	// Of two lines that do not fit together, the error names the second, as a reading from the first line
	// on does.
	next, place, err := x.next(f, firsts, i, seq+1, ends[at.Line-1])
	switch {
	case errors.Is(err, ErrNoLine):
		return l, nil
	case err == nil && !next.HasHashAfter(l.Hash):
		err = DamageAt(place, seq+1, "has a hash that does not follow from its bytes and the line before")
	}
	return l, err
}

// find reads a line of the file that starts with the line first, and returns where it stands, and where the
// lines of the file end, at least up to that one.
func (x *Lines) find(f *io.SectionReader, first,
	seq uint64) (l Line, at Place, ends []int64, err error) {
	l, at, ends, err = x.index(first).find(f, first, seq)
	if err == nil || errors.Is(err, ErrNoLine) {
		return l, at, ends, err
	}
	// Erasing personal data moves what comes after it. Others get the new index once it is whole: they may
	// still have the former file open.
	again := new(index)
	l, at, ends, err = again.find(f, first, seq)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.files[first] = again
	return l, at, ends, err
}

// index returns the index of the file that starts with the line first.
func (x *Lines) index(first uint64) *index {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.files[first] == nil {
		x.files[first] = new(index)
	}
	return x.files[first]
}

// find is that of Lines, by what the index says.
func (x *index) find(f *io.SectionReader, first,
	seq uint64) (l Line, at Place, ends []int64, err error) {
	ends, err = x.upTo(f, first, int(seq-first))
	if err == nil && seq-first >= uint64(len(ends)) {
		err = errNoLine(seq)
	}
	if err == nil {
		l, at, err = lineAt(f, first, seq, ends)
	}
	return l, at, ends, err
}

// lineAt reads a line of a file whose lines end there.
func lineAt(f *io.SectionReader, first, seq uint64,
	ends []int64) (l Line, at Place, err error) {
	n := int(seq - first)
	at = Place{File: "journal/" + Name(first), Line: n + 1}
	if n > 0 {
		at.Offset = ends[n-1]
	}
	text := make([]byte, max(0, ends[n]-at.Offset-1))
	if _, err = f.ReadAt(text, at.Offset); err != nil {
		return l, at, err
	}
	if l, err = Parse(text); err != nil {
		return l, at, DamageAt(at, seq, err.Error())
	}
	if l.Seq != seq {
		err = DamageAt(at, seq, fmt.Sprintf("has seq %d where %d is expected", l.Seq, seq))
	}
	return l, at, err
}

// upTo returns where the lines of a file end, at least up to line n if the file has that line. Before it goes
// on from the last line that it knows of, it looks whether that is still there: an erasure may have moved it.
func (x *index) upTo(f *io.SectionReader, first uint64, n int) ([]int64, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n < len(x.ends) {
		return x.ends, nil
	}
	end := int64(0)
	if last := len(x.ends) - 1; last >= 0 {
		end = x.ends[last]
		if _, _, err := lineAt(f, first, first+uint64(last), x.ends); err != nil {
			x.ends = nil
			end = 0
		}
	}
	lines := Scan(io.NewSectionReader(f, end, f.Size()-end))
	for lines.Scan() && bytes.HasSuffix(lines.Bytes(), Newline) { // the last may be half written
		end += int64(len(lines.Bytes()))
		x.ends = append(x.ends, end)
	}
	return x.ends, lines.Err()
}

// hashBefore reads the hash of the line before another, where the lines before that end in its file: in the
// same file, at the end of the file before, or in FORMAT.
func (x *Lines) hashBefore(f *io.SectionReader, firsts []uint64, i int,
	ends []int64) (hash [32]byte, err error) {
	switch {
	case len(ends) > 0:
		start := int64(0)
		if len(ends) > 1 {
			start = ends[len(ends)-2]
		}
		return readHash(f, start)
	case i > 0:
		last := firsts[i] - 1
		err = durable.Read(x.fsys, "journal/"+Name(firsts[i-1]), func(f *io.SectionReader) error {
			l, _, _, err := x.find(f, firsts[i-1], last)
			hash = l.Hash
			return err
		})
		return hash, err
	}
	_, hash, err = ReadOrigin(x.fsys)
	return hash, err
}

// next reads the line with a number, of the file i, where the one before ends there, or of the file after it.
// Its error is ErrNoLine where the journal ended before when the file was opened.
func (x *Lines) next(f *io.SectionReader, firsts []uint64, i int,
	seq uint64, end int64) (l Line, at Place, err error) {
	if i+1 < len(firsts) && firsts[i+1] == seq {
		err = durable.Read(x.fsys, "journal/"+Name(seq), func(f *io.SectionReader) error {
			l, at, _, err = x.find(f, seq, seq)
			return err
		})
		if errors.Is(err, fs.ErrNotExist) { // it was begun and taken back: the disk is full
			err = errNoLine(seq)
		}
		return l, at, err
	}
	if end == f.Size() { // others may know of more lines by now
		return l, at, errNoLine(seq)
	}
	l, at, _, err = x.find(f, firsts[i], seq)
	return l, at, err
}
