package desk

import (
	"slices"
	"strings"
	"unicode"

	"waybill/booking"
	"waybill/schedule"
)

// How passengers are found (decision desk.search). What somebody types is taken apart into words, which are
// looked for in names and e-mail addresses, and into a phone, which is looked for in phones only. A word has
// a letter or an @; the rest is the phone, however its digits are set apart.

// wanted is what somebody looks for of a passenger.
type wanted struct {
	words []string // spelled; each is a part of a name or of the e-mail address
	phone string   // as it was typed; "" is none
}

// fewestDigits is how many digits a phone has at least, or a part of one: fewer are in nearly every phone.
const fewestDigits = 4

// newWanted reads a query: words in any order, set apart by blanks or commas.
func newWanted(query string) wanted {
	var x wanted
	var phone []string
	for _, part := range strings.FieldsFunc(wide.Replace(query), isBetween) {
		if n := len(scheme); len(part) > n && strings.EqualFold(part[:n], scheme) {
			part = part[n:]
		}
		switch {
		case strings.ContainsFunc(part, unicode.IsLetter) || strings.Contains(part, "@"):
			if word := spelled(part); word != "" {
				x.words = append(x.words, word)
			}
		case strings.ContainsFunc(part, isDigit):
			phone = append(phone, part)
		}
	}
	x.phone = strings.Join(phone, " ")
	return x
}

// scheme begins a phone that was copied from a link.
const scheme = "tel:"

// wide has digits and the + as keyboards of the East write them.
var wide = strings.NewReplacer("０", "0", "１", "1", "２", "2", "３", "3", "４", "4", "５", "5", "６", "6",
	"７", "7", "８", "8", "９", "9", "＋", "+")

// isBetween reports whether a character sets words apart.
func isBetween(r rune) bool {
	return unicode.IsSpace(r) || r == ',' || r == ';'
}

// isDigit reports whether a character is a digit of a phone.
func isDigit(r rune) bool {
	return '0' <= r && r <= '9'
}

// isTooShort reports whether the phone has too few digits to be looked for.
func (x *wanted) isTooShort() bool {
	return x.phone != "" && len(digitsOf(x.phone)) < fewestDigits
}

// isEmpty reports whether nothing can be looked for.
func (x *wanted) isEmpty() bool {
	return len(x.words) == 0 && x.phone == ""
}

// is reports whether a passenger is looked for. Somebody on the phone says a name in any order, and half of
// it.
func (x *wanted) is(t *booking.Ticket) bool {
	first, last, email, phones := t.Passenger.Fields()
	known := spelled(first + "\n" + last + "\n" + email)
	for _, word := range x.words {
		if !strings.Contains(known, word) {
			return false
		}
	}
	return x.phone == "" || slices.ContainsFunc(phones, x.isPhone)
}

// spelled returns a folded name in ASCII, so that Стус is found as Stus, and Stus as Стус. Passports have a y
// where others have an i (Yurii, Юрій), and zgh for зг, which is no ж.
func spelled(name string) string {
	return alike.Replace(schedule.SpelledName(schedule.FoldName(name)))
}

var alike = strings.NewReplacer("zgh", "zh", "yi", "i", "iy", "i", "yy", "i", "ii", "i", "y", "i")

// isPhone reports whether the phone that is looked for is this one, or a part of it. A national number begins
// with a 0 that the number with its country does not have, but for some countries.
func (x *wanted) isPhone(phone string) bool {
	known := digitsOf(phone)
	typed := digitsOf(x.phone)
	if strings.Contains(known, typed) {
		return true
	}
	return isNational(known, typed) || isNational(typed, known)
}

// longestCountry is how many digits the code of a country has at most.
const longestCountry = 3

// isNational reports whether the digits of a national number, with its 0, are those of a number with its
// country.
func isNational(whole, national string) bool {
	rest, found := strings.CutPrefix(national, "0")
	country := len(whole) - len(rest)
	return found && len(rest) >= fewestDigits && strings.HasSuffix(whole, rest) &&
		0 < country && country <= longestCountry
}

// digitsOf returns the digits of a phone with its country, or of a part of one: without the 00 that stands
// for the +, and without the 0 in parentheses that is left out after the country.
func digitsOf(phone string) string {
	phone = strings.TrimLeftFunc(phone, func(r rune) bool { return r != '+' && !isDigit(r) })
	abroad := strings.HasPrefix(phone, "+") || strings.HasPrefix(phone, "00")
	if abroad {
		phone = strings.TrimPrefix(phone, "00")
		phone = strings.Replace(phone, "(0)", "", 1)
	}
	return strings.Map(func(r rune) rune {
		if isDigit(r) {
			return r
		}
		return -1
	}, phone)
}
