package booking

import (
	"math"
	"slices"
	"sort"
	"time"

	"waybill/booking/tally"
	"waybill/schedule"
)

// listKey names a list: a partner's bookings that leave on a UTC day, or all of them.
type listKey struct {
	partner ID
	day     schedule.Day
}

const anyDay schedule.Day = math.MinInt32

// list is bookings in the order they were made, and how many tickets each has. Pages of tickets are found
// without going through what comes before them.
type list struct {
	numbers []uint32    // of the bookings, rising
	tickets tally.Tally // by position
}

// listKeys are the lists that a booking is on; none without tickets.
func (b *Booking) listKeys() []listKey {
	if len(b.Tickets) == 0 {
		return nil
	}
	return []listKey{{b.Partner, anyDay}, {b.Partner, schedule.DayOf(b.Departure())}}
}

// relist puts a booking on its lists as it is now; was is how it was, nil for a new one.
func (s *State) relist(was, now *Booking) {
	var before []listKey
	if was != nil {
		before = was.listKeys()
	}
	after := now.listKeys()
	for _, key := range before {
		if slices.Contains(after, key) {
			s.lists[key].change(was, now)
		} else if l := s.lists[key]; l.remove(was) {
			delete(s.lists, key)
		}
	}
	for _, key := range after {
		if slices.Contains(before, key) {
			continue
		}
		if s.lists[key] == nil {
			s.lists[key] = new(list)
		}
		s.lists[key].insert(now)
	}
}

func (l *list) position(b *Booking) int {
	at, _ := slices.BinarySearch(l.numbers, b.number)
	return at
}

// insert puts a booking in its place, which is almost always the end.
func (l *list) insert(b *Booking) {
	at := l.position(b)
	if at == len(l.numbers) {
		l.numbers = append(l.numbers, b.number)
		l.tickets = l.tickets.Push(len(b.Tickets))
		return
	}
	counts := slices.Insert(l.tickets.Counts(), at, len(b.Tickets))
	l.numbers = slices.Insert(l.numbers, at, b.number)
	l.tickets = tally.Of(counts)
}

// remove takes a booking off, and reports whether it was the last.
func (l *list) remove(b *Booking) (empty bool) {
	at := l.position(b)
	counts := slices.Delete(l.tickets.Counts(), at, at+1)
	l.numbers = slices.Delete(l.numbers, at, at+1)
	l.tickets = tally.Of(counts)
	return len(l.numbers) == 0
}

// change notes how many tickets a booking has now.
func (l *list) change(was, now *Booking) {
	l.tickets.Add(l.position(now), len(now.Tickets)-len(was.Tickets))
}

// List returns a page of a partner's bookings, all or those that leave on a UTC day, newest first, and their
// number.
func (s *State) List(partner ID, day *schedule.Day, skip, take int) (page []*Booking, total int) {
	numbers := s.listed(partner, day).numbers
	for i := len(numbers) - 1 - skip; i >= 0 && len(page) < take; i-- {
		page = append(page, s.bookings[numbers[i]])
	}
	return page, len(numbers)
}

// listed returns the list of a partner, of a day or of all.
func (s *State) listed(partner ID, day *schedule.Day) *list {
	key := listKey{partner, anyDay}
	if day != nil {
		key.day = *day
	}
	if l := s.lists[key]; l != nil {
		return l
	}
	return new(list)
}

// Order is a ticket and the booking it is in.
type Order struct {
	Booking *Booking
	Ticket  *Ticket
}

// Orders returns a page of a partner's tickets, those of the newest booking first, and how many there are.
// day keeps those of bookings that leave on that UTC calendar day, created those of bookings made on that.
func (s *State) Orders(partner ID, day, created *schedule.Day, skip, take int) (page []Order, total int) {
	l := s.listed(partner, day)
	first := 0
	end := len(l.numbers)
	if created != nil { // bookings are numbered as they are made
		first = s.madeBy(l, *created)
		end = s.madeBy(l, *created+1)
	}
	last := l.tickets.Before(end)
	total = last - l.tickets.Before(first)
	if skip >= total {
		return nil, total
	}
	at := l.tickets.Find(last - 1 - skip)
	skip -= last - l.tickets.Before(at+1) // of this booking's tickets
	for ; at >= first && len(page) < take; at-- {
		b := s.bookings[l.numbers[at]]
		for i := skip; i < len(b.Tickets) && len(page) < take; i++ {
			page = append(page, Order{b, &b.Tickets[i]})
		}
		skip = 0
	}
	return page, total
}

// madeBy returns how many bookings of a list were made before a day (UTC).
func (s *State) madeBy(l *list, day schedule.Day) int {
	start := day.In(time.UTC).UnixMilli()
	return sort.Search(len(l.numbers), func(i int) bool {
		return s.bookings[l.numbers[i]].Created >= start
	})
}
