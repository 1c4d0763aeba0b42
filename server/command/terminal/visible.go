package terminal

import (
	"fmt"
	"io"
	"unicode/utf8"

	"waybill/server/frame/words"
)

// Visible is an output for people. A name, a reason or a foreign server's answer may have characters that
// clear a terminal, change its title or turn text around: these are written as in \u001b, and a byte that is
// no UTF-8 as in \x9b. Only the ends of lines and tabs are written as they are.
type Visible struct {
	To   io.Writer
	rest []byte // the begin of a character whose other bytes are still to come
}

// Write writes a text, and keeps the begin of a character that it ends in.
func (v *Visible) Write(text []byte) (int, error) {
	in := append(v.rest, text...)
	var out []byte
	for len(in) > 0 && utf8.FullRune(in) {
		r, size := utf8.DecodeRune(in)
		out = appendVisible(out, r, in[:size])
		in = in[size:]
	}
	v.rest = append([]byte(nil), in...)
	if _, err := v.To.Write(out); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Flush writes the begin of a character that nothing has followed.
func (v *Visible) Flush() error {
	var out []byte
	for i := range v.rest {
		out = appendVisible(out, utf8.RuneError, v.rest[i:i+1])
	}
	v.rest = nil
	if len(out) == 0 {
		return nil
	}
	_, err := v.To.Write(out)
	return err
}

// appendVisible appends a character, which stands in the given bytes.
func appendVisible(out []byte, r rune, bytes []byte) []byte {
	switch {
	case r == utf8.RuneError && len(bytes) == 1:
		return fmt.Appendf(out, `\x%02x`, bytes[0])
	case r != '\n' && r != '\t' && words.Acts(r):
		return fmt.Appendf(out, `\u%04x`, r)
	}
	return append(out, bytes...)
}
