package schedule

import (
	"fmt"
	"math"
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

// Date gives midnight UTC of the day, String the day as in 2026-11-20.
func (d Day) Date() time.Time { return time.Unix(int64(d)*86400, 0).UTC() }
func (d Day) String() string  { return d.Date().Format(time.DateOnly) }

// ParseDay reads a day as 2026-11-20, which must exist.
func ParseDay(s string) (Day, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return 0, fmt.Errorf("schedule: %q is not a date as in 2026-11-20", s)
	}
	return DayOf(t), nil
}

// In gives the instant at which the day starts in a zone: midnight, or where clocks jump over midnight, the jump.
func (d Day) In(zone *time.Location) time.Time {
	y, m, n := d.Date().Date()
	t := time.Date(y, m, n, 0, 0, 0, 0, zone)
	before, after := t.ZoneBounds()
	switch {
	case DayOf(t) < d:
		return after
	case t.Hour() != 0:
		return before
	}
	return t
}

// zone is a time zone with the starts of service days in it.
type zone struct {
	loc    *time.Location
	first  Day
	starts []int64 // from the first day on
	ahead  int64   // seconds that its first service day starts before midnight UTC
	slack  int64   // seconds that the others may differ in that
}

// zonesOf loads the zone of each row, each only once.
func zonesOf[R any](loaded map[string]*zone, rows []R, name func(*R) string) ([]*zone, error) {
	var list []*zone
	for i := range rows {
		name := name(&rows[i])
		if loaded[name] == nil {
			loc, err := time.LoadLocation(name)
			if err != nil || name == "" || name == "Local" {
				return nil, fmt.Errorf("schedule: %q is not a time zone", name)
			}
			loaded[name] = &zone{loc: loc}
		}
		list = append(list, loaded[name])
	}
	return list, nil
}

// prepare works out the starts of all days of the services.
func (z *zone) prepare(services []Service) {
	first, end := Day(math.MaxInt32), Day(math.MinInt32)
	for _, s := range services {
		if n := Day(len(s.Bits) * 64); n > 0 {
			first, end = min(first, s.First), max(end, s.First+n)
		}
	}
	z.first = first
	for d := first; d < end; d++ {
		start := z.start(d)
		z.starts = append(z.starts, start)
		ahead := int64(d)*86400 - start
		if d == first {
			z.ahead = ahead
		}
		z.slack = max(z.slack, ahead-z.ahead, z.ahead-ahead)
	}
}

// start gives the instant, in Unix seconds, at which a service day starts: noon minus 12 hours.
func (z *zone) start(d Day) int64 {
	if i := int(d - z.first); i >= 0 && i < len(z.starts) {
		return z.starts[i]
	}
	y, m, n := d.Date().Date()
	return time.Date(y, m, n, 12, 0, 0, 0, z.loc).Unix() - 12*3600
}
