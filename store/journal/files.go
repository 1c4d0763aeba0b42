package journal

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"regexp"
	"strconv"

	"waybill/store/durable"
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
	Seq    uint64 // of the line that is expected there; 0 in a file that is not the journal's
	Reason string
	// Forked is the relation of the journal to a signed note that does not fit it; the files may well be as
	// they were written. It is "" where the bytes are wrong.
	Forked string
	// Books reports that the bytes are as they were written, and that the line breaks a rule of the
	// business.
	Books bool
}

// Error returns the place and what is wrong there.
func (d *Damage) Error() string {
	if d.Line == 0 {
		return d.File + ": " + d.Reason
	}
	return fmt.Sprintf("line %d of %s (seq %d, byte %d): %s", d.Line, d.File, d.Seq, d.Offset, d.Reason)
}

// DamageAt is damage to a line of the journal.
func DamageAt(at Place, seq uint64, reason string) *Damage {
	return &Damage{Place: at, Seq: seq, Reason: reason}
}

// InFile is damage to a file that is not the journal's.
func InFile(name, reason string) *Damage {
	return &Damage{Place: Place{File: name}, Reason: reason}
}

// Name returns the name of a journal file, from its first line, or of a snapshot, from the line it was made
// after.
func Name(seq uint64) string {
	return fmt.Sprintf("%012d.jsonl", seq)
}

// Numbers returns the numbers of a directory's files, rising.
func Numbers(fsys durable.ReadFS, dir string) (seqs []uint64, err error) {
	names, err := fsys.List(dir)
	for _, name := range names {
		var seq uint64
		if fmt.Sscanf(name, "%d", &seq); name == Name(seq) {
			seqs = append(seqs, seq)
		}
	}
	return seqs, err
}

var (
	// ErrNewer is returned when FORMAT, or a line's type, is of a later version of the program.
	ErrNewer = errors.New("written by a newer version")
	// ErrOlder is returned when FORMAT is of a program from before the first release, which promised nothing.
	ErrOlder = errors.New("made before the first release")
)

// FormatVersion is the form of journals that this program writes, and the one that it reads.
const FormatVersion = 3

const (
	formatLine   = "waybill-journal v%d %s\n"
	otherVersion = "%w: FORMAT says version %s, and this program reads version %d"
	// OriginStart is the start of a directory's name; its id follows.
	OriginStart = "waybill/"
)

// Format returns the text of FORMAT for a directory with an id.
func Format(id string) []byte {
	return fmt.Appendf(nil, formatLine, FormatVersion, id)
}

// ErrNoFormat is returned for a directory without FORMAT.
var ErrNoFormat = InFile("FORMAT", "is missing, but there is a journal, a snapshot or a key: a backup "+
	"or repair that was written here is incomplete")

// ReadOrigin reads FORMAT. It returns the directory's own name, and the hash that precedes line 1.
func ReadOrigin(fsys durable.ReadFS) (name string, hash [32]byte, err error) {
	text, err := durable.ReadFile(fsys, "FORMAT")
	if errors.Is(err, fs.ErrNotExist) {
		err = ErrNoFormat
	}
	if err != nil {
		return "", hash, err
	}
	id, err := parseFormat(text)
	return OriginStart + id, sha256.Sum256(text), err
}

// CheckFormat returns an error for a text that is not one of FORMAT, or is one of another version.
func CheckFormat(text []byte) error {
	_, err := parseFormat(text)
	return err
}

// parseFormat reads the id in the text of FORMAT.
func parseFormat(text []byte) (id string, err error) {
	parts := formatText.FindSubmatch(text)
	if parts == nil {
		return "", InFile("FORMAT", "does not name a journal's format")
	}
	version, tooLarge := strconv.Atoi(string(parts[1]))
	switch {
	case tooLarge != nil, version > FormatVersion:
		return "", fmt.Errorf(otherVersion, ErrNewer, parts[1], FormatVersion)
	case version < FormatVersion:
		return "", fmt.Errorf(otherVersion, ErrOlder, parts[1], FormatVersion)
	}
	return string(parts[2]), nil
}

// formatText matches the text of FORMAT of any version.
var formatText = regexp.MustCompile(`^waybill-journal v([1-9][0-9]{0,17}) ([A-Za-z0-9]+)\n$`)

// Newline ends each line.
var Newline = []byte{'\n'}

// Scan goes over the lines of a journal file, however long.
func Scan(f *io.SectionReader) *bufio.Scanner {
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 0, min(f.Size()+1, 1<<20)), math.MaxInt)
	lines.Split(splitLine)
	return lines
}

// splitLine is a bufio.SplitFunc. It leaves the newline at the line, so that a missing one can be seen.
func splitLine(data []byte, atEOF bool) (advance int, line []byte, err error) {
	n := bytes.IndexByte(data, '\n') + 1
	if n == 0 && atEOF {
		n = len(data)
	}
	if n > 0 {
		line = data[:n]
	}
	return n, line, nil
}
