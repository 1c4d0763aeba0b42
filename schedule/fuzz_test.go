package schedule_test

import (
	"testing"
	"time"

	"waybill/schedule"
)

// FuzzDay reads a day and writes it; every day is the one of the instants in it, in any zone.
func FuzzDay(f *testing.F) {
	for _, s := range []string{"2026-11-20", "1970-01-01", "1969-12-31", "2024-02-29", "2023-02-29",
		"0000-01-01", "9999-12-31", "2199-12-31", "2200-01-01", "2026-1-1", "2026-13-01", " 2026-01-01", "2026-01-01T00:00:00Z", "",
		"20260101", "-001-01-01", "２０２６-01-01"} {
		f.Add(s, int64(0), 0)
		f.Add(s, int64(-12345678901), -43200)
		f.Add(s, int64(253402300799), 50400)
	}
	f.Fuzz(func(t *testing.T, s string, unix int64, offset int) {
		d, err := schedule.ParseDay(s)
		if err == nil != (s >= "1970" && s < "2200") {
			if _, wrong := time.Parse(time.DateOnly, s); wrong == nil {
				t.Errorf("%s: %v", s, err)
			}
		}
		if err == nil {
			if d.String() != s {
				t.Errorf("%q is read as %s", s, d)
			}
			want, err := time.Parse(time.DateOnly, s)
			if err != nil || !d.Date().Equal(want) || schedule.DayOf(want) != d {
				t.Errorf("%q is day %d, %s", s, d, d.Date())
			}
			next, err := schedule.ParseDay((d + 1).String())
			if s < "2199-12-31" && (err != nil || next != d+1) {
				t.Errorf("the day after %s is %s, read as %s", d, d+1, next)
			}
		}
		const limit = 1 << 40 // within years 0 to 9999, or near
		at := time.Unix(unix%limit, 0).In(time.FixedZone("", offset%86400))
		d = schedule.DayOf(at)
		if y, m, n := at.Date(); !d.Date().Equal(time.Date(y, m, n, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s is on day %s", at, d)
		}
		start := d.In(at.Location())
		if start.After(at) || at.Sub(start) >= 24*time.Hour || schedule.DayOf(start) != d {
			t.Errorf("%s is on day %s, which starts at %s", at, d, start)
		}
	})
}
