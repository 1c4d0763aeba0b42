package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A Line is one event in the journal. It reads
//
//	{"hash":"<64 hex>","seq":48213,"synced":48210,"time":"2026-11-20T16:39:00.123Z","type":"booking.created","data":{…}}
//
// or, when the event holds personal data (the second "personal" is an object),
//
//	{"hash":"…","seq":…,"synced":…,"time":"…","type":"…","data":{…,"personal":"<64 hex>"},"personal":{"salt":"…",…}}
//
// hash is SHA-256 over the previous line's hash, as 64 hex characters, and this
// line's bytes from offset 75 up to the first ,"personal":{ or else up to the
// newline; what stands for the previous hash before line 1 is the SHA-256 of
// the file FORMAT. The data's personal is the SHA-256 of the personal object's
// bytes, so that personal data can be erased without breaking the chain, and
// cannot be altered unseen. seq rises by one. time never falls, but at a line
// of the type KindClock, which says that the clock was set. synced is the highest
// seq that was durable when this line was written.
type Line struct {
	Seq, Synced uint64
	Time        time.Time
	Type        string
	Data        []byte // the whole object
	Personal    []byte // the object, or nil
	Hash        [32]byte

	hashed []byte
}

// KindClock is the type of the lines that [Store.SetClock] writes.
const KindClock = "clock.set"

const (
	timeLayout   = "2006-01-02T15:04:05.000Z"
	lineStart    = `{"hash":"`
	hashedOffset = len(lineStart) + 64 + len(`",`)
)

var personalMark = []byte(`,"personal":{`)

// chain gives the hash of a line that follows one with the hash prev.
func chain(prev [32]byte, hashed []byte) [32]byte {
	var hexed [64]byte
	hex.Encode(hexed[:], prev[:])
	h := sha256.New()
	h.Write(hexed[:])
	h.Write(hashed)
	var sum [32]byte
	h.Sum(sum[:0])
	return sum
}

// appendLine appends a line, with its newline, to b and gives its hash.
func appendLine(b []byte, prev [32]byte, stamp Stamp, synced uint64, kind string, data, personal []byte) ([]byte, [32]byte) {
	start := len(b)
	b = append(b, lineStart...)
	b = append(b, make([]byte, 64)...)
	b = append(b, `","seq":`...)
	b = strconv.AppendUint(b, stamp.Seq, 10)
	b = append(b, `,"synced":`...)
	b = strconv.AppendUint(b, synced, 10)
	b = append(b, `,"time":"`...)
	b = stamp.Time.UTC().AppendFormat(b, timeLayout)
	b = append(b, `","type":"`...)
	b = append(b, kind...)
	b = append(b, `","data":`...)
	b = append(b, data...)
	if len(personal) > 0 {
		b = b[:len(b)-1]
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		sum := sha256.Sum256(personal)
		b = append(b, `"personal":"`...)
		b = hex.AppendEncode(b, sum[:])
		b = append(b, `"}`...)
	} else {
		b = append(b, '}')
	}
	hash := chain(prev, b[start+hashedOffset:])
	hex.Encode(b[start+len(lineStart):], hash[:])
	if len(personal) > 0 {
		b = append(b, `,"personal":`...)
		b = append(b, personal...)
		b = append(b, '}')
	}
	return append(b, '\n'), hash
}

var errFrame = errors.New("is not in the form of a journal line")

// parseLine reads a line without its newline. It checks the frame and the
// personal part, not the chain. The line's slices lie in b.
func parseLine(b []byte) (l Line, err error) {
	if len(b) < hashedOffset || string(b[:len(lineStart)]) != lineStart || string(b[hashedOffset-2:hashedOffset]) != `",` {
		return l, errFrame
	}
	if !decodeHash(&l.Hash, b[len(lineStart):hashedOffset-2]) {
		return l, errFrame
	}
	l.hashed = b[hashedOffset:]
	data := l.hashed
	if i := bytes.Index(l.hashed, personalMark); i >= 0 {
		l.Personal = l.hashed[i+len(personalMark)-1:]
		l.hashed = l.hashed[:i]
		data = l.hashed
		if l.Personal[len(l.Personal)-1] != '}' {
			return l, errFrame
		}
		l.Personal = l.Personal[:len(l.Personal)-1]
		if err := checkPersonal(data, l.Personal); err != nil {
			return l, err
		}
	} else if n := len(data); n < 2 || data[n-1] != '}' {
		return l, errFrame
	} else {
		data = data[:n-1]
		if _, ok := personalHash(data); ok {
			return l, errors.New("lacks its personal part")
		}
	}
	var when, kind []byte
	data, ok := cut(data, `"seq":`, `,`, nil, &l.Seq)
	data, ok2 := cut(data, `"synced":`, `,`, nil, &l.Synced)
	data, ok3 := cut(data, `"time":"`, `",`, &when, nil)
	data, ok4 := cut(data, `"type":"`, `",`, &kind, nil)
	if !ok || !ok2 || !ok3 || !ok4 || !bytes.HasPrefix(data, []byte(`"data":{`)) {
		return l, errFrame
	}
	if l.Time, err = time.Parse(timeLayout, string(when)); err != nil || l.Time.Format(timeLayout) != string(when) {
		return l, errFrame
	}
	l.Type, l.Data = string(kind), data[len(`"data":`):]
	return l, nil
}

// cut takes one member of the frame off the front of b.
func cut(b []byte, before, after string, text *[]byte, number *uint64) ([]byte, bool) {
	rest, ok := bytes.CutPrefix(b, []byte(before))
	value, rest, found := bytes.Cut(rest, []byte(after))
	if !ok || !found {
		return b, false
	}
	if text != nil {
		*text = value
		return rest, true
	}
	n, err := strconv.ParseUint(string(value), 10, 64)
	*number = n
	return rest, err == nil && strconv.FormatUint(n, 10) == string(value)
}

func decodeHash(dst *[32]byte, src []byte) bool {
	for _, c := range src {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	n, err := hex.Decode(dst[:], src)
	return err == nil && n == len(dst)
}

// personalHash gives the hash that stands at the end of a data object.
func personalHash(data []byte) (sum [32]byte, ok bool) {
	const before = `"personal":"`
	at := len(data) - len(before) - 64 - len(`"}`)
	if at < 1 || !bytes.HasPrefix(data[at:], []byte(before)) || !bytes.HasSuffix(data, []byte(`"}`)) {
		return sum, false
	}
	return sum, decodeHash(&sum, data[at+len(before):len(data)-2])
}

func checkPersonal(data, personal []byte) error {
	want, ok := personalHash(data)
	if !ok {
		return errors.New("has a personal part that its data does not name")
	}
	if sha256.Sum256(personal) != want && !erased(personal) {
		return errors.New("has a personal part that is not the one it was written with")
	}
	return nil
}

// erased tells whether a personal part is exactly {"erased":"<time>"}.
func erased(personal []byte) bool {
	rest, ok := bytes.CutPrefix(personal, []byte(`{"erased":"`))
	when, end := bytes.CutSuffix(rest, []byte(`"}`))
	at, err := time.Parse(timeLayout, string(when))
	return ok && end && err == nil && at.Format(timeLayout) == string(when)
}

// follow checks that the line is the one after head, and gives the new head.
func (l *Line) follow(head Head) (Head, error) {
	switch {
	case l.Seq != head.Seq+1:
		return head, fmt.Errorf("has seq %d where %d is expected", l.Seq, head.Seq+1)
	case chain(head.Hash, l.hashed) != l.Hash:
		return head, errors.New("has a hash that does not follow from its bytes and the line before")
	case l.Time.Before(head.Time) && l.Type != KindClock:
		return head, errors.New("is older than the line before")
	case l.Synced >= l.Seq:
		return head, errors.New("says that it was durable before it was written")
	}
	return Head{l.Seq, l.Hash, l.Time}, nil
}
