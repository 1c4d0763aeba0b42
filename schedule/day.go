package schedule

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Day is a calendar day, counted from 1970-01-01.
type Day int32

// DayOf gives the calendar day of t in t's own location.
func DayOf(t time.Time) Day {
	_, offset := t.Zone()
	s := t.Unix() + int64(offset)
	return Day((s - ((s%86400)+86400)%86400) / 86400)
}

// Date gives midnight UTC of the day.
func (d Day) Date() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }

// String gives the day as 2026-11-20.
func (d Day) String() string { return d.Date().Format(time.DateOnly) }

// ParseDay reads a day as 2026-11-20, which must exist.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("schedule: %q is not a date as in 2026-11-20", s)
	}
	return DayOf(t), nil
}

// In gives the instant at which the day starts in a zone: midnight, or where
// clocks jump over midnight, the jump.
func (d Day) In(zone *time.Location) time.Time {
	y, m, n := d.Date().Date()
	t := time.Date(y, m, n, 0, 0, 0, 0, zone)
	if _, jump := t.ZoneBounds(); DayOf(t) < d {
		return jump
	} else if start, _ := t.ZoneBounds(); t.Hour() != 0 {
		return start
	}
	return t
}

// zone is a time zone with the starts of service days in it.
type zone struct {
	loc    *time.Location
	mu     sync.Mutex
	starts atomic.Pointer[dayStarts]
}

// dayStarts is immutable; a longer one takes its place when a day outside is asked for.
type dayStarts struct {
	first Day
	unix  []int64
}

func (t *Timetable) zone(name string) (*zone, error) {
	if z := t.zones[name]; z != nil {
		return z, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return nil, fmt.Errorf("schedule: %q is not a time zone", name)
	}
	z := &zone{loc: loc}
	t.zones[name] = z
	return z, nil
}

// start gives the instant, in Unix seconds, at which a service day starts: noon minus 12 hours.
func (z *zone) start(d Day) int64 {
	s := z.starts.Load()
	if s == nil || d < s.first || int(d-s.first) >= len(s.unix) {
		s = z.extend(d)
	}
	return s.unix[d-s.first]
}

func (z *zone) extend(d Day) *dayStarts {
	z.mu.Lock()
	defer z.mu.Unlock()
	const around = 64 // days on each side
	n := &dayStarts{first: d - around}
	end := d + around
	if s := z.starts.Load(); s != nil && max(s.first-end, n.first-s.first-Day(len(s.unix))) < 400 {
		n.first, end = min(n.first, s.first), max(end, s.first+Day(len(s.unix)))
	}
	for d := n.first; d < end; d++ {
		y, m, day := d.Date().Date()
		n.unix = append(n.unix, time.Date(y, m, day, 12, 0, 0, 0, z.loc).Unix()-12*3600)
	}
	z.starts.Store(n)
	return n
}
