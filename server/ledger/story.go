package ledger

import (
	"strings"

	"waybill/store"
)

// LogTime is how a story writes instants.
const LogTime = "2006-01-02 15:04:05.000"

// Tell says in words what a line's entry did, after it was applied.
func (s *State) Tell(x Entry, l *store.Line) string {
	if x.Event != nil {
		if k := kindOf(x.Event); k.story != nil {
			return k.story(s, x.Event, l.Time)
		}
	}
	return plainWords(l.Data)
}

// plainWords returns the data of a line without JSON's punctuation, and without who wrote it.
func plainWords(data []byte) string {
	without := strings.NewReplacer(`":`, " ", `{`, "", `}`, "", `"`, "", `,`, ", ")
	return without.Replace(string(withoutBy(data)))
}
