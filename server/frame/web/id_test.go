package web

import (
	"bytes"
	"testing"

	"waybill/schedule/ids"
)

// No id's text starts with a dash, and of all others none is turned down.
func TestNoIDStartsWithADash(t *testing.T) {
	for first := range 256 {
		var id ids.ID
		id[0] = byte(first)
		id[1] = 0xff // the second character is not taken for the first
		bad := id.String()[0] == '-'
		next := ids.ID{1}
		source := bytes.NewReader(append(id[:], next[:]...))
		if got := IDFrom(source); bad && got != next || !bad && got != id {
			t.Errorf("from %s: %s", id, got)
		}
	}
}
