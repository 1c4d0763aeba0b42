package seating

import (
	"encoding/json"
	"testing"
	"time"

	"waybill/schedule"
)

// form returns the form of a run that calls at stops of one letter each, by a bus of 3 seats.
func form(t *testing.T, stops string) *schedule.Form {
	t.Helper()
	x := schedule.Form{Trip: "t", Bus: schedule.Bus{Seats: 3}}
	for i, stop := range stops {
		at := int32(i) * 600
		x.Stops = append(x.Stops, schedule.FormStop{Stop: schedule.Stop{ID: string(stop)}, Arr: at, Dep: at})
	}
	data, err := json.Marshal(&x)
	if err != nil {
		t.Fatal(err)
	}
	f, err := schedule.DecodeForm(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A ride is mapped into another form outward, so that it never becomes smaller, and is
// nothing where nothing is left of it (decision timetable.rides).
func TestARideIsMappedOutward(t *testing.T) {
	for _, c := range []struct {
		sold           string
		from, to       int16
		form           string
		wantFrom, want int16
		why            string
	}{
		{"ABCD", 1, 2, "ABCD", 1, 2, "the same stops"},
		{"ABCD", 1, 2, "XABCDY", 2, 3, "more stops"},
		{"ABCD", 1, 3, "ABXCD", 1, 4, "a stop in between"},
		{"ABCD", 1, 3, "ACD", 0, 2, "boarding is gone: the stop before"},
		{"ABCD", 0, 2, "ABD", 0, 2, "alighting is gone: the stop after"},
		{"ABCD", 1, 2, "AD", 0, 1, "both are gone"},
		{"ABCD", 0, 1, "XBCD", 0, 1, "none remains before: the first stop"},
		{"ABCD", 2, 3, "ABCX", 2, 3, "none remains after: the last stop"},
		{"ABCD", 1, 2, "WXYZ", 0, 3, "none remains at all: all of it"},
		{"ABCD", 0, 1, "BCD", 0, 0, "all of it lies before the first stop: nothing"},
		{"ABCD", 2, 3, "ABC", 2, 2, "all of it lies after the last stop: nothing"},
		{"ABCD", 1, 2, "DCBA", 1, 2, "the other way round"},
		{"ABAC", 2, 3, "ABAC", 2, 3, "the second call at A"},
		{"ABAC", 2, 3, "AXBAC", 3, 4, "the second call at A is the second"},
		{"ABAC", 2, 3, "ABC", 1, 2, "the second call at A is gone"},
	} {
		ride := Ride{form(t, c.sold), c.from, c.to}
		if from, to := ride.In(form(t, c.form)); from != c.wantFrom || to != c.want {
			t.Errorf("%s: %d to %d of %s is %d to %d of %s, want %d to %d", c.why, c.from, c.to, c.sold, from, to,
				c.form, c.wantFrom, c.want)
		}
	}
}

// A seat is taken for a ride where another's overlaps as the run is now, as the ride was sold, or as the
// other was.
func TestASeatIsTakenAsTheRunIsAndAsItWasSold(t *testing.T) {
	now := time.UnixMilli(1)
	for _, c := range []struct {
		sold     string // the form of the hold, on seat 1
		from, to int16
		ride     Ride
		present  string
		taken    bool
		why      string
	}{
		{"ABC", 0, 1, Ride{form(t, "ABC"), 1, 2}, "ABC", false, "one alights where the other boards"},
		{"ABC", 0, 1, Ride{form(t, "ABC"), 1, 2}, "AC", true, "they overlap as the run is now"},
		{"ACB", 0, 2, Ride{form(t, "CAB"), 0, 1}, "CAB", true, "they overlap as the hold was sold"},
		{"CAB", 0, 1, Ride{form(t, "ACB"), 0, 2}, "CXAB", true, "they overlap as the ride was sold"},
		{"ABC", 0, 1, Ride{form(t, "BC"), 0, 1}, "BC", false, "the hold is of no part of the run as it is now"},
		{"ABC", 1, 2, Ride{form(t, "AB"), 0, 1}, "AB", false, "nor at the other end"},
		{"BC", 0, 1, Ride{form(t, "ABC"), 0, 1}, "BC", false, "the ride is of no part of it"},
	} {
		plan := Plan{
			Forms: []*schedule.Form{form(t, c.sold)},
			Holds: []Hold{{Until: 2, From: c.from, To: c.to, Seat: 1}},
		}
		free := plan.Free(form(t, c.present), c.ride, now)
		if free.Seats.Has(1) == c.taken || !free.Seats.Has(2) || c.taken != (free.Left == 2) {
			t.Errorf("%s: seat 1 is free: %t, %d are left", c.why, free.Seats.Has(1), free.Left)
		}
	}
}
