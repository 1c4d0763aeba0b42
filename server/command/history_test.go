//go:build !lean

package command

import (
	"fmt"
	"testing"
	"time"
)

// The states of a booking, as clients see them. They only rise.
const (
	isAbsent = iota
	isLive
	isCanceled
	states
)

// did is something that a client did to a booking: it wrote a state, or read one. Times are since the test's
// start. If nobody knows whether a write was done, it has no end.
type did struct {
	write      bool
	state      int
	begun, end time.Duration
}

const never = time.Duration(1 << 62)

// linear returns what is wrong with the history of a booking: an error unless each act can have happened at
// one instant between its begin and its end. States only rise, so each state k is written at one instant,
// p(k). Every read of a lower state begins before p(k), and every read of k or a higher one ends after it.
// The first write of k begins before p(k), and each write of k ends after it. A read of exactly k lies
// between p(k) and p(k+1).
func linear(history []did) error {
	at := time.Duration(0)
	for k := isLive; k < states; k++ {
		earliest, latest, asked := at, never, never
		for _, d := range history {
			switch {
			case d.write && d.state == k:
				asked = min(asked, d.begun)
				latest = min(latest, d.end)
			case !d.write && d.state < k:
				earliest = max(earliest, d.begun)
			case !d.write:
				latest = min(latest, d.end)
			}
		}
		if latest == never {
			return nil // nobody was told that it ever was in that state
		}
		if earliest = max(earliest, asked); earliest > latest {
			return fmt.Errorf("state %d was written after %v and before %v", k, earliest, latest)
		}
		at = earliest
	}
	return nil
}

// The check of histories finds what it is for.
func TestHistoriesThatAreNotLinear(t *testing.T) {
	t.Parallel()
	created := did{true, isLive, 1, 5}
	gone := did{true, isCanceled, 10, 15}
	doubtful := did{true, isCanceled, 10, never}
	for what, c := range map[string]struct {
		history []did
		good    bool
	}{
		"one after the other": {
			[]did{created, {false, isLive, 6, 7}, gone, {false, isCanceled, 16, 17}}, true,
		},
		"beside each other": {
			[]did{created, {false, isAbsent, 2, 9}, {false, isLive, 11, 19}, gone}, true,
		},
		"a sale that is not there": {[]did{created, {false, isAbsent, 6, 7}}, false},
		"a sale that comes and goes": {
			[]did{created, {false, isLive, 2, 3}, {false, isAbsent, 4, 6}}, false,
		},
		"an old machine's answer":   {[]did{created, gone, {false, isLive, 16, 17}}, false},
		"a doubt that was not done": {[]did{created, doubtful, {false, isLive, 16, 17}}, true},
		"a doubt that was done": {
			[]did{created, doubtful, {false, isCanceled, 90, 97}}, true,
		},
		"a doubt that was done and undone": {
			[]did{created, doubtful, {false, isCanceled, 16, 17}, {false, isLive, 18, 19}}, false,
		},
		"a doubt that was done before": {[]did{created, doubtful, {false, isCanceled, 6, 7}}, false},
		"two who cancel": {
			[]did{created, gone, {true, isCanceled, 30, 40}, {false, isCanceled, 20, 21}}, true,
		},
		"a cancelling that nobody asked of": {[]did{created, {false, isCanceled, 6, 7}}, false},
	} {
		if err := linear(c.history); (err == nil) != c.good {
			t.Errorf("%s: %v", what, err)
		}
	}
}
