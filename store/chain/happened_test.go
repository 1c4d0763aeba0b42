package chain_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"waybill/store/chain"
	"waybill/store/journal"
)

// What happened to a journal is said with its line; of what may happen often, the first, the last, and how
// many times.
func TestWhatHappenedToAJournal(t *testing.T) {
	const (
		moved = "clock 1 a test clock was set 2 times: first by line 1, at 2026-11-20T08:00:01.000Z, " +
			"last by line 3, at 2026-11-20T08:00:03.000Z"
		once = "clock 1 a test clock was set once, by line 1, at 2026-11-20T08:00:01.000Z"
		took = "unsigned 1 a start took over lines that no note covered 3 times: first by line 1: 2 " +
			"from line 4 on, last by line 3: 7 from line 9 on"
		first   = "witness 1 the witnesses changed from none to v"
		changed = "witness 3 the witnesses changed from none to w"
		back    = "witness 3 the witnesses changed from v to none"
		named   = "forked 2 the directory is a copy of waybill/a up to its line 1; from here on its " +
			"name is waybill/b"
		fork = `forked {"origin":"waybill/b","parent":{"origin":"waybill/a","seq":1}}`
	)
	for what, c := range map[string]struct {
		lines []string // type and data, from line 1
		want  []string
	}{
		"nothing":   {[]string{`opened {"after":"creation"}`, `ticket.paid {}`}, nil},
		"a repair":  {[]string{`repaired {"reason":"a bit"}`}, []string{"repaired 1 the lines after line 0 were cut: a bit"}},
		"a fork":    {[]string{`x {}`, fork}, []string{named}},
		"one move":  {[]string{`clock.set {}`}, []string{once}},
		"two moves": {[]string{`clock.set {}`, `x {}`, `clock.set {}`}, []string{moved}},
		"lines that nobody had signed": {[]string{`opened {"unsigned":{"from":4,"lines":2}}`,
			`opened {"unsigned":{"from":8,"lines":1}}`, `opened {"unsigned":{"from":9,"lines":7}}`}, []string{took}},
		"a witness more": {[]string{`opened {"witnesses":[]}`, `opened {}`, `opened {"witnesses":["w"]}`,
			`opened {"witnesses":["w"]}`}, []string{changed}},
		"the first witness, and none again": {[]string{`opened {"witnesses":["v"]}`, `opened {}`,
			`opened {"witnesses":[]}`}, []string{first, back}},
		"in the order of the lines": {[]string{`clock.set {}`, `repaired {"reason":"x"}`, `clock.set {}`},
			[]string{moved, "repaired 2 the lines after line 1 were cut: x"}},
	} {
		var h chain.Happened
		for i, text := range c.lines {
			kind, data, _ := strings.Cut(text, " ")
			l := journal.Line{Type: kind, Data: []byte(data)}
			l.Seq = uint64(i + 1)
			l.Time = time.Date(2026, 11, 20, 8, 0, i+1, 0, time.UTC)
			if err := h.Line(journal.Place{}, &l); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		var got []string
		for _, e := range h.Events() {
			got = append(got, fmt.Sprint(e.Kind, " ", e.Seq, " ", e.Text))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", what, got, c.want)
		}
	}
}
