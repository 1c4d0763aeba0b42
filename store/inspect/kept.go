package inspect

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"waybill/store/note"
)

// Kept is a checkpoint that an auditor kept, and the key it is signed with.
type Kept struct {
	Note []byte
	Key  ed25519.PublicKey // nil: the directory's own, of the name that has signed
	Line int               // of the file that it was kept in; 0: of none
}

// shapes are what the lines of a checkpoint are, in their order. More lines as the last may follow.
var shapes = []struct {
	form *regexp.Regexp
	is   string
}{
	{regexp.MustCompile(`^waybill/[A-Za-z0-9]+$`), "the name of a journal alone, as in waybill/ID"},
	{regexp.MustCompile(`^[1-9]\d{0,18}$`), "a number of lines"},
	{regexp.MustCompile(`^[A-Za-z0-9+/]{43}=$`), "a hash in base64"},
	{
		regexp.MustCompile(`^hash [0-9a-f]{64} time \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`),
		"hash, 64 hex digits, time, and a time as in 2026-11-20T16:39:00.123Z",
	},
	{regexp.MustCompile(`^$`), "an empty line"},
	{regexp.MustCompile(`^— \S+ [A-Za-z0-9+/]{90,}=*$`), "a signature: — (U+2014), a name, and base64"},
}

// inner matches a line that can only be of a checkpoint.
var inner = regexp.MustCompile(`hash [0-9a-f]{64} time|^\W* \S+ [A-Za-z0-9+/]{90}`)

// ReadKept reads the checkpoints in a text that somebody has kept, be it a letter: around lines there may be
// what [note.Unwrap] takes off, and around checkpoints other text. passed says what was passed over so, ""
// where that is nothing.
func ReadKept(text []byte, key ed25519.PublicKey) (kept []Kept, passed string, err error) {
	wrapped, other, at := 0, 0, 0
	if len(text) > 0 && text[len(text)-1] != '\n' {
		wrapped++
	}
	rows := strings.Split(string(text)+"\n\n", "\n") // so that the last checkpoint ends
	for i, raw := range rows {
		line := note.Unwrap(raw)
		if line != raw {
			wrapped++
		}
		if at == len(shapes) {
			at = 0
			if strings.HasPrefix(line, "—") {
				at = len(shapes) - 1
			}
		}
		fits := shapes[at].form.MatchString(line)
		switch {
		case at == 0 && fits:
			kept = append(kept, Kept{Key: key, Line: i + 1})
		case at > 0 && !fits || inner.MatchString(line) && at == 0:
			return nil, "", errors.New(misshapen(rows, i, at) + encoded(text))
		case at == 0:
			other += min(len(line), 1)
			continue
		}
		k := &kept[len(kept)-1]
		k.Note = append(append(k.Note, line...), '\n')
		at++
	}
	if kept == nil {
		err = errors.New("has no checkpoint: no line, from the first on, is " + shapes[0].is + encoded(text))
	}
	if wrapped+other > 0 {
		passed = fmt.Sprintf("around the checkpoints, this was passed over: a byte order mark, blanks, "+
			"CR, > or a missing newline (lines: %d); other text (lines: %d)", wrapped, other)
	}
	return kept, passed, err
}

// misshapen says what is wrong with a line, which should be the shape at a place.
func misshapen(rows []string, i, at int) string {
	if at == 0 && strings.Contains(rows[i], "hash ") {
		i = max(0, i-3) // where the checkpoint should begin, of which this is the fourth line
	}
	line := note.Unwrap(rows[i])
	said := fmt.Sprintf("line %d is not %s, but %+.200q", i+1, shapes[at].is, line)
	whole := []string{line, line} // as it was before it was cut, at any place or at a blank
	for j, next := range rows[i+1 : min(i+4, len(rows))] {
		for k, between := range []string{"", " "} {
			whole[k] += between + note.Unwrap(next)
			if line != "" && shapes[at].form.MatchString(whole[k]) {
				return fmt.Sprintf("%s: lines %d to %d are one line that was cut", said, i+1, i+j+2)
			}
		}
	}
	return said
}

// sentAs matches what a mail says of its text where that is not as it was written.
var sentAs = regexp.MustCompile(`(?im)^Content-Transfer-Encoding: *(base64|quoted-printable)`)

// encoded says that a text is in another form than it was written in, "" where it seems not to be.
func encoded(text []byte) string {
	switch {
	case bytes.IndexByte(text, 0) >= 0:
		return "; it has NUL characters, as UTF-16: save it as UTF-8"
	case sentAs.Match(text):
		return "; it is a mail in the form that it is sent in: save its text"
	}
	return ""
}
