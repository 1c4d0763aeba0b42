package schedule

import (
	"strings"
	"unicode"
)

// folded lists letters with what is left of them without accents. What is not
// listed stands for itself. Letters that Unicode does not take apart (ł, ø, ß) are
// listed as well: nobody who types them without the stroke means another letter.
var folded = func() map[rune]string {
	m := map[rune]string{'ß': "ss", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ў': "у", 'й': "и", 'ї': "і", 'ё': "е", 'ѐ': "е", 'ѝ': "и", 'ѓ': "г", 'ќ': "к"}
	for _, row := range []string{
		"aàáâãäåāăąǎạả", "cçćĉċč", "dďđð", "eèéêëēĕėęěẹẻẽ", "gĝğġģ", "hĥħ", "iìíîïĩīĭįıǐ", "jĵ", "kķ", "lĺļľŀł",
		"nñńņňŉ", "oòóôõöøōŏőơǒ", "rŕŗř", "sśŝşšș", "tţťŧț", "uùúûüũūŭůűųưǔ", "wŵẁẃẅ", "yýÿŷ", "zźżž",
		"αά", "εέ", "ηή", "ιίϊΐ", "οό", "υύϋΰ", "ωώ",
	} {
		letters := []rune(row)
		for _, r := range letters[1:] {
			m[r] = string(letters[0])
		}
	}
	return m
}()

// Fold gives a name without case and accents, for comparing.
func Fold(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		r = unicode.ToLower(r)
		if unicode.Is(unicode.Mn, r) {
			continue
		}
		if plain, ok := folded[r]; ok {
			b.WriteString(plain)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
