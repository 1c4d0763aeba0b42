// Package fold compares names as people type them: without case and accents, so that "lodz" finds Łódź.
//
//	strings.Contains(fold.Text(city.Name), fold.Text(typed))
package fold

import (
	"strings"
	"unicode"
)

// Text returns a text without case and accents, for comparing.
func Text(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range s {
		r = unicode.ToLower(r)
		if plain, ok := folded[r]; ok {
			b.WriteString(plain)
		} else if !unicode.Is(unicode.Mn, r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// folded lists letters and what is left of each without accents: in each word the first letter is left of
// the others. It also has letters that Unicode does not take apart (ł, ø, ß): nobody who types them without
// the stroke means another letter.
var folded = func() map[rune]string {
	m := map[rune]string{
		'ß': "ss",
		'æ': "ae",
		'œ': "oe",
		'þ': "th",
	}
	for word := range strings.FieldsSeq(`aàáâãäåāăąǎạả cçćĉċč dďđð eèéêëēĕėęěẹẻẽ gĝğġģ hĥħ iìíîïĩīĭįıǐ jĵ kķ
		lĺļľŀł nñńņňŉ oòóôõöøōŏőơǒ rŕŗř sśŝşšș tţťŧț uùúûüũūŭůűųưǔ wŵẁẃẅ yýÿŷ zźżž
		αά εέ ηή ιίϊΐ οό υύϋΰ ωώ уў ийѝ ії еёѐ гѓ кќ`) {
		letters := []rune(word)
		for _, r := range letters[1:] {
			m[r] = string(letters[0])
		}
	}
	return m
}()
