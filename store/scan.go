package store

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Place is where a line stands in the journal.
type Place struct {
	File   string
	Line   int   // from 1
	Offset int64 // of the line's first byte
}

// Damage is an error that says where the files are not as they were written.
type Damage struct {
	Place
	Seq    uint64 // of the line that is expected there; 0 in a file that is no journal
	Reason string
}

func (d *Damage) Error() string {
	if d.Line == 0 {
		return fmt.Sprintf("store: %s: %s", d.File, d.Reason)
	}
	return fmt.Sprintf("store: %s: line %d, byte %d, seq %d: %s", d.File, d.Line, d.Offset, d.Seq, d.Reason)
}

// Torn describes an end of the journal that never became durable.
type Torn struct {
	Damage
	Bytes int64  // from Offset to the end of the file
	Kept  string // the file a start keeps the bytes in; "" before that

	unfinished bool // it is one line without its newline
}

// inFile is damage to a file that is no journal.
func inFile(name, reason string) *Damage {
	return &Damage{Place: Place{File: name}, Reason: reason}
}

// numbered names a journal file by its first line, a snapshot by the line it was made after.
func numbered(seq uint64) string { return fmt.Sprintf("%012d.jsonl", seq) }

// numbers gives the numbers of a directory's numbered files, rising.
func numbers(fsys FS, dir string) (seqs []uint64, err error) {
	names, err := fsys.List(dir)
	for _, name := range names {
		digits, _ := strings.CutSuffix(name, ".jsonl")
		if seq, err := strconv.ParseUint(digits, 10, 64); err == nil && name == numbered(seq) {
			seqs = append(seqs, seq)
		}
	}
	return seqs, err
}

// origin reads FORMAT; what stands for the hash before line 1 is its SHA-256.
func origin(fsys FS) (hash [32]byte, err error) {
	f, err := fsys.Open("FORMAT")
	if err != nil {
		return hash, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	if err != nil {
		return hash, err
	}
	version, _, ok := strings.Cut(strings.TrimPrefix(string(b), formatName+" v"), " ")
	switch n, err := strconv.Atoi(version); {
	case !ok || err != nil || !strings.HasPrefix(string(b), formatName) || !strings.HasSuffix(string(b), "\n"):
		return hash, inFile("FORMAT", "does not name a journal's format")
	case n > formatVersion:
		return hash, fmt.Errorf("%w: FORMAT says version %d, this program knows %d", ErrNewer, n, formatVersion)
	}
	return sha256.Sum256(b), nil
}

const (
	formatName    = "waybill-journal"
	formatVersion = 1
)

// scan is one pass over the journal.
type scan struct {
	fsys FS
	// visit is called for each line that follows from the one before. Its error ends the pass.
	visit func(Place, *Line) error
	// whole also checks that every line is one JSON object; a decoder that
	// reads data and personal part strictly makes that needless.
	whole bool

	head     Head
	anchored bool   // head.Hash is known
	last     string // the file the head stands in, or the next line will
	size     int64  // of its good part
	torn     *Torn
}

// run goes through the segments. A first bad line that may be a torn tail is
// left in s.torn; one that is provably damage is returned.
func (s *scan) run(segs []uint64) error {
	for i, first := range segs {
		name := "journal/" + numbered(first)
		if first != s.head.Seq+1 {
			return &Damage{Place{name, 1, 0}, s.head.Seq + 1, "the file before it, or a part of that, is missing"}
		}
		s.last, s.size = name, 0
		bad, err := s.file(name)
		switch {
		case err != nil:
			return err
		case bad == nil:
		case i < len(segs)-1:
			bad.Reason += "; later files exist, so it was durable"
			return &bad.Damage
		default:
			s.torn = bad
		}
	}
	return nil
}

// follows checks, by its last line alone, that a segment ends where the next one starts.
func follows(fsys FS, seg, next uint64) error {
	name := "journal/" + numbered(seg)
	f, err := fsys.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var last []byte
	var terminated bool
	for r := (lines{r: bufio.NewReaderSize(f, 1<<20)}); ; {
		b, whole, err := r.next()
		if err != nil {
			return err
		}
		if len(b) == 0 && !whole {
			break
		}
		last, terminated = append(last[:0], b...), whole
	}
	if l, err := parseLine(last); err != nil || !terminated || l.Seq+1 != next {
		return inFile(name, fmt.Sprintf("does not end in the line before seq %d, with which the next file starts", next))
	}
	return nil
}

// file reads one segment up to its end or its first bad line. What comes after
// a bad line may prove that the line was durable; then it is damage.
func (s *scan) file(name string) (bad *Torn, err error) {
	f, err := s.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	size, err := f.Size() // what a running server writes meanwhile is not looked at
	if err != nil {
		return nil, err
	}
	r := lines{r: bufio.NewReaderSize(io.LimitReader(f, size), int(min(size, 1<<20)))}
	at := Place{File: name}
	for {
		b, terminated, err := r.next()
		if err != nil {
			return bad, err
		}
		if len(b) == 0 && !terminated {
			return bad, nil
		}
		at.Line++
		length := int64(len(b))
		if terminated {
			length++
		}
		switch {
		case bad == nil:
			if reason := s.line(at, b, terminated); reason != nil {
				var fatal fatalError
				if errors.As(reason, &fatal) {
					return nil, fatal.error
				}
				bad = &Torn{Damage: Damage{at, s.head.Seq + 1, reason.Error()}, Bytes: length, unfinished: !terminated}
			} else {
				s.size += length
			}
		default:
			bad.Bytes += length
			if l, err := parseLine(b); err == nil && terminated && json.Valid(b) && l.Synced >= bad.Seq {
				bad.Reason += fmt.Sprintf("; line %d, written later, says that seq %d was durable", at.Line, l.Synced)
				return nil, &bad.Damage
			}
		}
		at.Offset += length
	}
}

// fatalError ends a scan: it is not about the journal's form.
type fatalError struct{ error }

// line checks one line and visits it; the error says what is wrong with the line.
func (s *scan) line(at Place, b []byte, terminated bool) error {
	if !terminated {
		return errors.New("has no newline at its end")
	}
	l, err := parseLine(b)
	if err != nil {
		return err
	}
	if s.whole && !json.Valid(b) {
		return errors.New("is not one JSON object")
	}
	if !s.anchored {
		if l.Seq != s.head.Seq+1 {
			return fmt.Errorf("has seq %d where %d is expected", l.Seq, s.head.Seq+1)
		}
	} else if err := l.follows(s.head); err != nil {
		return err
	}
	if err := s.visit(at, &l); err != nil {
		return fatalError{err}
	}
	s.head, s.anchored = l.Head, true
	return nil
}

// lines reads lines of any length without copying short ones.
type lines struct {
	r    *bufio.Reader
	long []byte
}

// next gives the next line without its newline, and whether it had one. At the
// end of the file it gives nothing.
func (l *lines) next() (line []byte, terminated bool, err error) {
	b, err := l.r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		l.long = l.long[:0]
		for err == bufio.ErrBufferFull {
			l.long = append(l.long, b...)
			b, err = l.r.ReadSlice('\n')
		}
		l.long = append(l.long, b...)
		b = l.long
	}
	if err == io.EOF {
		err = nil
	}
	line, terminated = bytes.CutSuffix(b, []byte{'\n'})
	return line, terminated, err
}
