package words

import (
	"fmt"
	"strings"
	"unicode"
)

// Acts reports whether a terminal does something with a character rather than show it: the control characters
// C0, DEL and C1, and those that turn the direction of the text after them.
func Acts(r rune) bool {
	return unicode.IsControl(r) || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// Visible returns a text in which characters that [Acts] reports are written as JSON has them, as in \u001b:
// what somebody else has written can be shown on a terminal so, in one line.
func Visible(text string) string {
	if !strings.ContainsFunc(text, Acts) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if Acts(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
