package schedule

import (
	"strings"
	"unicode"
)

// FoldName returns a name without what people leave out or write in several ways, for comparing: case,
// accents, apostrophes, hyphens and blanks. The end of a line stays.
func FoldName(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for _, r := range FoldText(s) {
		if plain, ok := besides[r]; ok {
			b.WriteString(plain)
		} else if !unicode.In(r, unicode.Zs, unicode.Pd, unicode.Cf) {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// NameOrder returns what a name is ordered by: the folded name in the order of the Ukrainian alphabet, and
// the name after the end of a line.
func NameOrder(name string) string {
	return FoldName(alphabet.Replace(strings.ToLower(name))) + "\n" + name
}

// last comes after every letter.
const last = "\U0010FFFF"

// alphabet has the Ukrainian letters that are not where Unicode has them.
var alphabet = strings.NewReplacer("и\u0306", "и"+last+last+last, "і\u0308", "и"+last+last, "ґ", "г"+last,
	"є", "е"+last, "і", "и"+last, "ї", "и"+last+last, "й", "и"+last+last+last)

// SpelledName returns a name in ASCII, as far as its letters can be spelled, without case and accents.
func SpelledName(name string) string {
	return spelling.Replace(FoldText(spelling.Replace(strings.ToLower(name))))
}

// spelling writes in ASCII the letters that folding leaves: Greek, and Cyrillic by the Ukrainian passport
// rules where it matters.
var spelling = strings.NewReplacer(append(strings.Fields(`а a б b в v г h ґ g д d е e є ie ж zh з z и y і i ї i й i
	к k л l м m н n о o п p р r с s т t у u ф f х kh ц ts ч ch ш sh щ shch ы y э e ю iu я ia ё e ѐ e ѝ i
	ѓ gj ѕ dz ј j љ lj њ nj ќ kj џ dzh ђ dj ћ c ў u
	α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t υ y φ f χ ch ψ ps ω o`),
	"ь", "", "ъ", "", "’", "", "'", "", "ʼ", "", "`", "")...)

// FoldText returns a text without case and accents. Slugs are made of it, and must not change: what else is
// one to people is in Name.
func FoldText(s string) string {
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

// folded lists letters and what is left of each without accents. It also has letters that Unicode does not
// take apart (ł, ø, ß): nobody who types them without the stroke means another letter.
var folded = table(map[rune]string{
	'ß': "ss",
	'æ': "ae",
	'œ': "oe",
	'þ': "th",
}, `aàáâãäåāăąǎạả cçćĉċč dďđð eèéêëēĕėęěẹẻẽ gĝğġģ hĥħ iìíîïĩīĭįıǐ jĵ kķ
		lĺļľŀł nñńņňŉ oòóôõöøōŏőơǒ rŕŗř sśŝşšș tţťŧț uùúûüũūŭůűųưǔ wŵẁẃẅ yýÿŷ zźżž
		αά εέ ηή ιίϊΐ οό υύϋΰ ωώ уў ийѝ ії еёѐ гѓ кќ`)

// besides lists what else is one to people: letters with two marks, or with marks of Asia and of
// transliterations, and what stands for an apostrophe or a hyphen.
var besides = table(map[rune]string{
	'\'': "", '’': "", 'ʼ': "", '`': "", '´': "", '‘': "", '‛': "", 'ʹ': "", 'ʻ': "", '′': "", '＇': "",
	'ǽ': "ae", '\u2212': "",
}, `aấầẩẫậắằẳẵặǟǡǻȁȃȧḁ bḃḅḇ cḉ dḋḍḏḑḓ eếềểễệẽḕḗḙḛḝȅȇȩ fḟ gḡǧǥ hḣḥḧḩḫẖȟ iḯḭỉịȉȋ jǰ kǩḱḳḵ lḷḹḻḽ mḿṁṃ
	nṅṇṉṋǹ oốồổỗộớờởỡợọỏṍṏṑṓǫǭȍȏȫȭȯȱǿ pṕṗ rṙṛṝṟȑȓ sṡṣṥṧṩ tṫṭṯṱẗ uứừửữựụủǖǘǚǜṳṵṷṹṻȕȗ vṽṿ wẇẉẘ xẋẍ yỳỵỷỹẏẙȳ
	zẑẓẕ`)

// table adds to a table letters and what is left of them: in each word the first letter is left of the
// others.
func table(m map[rune]string, words string) map[rune]string {
	for word := range strings.FieldsSeq(words) {
		letters := []rune(word)
		for _, r := range letters[1:] {
			m[r] = string(letters[0])
		}
	}
	return m
}
