package gtfs

import (
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
	dash := false
	put := func(s string) {
		if dash && b.Len() > 0 && s != "" {
			b.WriteByte('-')
		}
		if s != "" {
			dash = false
		}
		b.WriteString(s)
	}
	for _, r := range name {
		spelled, known := slugTable[unicode.ToLower(r)]
		if !known {
			spelled = schedule.Fold(string(r))
		}
		for _, c := range spelled {
			if c >= unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c) {
				spelled, dash = "", true
				break
			}
		}
		put(spelled)
	}
	return b.String()
}

// slugs hands out each slug once; what had one in the timetable before keeps it.
type slugs struct {
	kept  map[string]string // by id
	taken map[string]bool
}

func newSlugs() *slugs { return &slugs{map[string]string{}, map[string]bool{}} }

// keep says that an id had a slug in the timetable before.
func (s *slugs) keep(id, slug string) { s.kept[id] = slug; s.taken[slug] = true }

// give makes the slug of an id from what the feed gives, or else from its name.
func (s *slugs) give(id, given, name string) string {
	slug := slugOf(given)
	if kept := s.kept[id]; kept != "" && (given == "" || kept == slug || strings.TrimRight(kept, "0123456789") == slug+"-") {
		return kept
	}
	if slug == "" {
		slug = slugOf(name)
	}
	if slug == "" {
		slug = slugOf(id)
	}
	if slug == "" {
		slug = "x"
	}
	unique := slug
	for n := 2; s.taken[unique]; n++ {
		unique = slug + "-" + itoa(n)
	}
	s.taken[unique] = true
	return unique
}
