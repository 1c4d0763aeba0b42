package booking

import (
	"math"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// listKey names a list: the numbers of a partner's bookings that leave on a UTC day, or of all of them.
type listKey struct {
	partner ids.ID
	day     schedule.Day
}

const anyDay schedule.Day = math.MinInt32

// appendListKeys appends the lists that a booking is on; none without tickets.
func (b *Booking) appendListKeys(list []listKey) []listKey {
	if len(b.Tickets) == 0 {
		return list
	}
	return append(list, listKey{b.Partner, anyDay}, listKey{b.Partner, schedule.DayOf(b.Departure())})
}

// relist puts a booking on its lists as it is now; was is how it was, nil for a new one. Whoever reads a list
// without the lock has its numbers: what is taken out, or comes anywhere but at the end, makes a new one.
func (s Recorder) relist(was, now *Booking) {
	var roomBefore, roomAfter [2]listKey
	before := roomBefore[:0]
	if was != nil {
		before = was.appendListKeys(before)
	}
	after := now.appendListKeys(roomAfter[:0])
	for _, key := range before {
		if slices.Contains(after, key) {
			continue
		}
		l := s.lists[key]
		at, _ := slices.BinarySearch(l, now.number)
		s.lists[key] = slices.Concat(l[:at], l[at+1:])
		if len(s.lists[key]) == 0 {
			delete(s.lists, key)
		}
	}
	for _, key := range after {
		if slices.Contains(before, key) {
			continue
		}
		l := s.lists[key]
		if len(l) == 0 || l[len(l)-1] < now.number { // as almost always
			s.lists[key] = append(l, now.number)
			continue
		}
		at, _ := slices.BinarySearch(l, now.number)
		s.lists[key] = slices.Concat(l[:at], []uint32{now.number}, l[at:])
	}
}

// listed returns the numbers of a partner's bookings, of those that leave on a UTC day or of all.
func (s *State) listed(partner ids.ID, day *schedule.Day) []uint32 {
	key := listKey{partner, anyDay}
	if day != nil {
		key.day = *day
	}
	return s.lists[key]
}

// List returns a page of a partner's bookings, all or those that leave on a UTC day, newest first, and their
// number.
func (s *State) List(partner ids.ID, day *schedule.Day, skip, take int) (page []*Booking, total int) {
	numbers := s.listed(partner, day)
	for i := len(numbers) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.at(numbers[i]))
	}
	return page, len(numbers)
}

// Order is a ticket and the booking it is in.
type Order struct {
	Booking *Booking
	Ticket  *Ticket
}

// Orders are a partner's tickets as they were at an instant, to be read without the lock.
type Orders struct {
	frozen  Frozen
	numbers []uint32
	created *schedule.Day
}

// Orders returns the tickets of a partner. day keeps those of bookings that leave on that UTC calendar day,
// created those of bookings made on that.
func (s *State) Orders(partner ids.ID, day, created *schedule.Day) Orders {
	return Orders{s.Freeze(), s.listed(partner, day), created}
}

// Page returns a page of the tickets, those of the newest booking first, and how many there are in all.
func (o *Orders) Page(skip, take int) (page []Order, total int) {
	for _, number := range slices.Backward(o.numbers) {
		created, tickets := packedCounts(o.frozen.packed.At(int(number)))
		if o.created != nil && schedule.DayOf(time.UnixMilli(created).UTC()) != *o.created {
			continue
		}
		total += tickets
		if skip < tickets && len(page) < take {
			b := o.frozen.At(int(number))
			for i := skip; i < tickets && len(page) < take; i++ {
				page = append(page, Order{b, &b.Tickets[i]})
			}
		}
		skip = max(0, skip-tickets)
	}
	return page, total
}
