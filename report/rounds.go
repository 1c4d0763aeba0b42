package report

import (
	"cmp"
	"math"
	"slices"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
)

// Bookings are those that a report is made of. A booking.Frozen is some.
type Bookings interface {
	Len() int
	// Read fills a booking, in the room of the one before, and reports whether there is one with the number.
	Read(number int, into *booking.Booking) bool
}

// A row is a company's part of an order. It has what it is sorted by, and where the order stands: all else is
// read again when the row is written, so that many rows can be sorted at a time.
type row struct {
	at      int64  // Unix milliseconds
	id      ids.ID // of the ticket
	booking uint32 // its number
	ticket  uint32 // position among the booking's
}

func compare(a, b *row) int {
	if a.at != b.at {
		return cmp.Compare(a.at, b.at)
	}
	return a.id.Compare(b.id)
}

const (
	// room is how many rows are written at a time. They take 17 MB; a report of two million rows goes through
	// all bookings four times.
	room = 1 << 19
	// sorted is how many rows are sorted at a time. That takes two milliseconds, in which the work does not
	// rest.
	sorted = 1 << 14
)

// rounds picks the rows of a report out of all bookings, in order: each round those that come first after the
// last of the round before.
type rounds struct {
	report   *Report
	bookings Bookings
	room     int // how many rows a round has at most

	rows []row // of the round
	more bool  // there are others after them
	last row   // of the round before
	next []row // to be sorted into rows
	b    booking.Booking
}

func newRounds(r *Report, bookings Bookings) *rounds {
	return &rounds{
		report:   r,
		bookings: bookings,
		room:     room,
		more:     true,
		last:     row{at: math.MinInt64},
	}
}

// advance goes to the next round, and reports whether there is one. The first is always there, if empty.
func (x *rounds) advance() bool {
	if !x.more {
		return false
	}
	if len(x.rows) > 0 {
		x.last = x.rows[len(x.rows)-1]
	}
	x.rows = x.rows[:0]
	x.more = false
	for n := range x.bookings.Len() {
		if x.bookings.Read(n, &x.b) {
			x.pick(uint32(n))
		}
	}
	x.sortIn()
	return true
}

// pick picks the rows of a booking that may belong to the round.
func (x *rounds) pick(number uint32) {
	for i := range x.b.Tickets {
		t := &x.b.Tickets[i]
		legs := part(x.report, t)
		if legs == nil {
			continue
		}
		r := row{t.Created, t.ID, number, uint32(i)}
		if x.report.OrderBy == DepartureDate {
			r.at = departure(legs).UnixMilli()
		}
		if x.isWanted(&r) {
			x.next = append(x.next, r)
		}
	}
	if len(x.next) >= sorted {
		x.sortIn()
	}
}

// isWanted reports whether a row lies in the report's range, after the last round, and not behind all rows of
// this one.
func (x *rounds) isWanted(r *row) bool {
	return r.at >= x.report.Start.UnixMilli() &&
		r.at <= x.report.End.UnixMilli() &&
		compare(r, &x.last) > 0 &&
		(!x.more || compare(r, &x.rows[len(x.rows)-1]) < 0)
}

// sortIn sorts the rows that were picked last into those of the round, and leaves out those that the round
// has no room for.
func (x *rounds) sortIn() {
	slices.SortFunc(x.next, func(a, b row) int {
		return compare(&a, &b)
	})
	old := len(x.rows)
	x.rows = append(x.rows, x.next...)
	// Both are merged from the end, where the room for the rest is.
	for at := len(x.rows) - 1; len(x.next) > 0; at-- {
		last := len(x.next) - 1
		if old > 0 && compare(&x.rows[old-1], &x.next[last]) > 0 {
			old--
			x.rows[at] = x.rows[old]
		} else {
			x.rows[at] = x.next[last]
			x.next = x.next[:last]
		}
	}
	if len(x.rows) > x.room {
		x.rows = x.rows[:x.room]
		x.more = true
	}
}

// part returns the legs of a ticket that the report's company runs (decision reports.rows); nil where it runs
// none.
func part(r *Report, t *booking.Ticket) []booking.Leg {
	legs := t.Itinerary()
	runs := func(l booking.Leg) bool {
		return l.Run.Form.Company.ID == r.Company
	}
	first := slices.IndexFunc(legs, runs)
	if first < 0 {
		return nil
	}
	end := first + 1
	for end < len(legs) && runs(legs[end]) {
		end++
	}
	return legs[first:end]
}

// departure is when a part starts.
func departure(legs []booking.Leg) time.Time {
	return legs[0].Run.Dep(legs[0].From)
}
