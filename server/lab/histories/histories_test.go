package histories

import (
	"flag"
	"testing"
)

var (
	count = flag.Int("histories", 60, "how many random histories are played against both servers")
	first = flag.Int("first", 0, "the number of the first of them")
)

// Contract 21: what clients can see of this program and of the small server is the same, whatever happens.
func TestBothServersAgree(t *testing.T) {
	x := newTable(t, sourceOfMini())
	if e := x.playAll(t, *first, *count); e != nil {
		t.Fatal(e.paste())
	}
	for _, what := range toMeet {
		if x.met[what] == 0 && *first == 0 && *count >= 200 {
			t.Errorf("the histories do not bring about %q", what)
		}
	}
	t.Log(x.met)
}

// toMeet is what 200 histories bring about at least once: each refusal, and what else is rare. By default
// there are fewer.
var toMeet = []string{
	"POST bookings 201", "POST bookings 400 VALIDATION_ERROR", "POST bookings 400 OFFER_EXPIRED",
	"POST bookings 409 NO_SEATS", "POST bookings 409 DEPARTED",
	"POST pay 200", "POST pay 400 VALIDATION_ERROR", "POST pay 401 UNAUTHORIZED", "POST pay 404 NOT_FOUND",
	"POST pay 409 STATE", "POST pay 409 NO_SEATS",
	"POST book 200", "POST book 409 STATE", "POST book 409 NO_SEATS",
	"POST cancel 200", "POST cancel 404 NOT_FOUND", "POST cancel 409 STATE",
	"POST orders 200", "POST orders 409 NO_SEATS", "POST orders 410 GONE", "PATCH orders 200",
	"PATCH orders 409 STATE", "PATCH orders 410 GONE", "GET orders 200", "GET orders 403 FORBIDDEN",
	"POST clock 200", "POST clock 400 VALIDATION_ERROR",
}

// newTable builds a small server, and starts this program.
func newTable(t *testing.T, source string) *table {
	t.Helper()
	return &table{
		ours: startOurs(t, feed),
		mini: buildMini(t, source),
		with: stillAtStart(feed),
		met:  map[string]int{},
	}
}

// feed is a timetable with small buses, so that they are soon full. It is written in the way of the demo,
// which is all that the small server reads: a fare has rules that name its route and both zones.
const feed = "testdata/feed"

// playAll plays histories until both servers differ, and returns the shortest that was found; nil is that
// they agree. One history after another is played on the same servers, as long as each begins later than the
// one before has ended.
func (x *table) playAll(t *testing.T, first, count int) *ending {
	t.Helper()
	var p *play
	end := func() {}
	defer func() { end() }()
	var played []step // on these servers
	for number := first; number < first+count; number++ {
		if p == nil || start.Add(begins[number%len(begins)]).Before(p.now) {
			end()
			p, end = x.anew(t)
			played = nil
		}
		steps := write(number)
		played = append(played, steps...)
		for i := range steps {
			words, err := p.playStep(&steps[i])
			if err != nil {
				t.Fatal(err)
			}
			if words != "" {
				t.Logf("history %d differs: %s", number, words)
				return x.shortest(t, played, steps)
			}
		}
	}
	return nil
}

// shortest plays the last history again by itself, or all that were played before it too, and returns the
// shortest that still differs.
func (x *table) shortest(t *testing.T, played, last []step) *ending {
	t.Helper()
	for _, whole := range [][]step{last, played} {
		if e := x.replay(t, whole); e.words != "" {
			e = x.shrink(t, e)
			return &e
		}
	}
	t.Fatal("both servers differed, and did not when the same was played again")
	return nil
}
