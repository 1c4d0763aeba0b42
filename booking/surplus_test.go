package booking

import (
	"strings"
	"testing"

	"waybill/schedule/ids"
)

// The surplus is named to its end, up to 100 runs and seats; of what is beyond, it says how many there are.
func TestSurplusIsNamedOrCounted(t *testing.T) {
	for _, c := range []struct {
		oversold, shared, lines int
		last                    string
	}{
		{0, 0, 0, ""},
		{11, 0, 11, "11 seats are taken, its bus has 3"},
		{11, 12, 23, "seat 12 belongs to"},
		{60, 40, 100, "seat 40 belongs to"},
		{60, 41, 101, "and 1 more"},
		{250, 0, 101, "and 150 more"},
	} {
		var s Surplus
		for n := range c.oversold {
			s.Oversold = append(s.Oversold, Oversold{Run: ids.RunName{Trip: "t"}, Taken: n + 1, Seats: 3})
		}
		for n := range c.shared {
			s.Shared = append(s.Shared, Shared{Run: ids.RunName{Trip: "t"}, Seat: int16(n + 1)})
		}
		lines := s.Lines()
		last := ""
		if len(lines) > 0 {
			last = lines[len(lines)-1]
		}
		if len(lines) != c.lines || !strings.Contains(last, c.last) {
			t.Errorf("%d and %d: %d lines, the last %q", c.oversold, c.shared, len(lines), last)
		}
	}
}
