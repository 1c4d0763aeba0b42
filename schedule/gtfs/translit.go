package gtfs

import (
	"cmp"
	"strconv"
	"strings"
	"unicode"

	"waybill/schedule"
)

// slugTable spells what is left of a folded name in ASCII: Cyrillic by the
// Ukrainian passport rules where letters differ between languages, and Greek.
var slugTable = map[rune]string{
	'а': "a", 'б': "b", 'в': "v", 'г': "h", 'ґ': "g", 'д': "d", 'е': "e", 'є': "ie", 'ж': "zh", 'з': "z", 'и': "y", 'і': "i",
	'й': "i", 'к': "k", 'л': "l", 'м': "m", 'н': "n", 'о': "o", 'п': "p", 'р': "r", 'с': "s", 'т': "t", 'у': "u", 'ф': "f", 'х': "kh", 'ц': "ts",
	'ч': "ch", 'ш': "sh", 'щ': "shch", 'ь': "", 'ъ': "", 'ы': "y", 'э': "e", 'ю': "iu", 'я': "ia",
	'ѓ': "gj", 'ѕ': "dz", 'ј': "j", 'љ': "lj", 'њ': "nj", 'ќ': "kj", 'џ': "dzh", 'ђ': "dj", 'ћ': "c", 'ў': "u",
	'ї': "i", 'ё': "e", 'ѐ': "e", 'ѝ': "i",
	'α': "a", 'β': "v", 'γ': "g", 'δ': "d", 'ε': "e", 'ζ': "z", 'η': "i", 'θ': "th", 'ι': "i", 'κ': "k", 'λ': "l", 'μ': "m",
	'ν': "n", 'ξ': "x", 'ο': "o", 'π': "p", 'ρ': "r", 'σ': "s", 'ς': "s", 'τ': "t", 'υ': "y", 'φ': "f", 'χ': "ch", 'ψ': "ps", 'ω': "o",
	'’': "", '\'': "", 'ʼ': "", '`': "",
}

// slugOf makes a URL-friendly word of a name, "" when nothing of it can be spelled.
func slugOf(name string) string {
	var b strings.Builder
	for _, r := range name {
		if spelled, ok := slugTable[unicode.ToLower(r)]; ok {
			b.WriteString(spelled)
			continue
		}
		for _, plain := range schedule.Fold(string(r)) {
			if spelled, ok := slugTable[plain]; ok {
				b.WriteString(spelled)
			} else if plain < unicode.MaxASCII && (unicode.IsLetter(plain) || unicode.IsDigit(plain)) {
				b.WriteRune(plain)
			} else {
				b.WriteByte(' ')
			}
		}
	}
	return strings.Join(strings.Fields(b.String()), "-")
}

// named is what gets a slug: Slug is what the feed gives, and then what it got.
type named struct {
	id, name string
	slug     *string
}

// slugs gives each row its slug, once: first to those that had one in the
// timetable before, then as the feed asks, then after the names.
func slugs[T any](rows, old []T, of func(*T) named) {
	before := map[string]string{}
	for i := range old {
		x := of(&old[i])
		before[x.id] = *x.slug
	}
	taken, next := map[string]bool{}, map[string]int{}
	var asking, others []named
	for i := range rows {
		x := of(&rows[i])
		asked, had := slugOf(*x.slug), before[x.id]
		stays := had != "" && !taken[had] && (asked == "" || had == asked || strings.TrimRight(had, "0123456789") == asked+"-")
		switch {
		case stays:
			*x.slug, taken[had] = had, true
		case asked != "":
			asking = append(asking, x)
		default:
			others = append(others, x)
		}
	}
	for _, x := range append(asking, others...) {
		slug := cmp.Or(slugOf(*x.slug), slugOf(x.name), slugOf(x.id), "x")
		unique := slug
		for n := max(2, next[slug]); taken[unique]; n++ {
			unique = slug + "-" + strconv.Itoa(n)
			next[slug] = n + 1
		}
		*x.slug, taken[unique] = unique, true
	}
}
