package carrier

import (
	"time"

	"waybill/booking"
)

// Where clocks are put back an hour comes twice. A time of it is written with its offset, so that the two can
// be told apart (decision desk.twice).

// Leaves returns when a run leaves a position, by the clock there.
func Leaves(run *booking.Run, position int16) time.Time {
	return local(run, run.Dep(position), position)
}

// Arrives returns when a run arrives at a position, by the clock there.
func Arrives(run *booking.Run, position int16) time.Time {
	return local(run, run.Arr(position), position)
}

// local returns an instant by the clock at a position of a run, as [booking.Run.Local] does, and with its
// zone, unless that says another time by now than was sold.
func local(run *booking.Run, at time.Time, position int16) time.Time {
	sold := run.Local(at, position)
	now := at.In(loadZone(run.Form.Stops[position].City.Zone))
	if offsetOf(sold) != offsetOf(now) {
		return sold
	}
	return now
}

// Write writes an instant by its clock in a layout, with the offset where that time comes twice.
func Write(t time.Time, layout string) string {
	if comesTwice(t) {
		layout += " -07:00"
	}
	return t.Format(layout)
}

// offsetOf returns how many seconds a clock is ahead of UTC at an instant.
func offsetOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// aroundTwice is more than the time by which any clock is put back.
const aroundTwice = 3 * time.Hour

// comesTwice reports whether the clock of an instant shows the same time at another instant too.
func comesTwice(t time.Time) bool {
	for _, aside := range []time.Duration{-aroundTwice, aroundTwice} {
		other := offsetOf(t.Add(aside))
		later := time.Duration(offsetOf(t)-other) * time.Second
		if later != 0 && offsetOf(t.Add(later)) == other {
			return true
		}
	}
	return false
}
