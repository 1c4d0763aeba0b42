// Package journal is the form of the journal's files: lines that follow from each other ([Line]), the files
// that they stand in, and the lines that the store writes for itself. It checks what it reads, and writes no
// line:
//
//	l, err := journal.Parse(text)
//	err = l.Follows(before) // the line before, by its number, its time and its hash
//
// Package live writes the journal, package chain reads it through, [Lines] finds single ones, and [Erase]
// takes personal parts out of them.
package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// A Stamp is the line an event stands in: its number and instant.
type Stamp struct {
	Seq  uint64
	Time time.Time
}

// Head is the newest line of a journal.
type Head struct {
	Stamp
	Hash [32]byte
}

// A Line is one event in the journal. It reads
//
//	{"hash":"<64 hex>","seq":48213,"synced":48210,"time":"2026-11-20T16:39:00.123Z",
//	 "type":"booking.created","data":{…}}
//
// or, when the event holds personal data (the second "personal" is an object),
//
//	{"hash":"…","seq":…,"synced":…,"time":"…","type":"…",
//	 "data":{…,"personal":"<64 hex>"},"personal":{"salt":"…",…}}
//
// hash is SHA-256 over the previous line's hash, as 64 hex characters, and this line's bytes from offset 75
// up to the first ,"personal":{ or else up to the newline; what stands for the previous hash before line 1 is
// the SHA-256 of the file FORMAT. The data's personal is the SHA-256 of the personal object's bytes, so that
// personal data can be erased without breaking the chain, and cannot be altered unseen. seq rises by one.
// time never falls, but at a line of the type KindClock, which says that the clock was set. synced is the
// highest seq durable when it was written.
type Line struct {
	Head
	Synced   uint64
	Type     string
	Data     []byte // the whole object
	Personal []byte // the object, or nil

	Chained []byte // the bytes that the chain covers
}

// KindClock is the type of the lines that [live.Value.SetClock] writes.
const KindClock = "clock.set"

const (
	TimeLayout   = "2006-01-02T15:04:05.000Z"
	lineStart    = `{"hash":"`
	personalName = `"personal":"`
)

var personalMark = []byte(`,"personal":{`)

// chain returns the hash of a line that follows one with the hash prev.
func chain(prev [32]byte, hashed []byte) (sum [32]byte) {
	var hexed [64]byte
	hex.Encode(hexed[:], prev[:])
	h := sha256.New()
	h.Write(hexed[:])
	h.Write(hashed)
	h.Sum(sum[:0])
	return sum
}

// Follows checks that the line is the one after head.
func (l *Line) Follows(head Head) error {
	switch {
	case l.Seq != head.Seq+1:
		return fmt.Errorf("has seq %d where %d is expected", l.Seq, head.Seq+1)
	case chain(head.Hash, l.Chained) != l.Hash:
		return errors.New("has a hash that does not follow from its bytes and the line before")
	case l.Time.Before(head.Time) && l.Type != KindClock:
		return errors.New("is older than the line before")
	case l.Synced >= l.Seq:
		return errors.New("says that it was on the disk before it was written")
	}
	return nil
}

// HasHashAfter reports whether the line's hash follows from its bytes and from the hash of head.
func (l *Line) HasHashAfter(before [32]byte) bool {
	return chain(before, l.Chained) == l.Hash
}

// IsNewer reports whether a line that Parse has refused is of a later version of the program. Its members
// are others, and its hash follows from head all the same: it was written as it stands.
func (l *Line) IsNewer(refused error, head Head) bool {
	return refused == errMembers && chain(head.Hash, l.Chained) == l.Hash
}

// AppendTo appends the line, with its newline, to b and sets its hash.
func (l *Line) AppendTo(b []byte, prev [32]byte) []byte {
	b = append(b, lineStart...)
	at := len(b)
	b = append(b, make([]byte, 64)...) // the hash, once it is known
	b = append(b, `",`...)
	hashed := len(b)
	b = l.appendFrame(b)
	b = append(b, l.Data...)
	if len(l.Personal) > 0 {
		b = b[:len(b)-1]
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		sum := sha256.Sum256(l.Personal)
		b = append(b, personalName...)
		b = hex.AppendEncode(b, sum[:])
		b = append(b, '"')
	}
	b = append(b, '}') // of the data, or else of the line: the chain covers it
	l.Chained = b[hashed:]
	l.Hash = chain(prev, l.Chained)
	hex.Encode(b[at:], l.Hash[:])
	if len(l.Personal) > 0 {
		b = append(b, `,"personal":`...)
		b = append(b, l.Personal...)
		b = append(b, '}')
	}
	return append(b, '\n')
}

// Text returns the line as it stands in its file, with its newline.
func (l *Line) Text() []byte {
	b := append([]byte(nil), lineStart...)
	b = hex.AppendEncode(b, l.Hash[:])
	b = append(b, `",`...)
	b = append(b, l.Chained...)
	if l.Personal != nil {
		b = append(b, `,"personal":`...)
		b = append(b, l.Personal...)
		b = append(b, '}')
	}
	return append(b, '\n')
}

// appendFrame appends the members between the hash and the data.
func (l *Line) appendFrame(b []byte) []byte {
	b = append(b, `"seq":`...)
	b = strconv.AppendUint(b, l.Seq, 10)
	b = append(b, `,"synced":`...)
	b = strconv.AppendUint(b, l.Synced, 10)
	b = append(b, `,"time":"`...)
	b = appendTime(b, l.Time)
	b = append(b, `","type":"`...)
	b = append(b, l.Type...)
	return append(b, `","data":`...)
}

var (
	errFrame = errors.New("is not in the form of a journal line")
	// ErrNotJSON is the error of a line whose hash follows, and that is not JSON all the same.
	ErrNotJSON = errors.New("is not one JSON object")
	// errMembers is the errFrame of the part of a line that the chain covers.
	errMembers = errors.New(errFrame.Error())
)

// Parse reads a line without its newline. It checks the frame and the
// personal part, not the chain. The line's slices lie in b.
func Parse(b []byte) (l Line, err error) {
	l.Chained = b
	hash := member(&l.Chained, lineStart, `",`)
	if !bytes.HasPrefix(b, []byte(lineStart)) || !decodeHash(&l.Hash, hash) {
		return l, errFrame
	}
	rest, ok := bytes.CutSuffix(l.Chained, []byte{'}'})
	if i := bytes.Index(rest, personalMark); i >= 0 {
		l.Personal = rest[i+len(personalMark)-1:]
		rest = rest[:i]
		l.Chained = rest
	}
	if !ok {
		return l, errFrame
	}
	if !l.parseFrame(rest) {
		return l, errMembers
	}
	sum, named := personalHash(l.Data)
	switch {
	case named && l.Personal == nil:
		return l, errors.New("lacks its personal part")
	case !named && l.Personal != nil:
		return l, errors.New("has a personal part that its data does not name")
	case named && sha256.Sum256(l.Personal) != sum && !Erased(l.Personal):
		return l, errors.New("has a personal part that is not the original one")
	}
	return l, nil
}

// parseFrame reads the members between the hash and the data, and the data. Each member is read leniently:
// the frame is then written again, and must have the same bytes.
func (l *Line) parseFrame(b []byte) (ok bool) {
	rest := b
	seq := member(&rest, `"seq":`, `,`)
	synced := member(&rest, `"synced":`, `,`)
	at := member(&rest, `"time":"`, `",`)
	l.Seq = digits(seq)
	l.Synced = digits(synced)
	l.Time = parseTime(at)
	l.Type = string(member(&rest, `"type":"`, `",`))
	var frame [128]byte
	l.Data, ok = bytes.CutPrefix(b, l.appendFrame(frame[:0]))
	return ok && bytes.HasPrefix(l.Data, []byte{'{'})
}

// appendTime appends an instant in the form of TimeLayout. Package time writes RFC 3339 in a third of the
// time that a layout with milliseconds takes.
func appendTime(b []byte, t time.Time) []byte {
	b = t.UTC().AppendFormat(b, time.RFC3339)
	ms := t.Nanosecond() / 1e6
	return append(b[:len(b)-1], '.', '0'+byte(ms/100), '0'+byte(ms/10%10), '0'+byte(ms%10), 'Z')
}

// parseTime reads an instant in the form of TimeLayout. Of any other text it may return anything.
func parseTime(b []byte) time.Time {
	if len(b) != len(TimeLayout) {
		return time.Time{}
	}
	number := func(from, to int) int { return int(digits(b[from:to])) }
	return time.Date(number(0, 4), time.Month(number(5, 7)), number(8, 10),
		number(11, 13), number(14, 16), number(17, 19), number(20, 23)*1e6, time.UTC)
}

// digits reads a number in decimal. Of any other text it may return anything.
func digits(b []byte) (n uint64) {
	for _, c := range b {
		n = 10*n + uint64(c-'0')
	}
	return n
}

// member takes the first member off the front of b and returns its value.
func member(b *[]byte, before, after string) (value []byte) {
	value, *b, _ = bytes.Cut(bytes.TrimPrefix(*b, []byte(before)), []byte(after))
	return value
}

// decodeHash decodes 64 lower-case hex characters.
func decodeHash(dst *[32]byte, src []byte) bool {
	if len(src) != hex.EncodedLen(len(dst)) {
		return false
	}
	_, err := hex.Decode(dst[:], src)
	return err == nil && !bytes.ContainsAny(src, "ABCDEF")
}

// readHash reads the hash of the line that starts at an offset.
func readHash(f io.ReaderAt, start int64) (hash [32]byte, err error) {
	text := make([]byte, len(lineStart)+64)
	if _, err = f.ReadAt(text, start); err != nil {
		return hash, err
	}
	hexed, ok := bytes.CutPrefix(text, []byte(lineStart))
	if !ok || !decodeHash(&hash, hexed) {
		err = errFrame
	}
	return hash, err
}

// personalHash returns the hash that stands at the end of a data object.
func personalHash(data []byte) (sum [32]byte, ok bool) {
	rest, ok := bytes.CutSuffix(data, []byte(`"}`))
	at := len(rest) - 64
	ok = ok && at >= 0 && bytes.HasSuffix(rest[:at], []byte(personalName)) && decodeHash(&sum, rest[at:])
	return sum, ok
}

const erasedLayout = `{"erased":"` + TimeLayout + `"}`

// ErasedPart returns the text in place of a personal part that was erased at an instant.
func ErasedPart(at time.Time) []byte {
	return at.UTC().AppendFormat(nil, erasedLayout)
}

// Erased reports whether a line's personal part was erased: whether it is exactly {"erased":"<time>"}.
func Erased(personal []byte) bool {
	if len(personal) != len(erasedLayout) {
		return false // most parts are longer, and reading a time takes as long as hashing one of these
	}
	at, err := time.Parse(erasedLayout, string(personal))
	return err == nil && at.Format(erasedLayout) == string(personal)
}
