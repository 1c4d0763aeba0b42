package booking

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"waybill/schedule"
)

// Books are the figures of an audit.
type Books struct {
	bookings, tickets, runs int
	seats, sold, held       int                 // a seat is sold or held when it is so on any part of its run
	status                  map[string]int      // tickets
	money                   map[string][2]int64 // paid and refunded in minor units, by currency
}

// Audit checks the books at an instant: no seat is sold twice on overlapping parts of a run, what is sold, held and free
// makes up each bus, no refund is above what was paid, and every ticket is in exactly one booking.
func (s *State) Audit(tt *schedule.Timetable, now time.Time) (*Books, error) {
	b := &Books{status: map[string]int{}, money: map[string][2]int64{}}
	holds, sold := map[*seating][]hold{}, map[*seating][]hold{} // as the tickets have them
	for n, of := range s.bookings {
		if of == nil {
			continue
		}
		if b.bookings++; s.byID[of.ID] != uint32(n) {
			return b, fmt.Errorf("booking %s is there twice", of.ID)
		}
		for i := range of.Tickets {
			t := &of.Tickets[i]
			if known, ok := s.byTicket[t.ID]; !ok || known != uint32(n) {
				return b, fmt.Errorf("ticket %s is in booking %s, but is not found there", t.ID, of.ID)
			}
			status, _ := t.Status(now)
			b.status[status]++
			b.tickets++
			paid, money := int64(0), b.money[string(t.Currency[:])]
			if t.Phase == Paid || t.Was == Paid {
				paid = t.Price()
			}
			if t.Refund < 0 || t.Refund > paid || t.Phase == Refunded && t.Was != Paid {
				return b, fmt.Errorf("ticket %s was refunded %d of %d paid", t.ID, t.Refund, paid)
			}
			b.money[string(t.Currency[:])] = [2]int64{money[0] + paid, money[1] + t.Refund}
			for _, l := range t.Itinerary() {
				if !t.live(now) {
					continue
				}
				if err := l.check(t.ID, true, now); err != nil {
					return b, err
				}
				h := l.hold(t.ID, math.MaxInt64)
				if holds[l.Run.seats] = append(holds[l.Run.seats], h); t.Phase != Unpaid {
					sold[l.Run.seats] = append(sold[l.Run.seats], h)
				}
			}
		}
	}
	if b.tickets != len(s.byTicket) {
		return b, fmt.Errorf("%d tickets are in bookings, %d are known", b.tickets, len(s.byTicket))
	}
	for _, run := range s.order {
		if run.seats.sold[0] != run {
			continue // counted in the form it was sold in first
		}
		form, none := run.seats.present(tt), &seating{sold: run.seats.sold}
		end := int16(len(form.Stops) - 1)
		for at := range end {
			if !slices.Equal(run.seats.free(form, at, at+1, nil, now), none.free(form, at, at+1, holds[run.seats], now)) {
				return b, fmt.Errorf("trip %s on %s: the seats that are offered from its stop %d on are not those that no ticket has", form.Trip, run.Day, at+1)
			}
		}
		free, unsold := len(none.free(form, 0, end, holds[run.seats], now)), len(none.free(form, 0, end, sold[run.seats], now))
		b.runs, b.seats = b.runs+1, b.seats+int(form.Bus.Seats)
		b.sold, b.held = b.sold+int(form.Bus.Seats)-unsold, b.held+unsold-free
	}
	return b, nil
}

// String gives the figures in a line.
func (b *Books) String() string {
	s := fmt.Appendf(nil, "%d bookings, %d tickets", b.bookings, b.tickets)
	for _, status := range slices.Sorted(maps.Keys(b.status)) {
		s = fmt.Appendf(s, ", %d %s", b.status[status], status)
	}
	s = fmt.Appendf(s, "; %d runs with %d seats, %d sold, %d held, %d free", b.runs, b.seats, b.sold, b.held, b.seats-b.sold-b.held)
	for _, c := range slices.Sorted(maps.Keys(b.money)) {
		m := b.money[c]
		s = fmt.Appendf(s, "; %s %d.%02d paid, %d.%02d refunded", c, m[0]/100, m[0]%100, m[1]/100, m[1]%100)
	}
	return string(s)
}
