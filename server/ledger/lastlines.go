package ledger

import (
	"waybill/booking"
	"waybill/schedule/ids"
)

// A reader is shown what is durable. What is read often names the last line that it rests on, and waits for
// that line alone (decision keep.answers). All else waits for every line. Lines that a replay has applied are
// durable already, so a snapshot has none of these numbers.

// lastLines has the last lines of what is read.
type lastLines struct {
	all    uint64 // set the clock, or erased persons, who may be shown anywhere
	offers uint64 // changed the timetable, a run, a partner or a key; see kind.offers
}

// BookingLine returns the last line that a reading of a booking rests on.
func (s State) BookingLine(b *booking.Booking) uint64 {
	line := max(b.Line, s.inner.lastLines.all)
	if f := s.inner.feeds[b.Partner]; f != nil {
		line = max(line, f.keyLine)
	}
	return line
}

// PartnerLine returns the last line that a list of a partner's bookings, or its events, rests on.
func (s State) PartnerLine(partner ids.ID) uint64 {
	line := s.inner.lastLines.all
	if f := s.inner.feeds[partner]; f != nil {
		line = max(line, f.line, f.keyLine)
	}
	return line
}

// OffersLine returns the last line that a search rests on, beside those of the runs that it looks at.
func (s State) OffersLine() uint64 {
	return max(s.inner.lastLines.offers, s.inner.lastLines.all)
}
