package schedule

import (
	"encoding/base64"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FeedID returns the id that a feed has for a trip, by that of the timetable: people know a trip by it
// (decision desk.feedids). An id that would not be readable stays as it is.
func FeedID(id string) string {
	coded, found := strings.CutPrefix(id, "~")
	if !found {
		return id
	}
	own, err := base64.RawURLEncoding.Strict().DecodeString(coded)
	if err != nil || len(own) == 0 || !utf8.Valid(own) {
		return id
	}
	for _, r := range string(own) {
		if !unicode.IsPrint(r) {
			return id
		}
	}
	return string(own)
}
