package verify

import (
	"strings"
	"testing"
	"time"

	"waybill/store/inspect"
	"waybill/store/journal"
)

// Lines that are not signed are no reason to worry beside a server, as long as they are of its last minute.
func TestUnsignedLinesOfTheLastMinute(t *testing.T) {
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		live bool
		age  time.Duration
		want string
	}{
		{true, 0, "not signed yet: the server is running;"},
		{true, time.Minute, "not signed yet: the server is running;"},
		{true, time.Minute + time.Millisecond, "no checkpoint covers the last 2 lines, after line 5: "},
		{false, 0, "no checkpoint covers the last 2 lines, after line 5: "},
	} {
		rep := Report{Report: inspect.Report{
			Head:      journal.Head{Stamp: journal.Stamp{Seq: 7, Time: now}},
			Vouched:   5,
			Unvouched: c.age,
		}}
		if said := unvouched(2, &rep, c.live); !strings.HasPrefix(said, c.want) {
			t.Errorf("live %v, %v old: %q, want %q", c.live, c.age, said, c.want)
		}
	}
}
