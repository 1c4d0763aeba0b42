package words

import (
	"strings"
	"unicode"
)

// Tidy returns a name as it may stand in a sentence: without blanks around it, and without characters that
// are not seen, which could turn the words after it around.
func Tidy(name string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, name))
}
