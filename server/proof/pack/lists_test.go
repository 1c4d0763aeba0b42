package pack

import (
	"slices"
	"testing"

	"waybill/store/journal"
)

// A line is in the lists that its type, or what it says, belongs to.
func TestLinesAndTheirLists(t *testing.T) {
	const by = `{"by":{"uid":1000,"user":"olena"}}`
	for _, c := range []struct {
		kind, data string
		want       []string
	}{
		{"manifest.read", by, []string{"acts.csv", "readings.csv"}},
		{"manifest.read", `{}`, []string{"readings.csv"}},
		{"personal.read", by, []string{"acts.csv", "readings.csv"}},
		{"personal.erased", by, []string{"acts.csv", "erasures.csv"}},
		{"passengers.forgotten", `{}`, []string{"erasures.csv"}},
		{"repaired", `{"reason":"x","by":{"uid":0}}`, []string{"acts.csv", "repairs.csv"}},
		{"forked", `{}`, []string{"forks.csv"}},
		{"world.forked", `{}`, []string{"forks.csv"}},
		{"clock.set", `{}`, []string{"clocks.csv"}},
		{"opened", `{"after":"clean"}`, nil},
		{"opened", `{"after":"clean","unsigned":{"from":4,"lines":2}}`, []string{"unsigned.csv"}},
		{"booking.created", `{"unsigned":{"from":4,"lines":2}}`, nil},
		{"partner.key_added", by, []string{"acts.csv", "access.csv"}},
		{"user.removed", `{}`, []string{"access.csv"}},
		{"keys.rotated", `{}`, []string{"access.csv"}},
	} {
		var got []string
		for i := range lists {
			if lists[i].has(&journal.Line{Type: c.kind, Data: []byte(c.data)}) {
				got = append(got, lists[i].name)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s %s is in %s, want %s", c.kind, c.data, got, c.want)
		}
	}
}
