package histories

import (
	"slices"
	"testing"
)

// table is where histories are played: this program, and the small server as it starts anew.
type table struct {
	ours *ours
	mini string   // the program
	with []string // its flags

	met map[string]int // how often a request ended in which way
}

// anew begins a play on two servers that know of nothing, and returns what ends it.
func (x *table) anew(t testing.TB) (*play, func()) {
	t.Helper()
	x.ours.reset(t)
	m := startMini(t, x.mini, x.with...)
	p := newPlay(&x.ours.place, &m.place)
	p.met = x.met
	return p, m.stop
}

// ending is a history up to the first step at which both servers differ.
type ending struct {
	steps []step
	words string // how they differ; "" is that they agree
	sent  []line
}

// replay plays steps on fresh servers.
func (x *table) replay(t testing.TB, steps []step) ending {
	t.Helper()
	p, end := x.anew(t)
	defer end()
	for i := range steps {
		words, err := p.playStep(&steps[i])
		if err != nil {
			t.Fatal(err)
		}
		if words != "" {
			return ending{steps[:i+1], words, p.lines()}
		}
	}
	return ending{}
}

// shrink returns a history at whose end both servers differ, as they do at the end of e, from which no step
// can be left out.
func (x *table) shrink(t testing.TB, e ending) ending {
	t.Helper()
	// Mostly nothing but what the last step rests on is needed.
	if shorter := x.replay(t, onlyNeeded(e.steps)); shorter.words != "" {
		e = shorter
	}
	for size := max(len(e.steps)/2, 1); size > 0; {
		shorter := x.withoutSome(t, e, size)
		if len(shorter.steps) == len(e.steps) {
			size /= 2
		}
		e = shorter
	}
	if short := x.replay(t, renumber(e.steps)); short.words != "" {
		return short
	}
	return e
}

// withoutSome returns a history without such parts of so many steps as are not needed. The last step shows
// the difference, and stays.
func (x *table) withoutSome(t testing.TB, e ending, size int) ending {
	t.Helper()
	for end := len(e.steps) - 1; end > 0; end -= size {
		end = min(end, len(e.steps)-1)
		without := leaveOut(e.steps, e.steps[max(end-size, 0):end])
		if shorter := x.replay(t, without); shorter.words != "" {
			e = shorter
		}
	}
	return e
}

// onlyNeeded returns the last step, those that it rests on, directly or not, and the moves of the clock.
func onlyNeeded(steps []step) (kept []step) {
	needed := map[int]bool{steps[len(steps)-1].number: true}
	for _, s := range slices.Backward(steps) {
		if !needed[s.number] && !s.isClock() {
			continue
		}
		kept = append(kept, s)
		for _, number := range s.needs() {
			needed[number] = true
		}
	}
	slices.Reverse(kept)
	return kept
}

// leaveOut returns steps without some, and without those that rest on them.
func leaveOut(steps, out []step) (kept []step) {
	gone := map[int]bool{}
	for _, s := range out {
		gone[s.number] = true
	}
	for _, s := range steps {
		if slices.ContainsFunc(s.needs(), func(number int) bool { return gone[number] }) {
			gone[s.number] = true
		}
		if !gone[s.number] {
			kept = append(kept, s)
		}
	}
	return kept
}
