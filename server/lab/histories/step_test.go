package histories

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// step is one request of a history. What it says in braces is of earlier steps: {o3} is the offer that step 3
// has found, {b5} the booking that step 5 has made, {b5t2} its second ticket, and {day+2} the day after
// tomorrow. A step that names what is not there is left out, so that any step of a history can be left out.
type step struct {
	number int // in the whole history
	who    int // the partner, 1 or 2; nobodyAsks or strangerAsks
	method string
	target string
	body   string

	choice int    // of a search: which of the journeys that were found is the offer
	clock  moment // of a clock move: where to
	isLate bool   // it looks at what came of it all, and nothing rests on it
}

// Who asks, besides partners.
const (
	nobodyAsks   = 0
	strangerAsks = 3
)

// moment is an instant from which, and how much later, a clock is to stand. Its base is the name of what has
// an instant: d5 is when booking 5 departs, c5 when it was made, l3 when step 3 was; "" is now.
type moment struct {
	base  string
	later time.Duration
}

// isClock reports whether the step moves the clock.
func (s *step) isClock() bool { return s.target == clockPath }

// clockPath is where a test clock is moved.
const clockPath = "/test/clock"

// named matches what a step says in braces.
var named = regexp.MustCompile(`\{[a-z][a-z0-9+]*\}`)

// needs returns the numbers of the steps that a step rests on.
func (s *step) needs() (numbers []int) {
	names := named.FindAllString(s.target+s.body, -1)
	if s.clock.base != "" {
		names = append(names, "{"+s.clock.base+"}")
	}
	for _, name := range names {
		if digits := firstNumber.FindString(name); digits != "" && !strings.HasPrefix(name, "{day") {
			number, _ := strconv.Atoi(digits)
			numbers = append(numbers, number)
		}
	}
	return numbers
}

var firstNumber = regexp.MustCompile(`[0-9]+`)

// fill puts in what the names in braces stand for; the error names one that stands for nothing.
func fill(text string, values map[string]string, now time.Time) (string, error) {
	var missing error
	filled := named.ReplaceAllStringFunc(text, func(name string) string {
		name = name[1 : len(name)-1]
		if days, isDay := strings.CutPrefix(name, "day+"); isDay {
			n, _ := strconv.Atoi(days)
			return now.AddDate(0, 0, n).Format(time.DateOnly)
		}
		value, known := values[name]
		if !known {
			missing = fmt.Errorf("there is no %s", name)
		}
		return value
	})
	return filled, missing
}

// at returns the instant that a moment is; false where there is no such thing, or the clock stands beyond.
func (m moment) at(instants map[string]time.Time, now time.Time) (time.Time, bool) {
	base, known := instants[m.base]
	if m.base == "" {
		base, known = now, true
	}
	at := base.Add(m.later)
	return at, known && !at.Before(now)
}

// clockForm is how instants are written.
const clockForm = "2006-01-02T15:04:05.000Z"

// renumber gives the steps of a history the numbers from 1 on.
func renumber(steps []step) []step {
	numbers := map[string]string{}
	for i, s := range steps {
		numbers[strconv.Itoa(s.number)] = strconv.Itoa(i + 1)
	}
	change := func(name string) string {
		if strings.HasPrefix(name, "{day") {
			return name
		}
		return firstNumber.ReplaceAllStringFunc(name, func(n string) string {
			if to := numbers[n]; to != "" {
				return to
			}
			return n // which of a booking's tickets
		})
	}
	renumbered := make([]step, len(steps))
	for i, s := range steps {
		s.number = i + 1
		s.target = named.ReplaceAllStringFunc(s.target, change)
		s.body = named.ReplaceAllStringFunc(s.body, change)
		s.clock.base = change(s.clock.base)
		renumbered[i] = s
	}
	return renumbered
}
