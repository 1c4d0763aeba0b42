package store_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger is what the outside world knows of a store, over all its restarts and crashes: what was handed in,
// and what of it was acknowledged or shown to someone. It records what the store does against that.
type ledger struct {
	mu      sync.Mutex
	handed  []handed // in order; what a start shows to be gone, and might be, is dropped
	sure    int      // so many of the first of them were acknowledged or shown
	told    []told   // every acknowledgement there was
	torn    []string // the contents of the files that hold what starts have cut off
	backed  int      // so many were sure when the backup began
	made    int      // events, so that no two are the same
	ms      int64    // the clock
	against []string // what was found wrong
}

type handed struct {
	add
	seq uint64 // 0 until it was acknowledged or shown
	at  time.Time
}

type told struct {
	seq  uint64
	text string
}

// copied returns a ledger for one of several futures.
func (l *ledger) copied() *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	return &ledger{
		handed: slices.Clone(l.handed), sure: l.sure, told: slices.Clip(l.told), torn: slices.Clip(l.torn),
		backed: l.backed, made: l.made, ms: l.ms, against: slices.Clip(l.against),
	}
}

func (l *ledger) now(*sum) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ms++
	return epoch.Add(time.Duration(l.ms) * time.Millisecond)
}

// wrong records what must not be. The lock is held.
func (l *ledger) wrong(format string, args ...any) {
	l.against = append(l.against, fmt.Sprintf(format, args...))
}

func (l *ledger) complain(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.wrong(format, args...)
}

func (l *ledger) complaints() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.against)
}

// hand makes n events that are handed in where the state has so many.
func (l *ledger) hand(have, n int) (events []add) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if have < l.sure || have > len(l.handed) {
		l.wrong("an update sees %d events; %d were handed in, %d are sure", have, len(l.handed), l.sure)
	}
	l.handed = l.handed[:min(have, len(l.handed))]
	for range n {
		l.made++
		e := add{N: int64(l.made), Text: fmt.Sprint(l.made, strings.Repeat("~", l.made%4*150))}
		if l.made%2 == 0 {
			e.Name = "Hal"
		}
		events = append(events, e)
		l.handed = append(l.handed, handed{add: e})
	}
	return events
}

// acknowledge is for the n events after the first have: the last of them has got this seq.
func (l *ledger) acknowledge(have, n int, seq uint64, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		if have+i >= len(l.handed) {
			l.wrong("event %d was acknowledged, and another store has cut it off", have+i)
			return
		}
		h := &l.handed[have+i]
		h.seq = seq - uint64(n-1-i)
		h.at = at
		if j := slices.IndexFunc(l.told, func(t told) bool { return t.seq == h.seq }); j >= 0 {
			l.wrong("seq %d was acknowledged twice, of %.5s and %.5s", h.seq, l.told[j].text, h.Text)
		}
		l.told = append(l.told, told{h.seq, h.Text})
	}
	l.sure = max(l.sure, have+n)
}

// shown is for a state that someone has seen.
func (l *ledger) shown(items []item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(items) < l.sure {
		l.wrong("%d events are lost: %d are there, %d were acknowledged or shown", l.sure-len(items),
			len(items), l.sure)
	}
	if len(items) > len(l.handed) {
		l.wrong("%d events are invented", len(items)-len(l.handed))
	}
	var before uint64
	for i, it := range items[:min(len(items), len(l.handed))] {
		h := &l.handed[i]
		known := h.seq != 0
		if h.add != (add{it.N, it.Text, it.Name}) || known && (h.seq != it.Seq || !h.at.Equal(it.Time)) ||
			it.Seq <= before {
			l.wrong("event %d is altered: it is %.60v, but %.60v was handed in", i, it, *h)
		}
		h.seq = it.Seq
		h.at = it.Time
		before = it.Seq
	}
	l.sure = max(l.sure, len(items))
}

// started is for what a start has made of the files: what it did not go on from it must have kept, for good.
func (l *ledger) started(before, after map[string]string, items []item) {
	l.mu.Lock()
	l.handed = l.handed[:max(l.sure, min(len(items), len(l.handed)))]
	var torn []string
	for _, name := range named(after, "torn-") {
		torn = append(torn, after[name])
	}
	old := finished(before)
	lines := finished(after)
	n := 0
	for n < len(old) && n < len(lines) && old[n] == lines[n] {
		n++
	}
	if cut := strings.Join(old[n:], ""); cut != "" && !slices.Contains(torn, cut) {
		l.wrong("%d bytes of the journal's end are gone and not kept", len(cut))
	}
	for _, kept := range l.torn {
		if !slices.Contains(torn, kept) {
			l.wrong("%d bytes that a start has kept are gone", len(kept))
		}
	}
	l.torn = torn
	l.mu.Unlock()
	l.shown(items)
}

// finished returns the journal's lines, without temporary files.
func finished(all map[string]string) []string {
	whole := map[string]string{}
	for _, name := range named(all, "journal/") {
		if strings.HasSuffix(name, ".jsonl") {
			whole[name] = all[name]
		}
	}
	return journalLines(whole)
}

// TestLedger: what a store may do is not complained of, and each thing that it must not do is.
func TestLedger(t *testing.T) {
	at := epoch
	items := func(l *ledger) (items []item) {
		for i, h := range l.handed {
			items = append(items, item{uint64(i + 2), at, h.N, h.Text, h.Name})
		}
		return items
	}
	for _, c := range []struct {
		want string
		do   func(l *ledger, two []item)
	}{
		{"", func(l *ledger, two []item) { l.shown(two); l.shown(two) }},
		{"", func(l *ledger, two []item) { l.started(nil, nil, two[:1]); l.hand(1, 1) }},
		{"1 events are lost", func(l *ledger, two []item) { l.shown(two); l.shown(two[:1]) }},
		{"1 events are lost", func(l *ledger, two []item) { l.acknowledge(1, 1, 3, at); l.started(nil, nil, two[:1]) }},
		{"an update sees 1 events", func(l *ledger, two []item) { l.shown(two); l.hand(1, 1) }},
		{"invented", func(l *ledger, two []item) { l.shown(append(two, two[1])) }},
		{"altered", func(l *ledger, two []item) { two[0].Name = "Pia"; l.shown(two) }},
		{"altered", func(l *ledger, two []item) { l.shown(two); two[0].Seq = 1; l.shown(two) }},
		{"altered", func(l *ledger, two []item) { l.shown(two); two[1].Time = at.Add(1); l.shown(two) }},
		{"acknowledged twice", func(l *ledger, two []item) { l.acknowledge(1, 1, 3, at); l.hand(2, 1); l.acknowledge(2, 1, 3, at) }},
		{"not kept", func(l *ledger, two []item) { l.started(map[string]string{"journal/1.jsonl": "x"}, nil, two) }},
		{"kept are gone", func(l *ledger, two []item) {
			l.started(nil, map[string]string{"torn-1": "x"}, two)
			l.started(nil, nil, two)
		}},
	} {
		l := new(ledger)
		l.hand(0, 2)
		c.do(l, items(l))
		got := strings.Join(l.complaints(), "; ")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
