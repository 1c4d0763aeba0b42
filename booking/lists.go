package booking

import (
	"math"
	"slices"
	"sort"
	"time"

	"waybill/booking/ids"
	"waybill/booking/tally"
	"waybill/schedule"
)

// listKey names a list: a partner's bookings that leave on a UTC day, or all of them, with how many tickets
// each has. Pages of tickets are found without going through what comes before them.
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

// relist puts a booking on its lists as it is now; was is how it was, nil for a new one.
func (s Recorder) relist(was, now *Booking) {
	var roomBefore, roomAfter [2]listKey
	before := roomBefore[:0]
	if was != nil {
		before = was.appendListKeys(before)
	}
	after := now.appendListKeys(roomAfter[:0])
	for _, key := range before {
		if slices.Contains(after, key) {
			l := s.lists[key]
			l.Counts.Add(l.Position(now.number), len(now.Tickets)-len(was.Tickets))
		} else if l := s.lists[key]; l.Remove(was.number) {
			delete(s.lists, key)
		}
	}
	for _, key := range after {
		if slices.Contains(before, key) {
			continue
		}
		l := s.lists[key]
		if l == nil {
			l = new(tally.List)
			s.lists[key] = l
		}
		l.Insert(now.number, len(now.Tickets))
	}
}

// List returns a page of a partner's bookings, all or those that leave on a UTC day, newest first, and their
// number.
func (s *State) List(partner ids.ID, day *schedule.Day, skip, take int) (page []*Booking, total int) {
	numbers := s.listed(partner, day).Numbers
	for i := len(numbers) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.at(numbers[i]))
	}
	return page, len(numbers)
}

// listed returns the list of a partner, of a day or of all.
func (s *State) listed(partner ids.ID, day *schedule.Day) *tally.List {
	key := listKey{partner, anyDay}
	if day != nil {
		key.day = *day
	}
	if l := s.lists[key]; l != nil {
		return l
	}
	return new(tally.List)
}

// Order is a ticket and the booking it is in.
type Order struct {
	Booking *Booking
	Ticket  *Ticket
}

// Orders returns a page of a partner's tickets, those of the newest booking first, and how many there are.
// day keeps those of bookings that leave on that UTC calendar day, created those of bookings made on that.
func (s *State) Orders(partner ids.ID, day, created *schedule.Day, skip, take int) (page []Order, total int) {
	l := s.listed(partner, day)
	first := 0
	end := len(l.Numbers)
	if created != nil { // bookings are numbered as they are made
		first = s.madeBy(l, *created)
		end = s.madeBy(l, *created+1)
	}
	last := l.Counts.Before(end)
	total = last - l.Counts.Before(first)
	if skip >= total {
		return nil, total
	}
	at := l.Counts.Find(last - 1 - skip)
	skip -= last - l.Counts.Before(at+1) // of this booking's tickets
	for ; at >= first && len(page) < take; at-- {
		b := s.at(l.Numbers[at])
		for i := skip; i < len(b.Tickets) && len(page) < take; i++ {
			page = append(page, Order{b, &b.Tickets[i]})
		}
		skip = 0
	}
	return page, total
}

// madeBy returns how many bookings of a list were made before a day (UTC).
func (s *State) madeBy(l *tally.List, day schedule.Day) int {
	start := day.In(time.UTC).UnixMilli()
	return sort.Search(len(l.Numbers), func(i int) bool {
		return s.at(l.Numbers[i]).Created >= start
	})
}
