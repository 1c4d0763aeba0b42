package web

import (
	"fmt"
	"net/mail"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"waybill/schedule"
	"waybill/server/ledger/wire"
)

const (
	NameRule  = "have 1 to 100 characters and no control characters"
	phoneRule = "be a phone number of 5 to 15 digits; a leading +, spaces, dashes, dots and brackets " +
		"are allowed"
)

// NotEmpty reports whether s is not "".
func NotEmpty(s string) bool { return s != "" }

// ValidName reports whether s may be a person's name: there is something to see.
func ValidName(s string) bool {
	seen := strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsGraphic(r) && !unicode.IsSpace(r)
	})
	return seen && utf8.RuneCountInString(s) <= maxName && !HasControl(s)
}

// HasControl reports whether s has a control character.
func HasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r >= 0x7f && r < 0xa0
	})
}

// ValidEmail reports whether s is a bare e-mail address at a domain with a dot, and all of it can be seen.
func ValidEmail(s string) bool {
	a, err := mail.ParseAddress(s)
	_, domain, _ := strings.Cut(s, "@")
	return err == nil && a.Address == s && len(s) <= 254 && !strings.ContainsFunc(s, invisible) &&
		strings.Contains(strings.Trim(domain, "."), ".")
}

// ReadEmail reads an e-mail address.
func ReadEmail(r *wire.Reader) string { return readSeen(r, ValidEmail, "be an e-mail address") }

// ReadPhone reads a phone number.
func ReadPhone(r *wire.Reader) string { return readSeen(r, validPhone, phoneRule) }

// readSeen reads a text. A character that nobody sees, as one that was copied along, is named.
func readSeen(r *wire.Reader, valid func(string) bool, must string) string {
	return r.Text(func(s string) bool {
		if i := strings.IndexFunc(s, invisible); i >= 0 {
			r.Reject(fmt.Sprintf("has the invisible character %U; it must %s", []rune(s[i:])[0], must))
			return true
		}
		return valid(s)
	}, must)
}

// invisible reports whether nobody sees a character, unless it is a space.
func invisible(c rune) bool {
	if '!' <= c && c <= '~' { // as almost all are
		return false
	}
	return c != ' ' && (unicode.IsSpace(c) || !unicode.IsGraphic(c) ||
		unicode.In(c, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector))
}

// validPhone reports whether s is a phone number, as phoneRule says.
func validPhone(s string) bool {
	digits := 0
	for i, c := range s {
		switch {
		case c >= '0' && c <= '9':
			digits++
		case c == '+' && i == 0:
		case digits > 0 && strings.ContainsRune(" -.()", c), c == '(':
		default:
			return false
		}
	}
	return digits >= 5 && digits <= 15 && len(s) <= 40
}

// rfc3339 is what time.Parse is too lenient about: one-digit hours, commas, offsets of a day and more.
var rfc3339 = regexp.MustCompile(`^.{10}T\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// ReadInstant reads a date-time, to the millisecond, and its day as it is written, as in 2026-11-20. A leap
// second is the first of the next minute.
func ReadInstant(r *wire.Reader) (at time.Time, day string) {
	r.Text(func(v string) bool {
		v = strings.ToUpper(v) // RFC 3339 has t and z, too
		leap := time.Duration(0)
		if rfc3339.MatchString(v) && v[17:19] == "60" {
			v = v[:17] + "59" + v[19:]
			leap = time.Second
		}
		t, err := time.Parse(time.RFC3339, v)
		at = t.Add(leap).UTC().Truncate(time.Millisecond)
		day = t.Format(time.DateOnly)
		return err == nil && rfc3339.MatchString(v) && schedule.IsInYears(at)
	}, "be "+instantRule)
	return at, day
}

// instantRule says how an instant is given.
const instantRule = "an instant as in 2026-11-20T08:30:00Z, " + schedule.InYears

// ParseInstant reads an instant that the command line gives, as instantRule says.
func ParseInstant(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || !schedule.IsInYears(t) {
		return t, fmt.Errorf("%q is not "+instantRule, text)
	}
	return t, nil
}

// ParseLegacySince reads -legacy-since; "" is the zero time.
func ParseLegacySince(text string) (since time.Time, err error) {
	if text != "" {
		if since, err = ParseInstant(text); err != nil {
			err = fmt.Errorf("-legacy-since %w", err)
		}
	}
	return since, err
}
