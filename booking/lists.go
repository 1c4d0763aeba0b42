package booking

import (
	"math"
	"slices"
	"sort"
	"time"

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
	numbers []uint32 // of the bookings, rising
	tickets tally    // by position
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
		l.tickets = l.tickets.push(len(b.Tickets))
		return
	}
	counts := slices.Insert(l.tickets.counts(), at, len(b.Tickets))
	l.numbers = slices.Insert(l.numbers, at, b.number)
	l.tickets = tallyOf(counts)
}

// remove takes a booking off, and reports whether it was the last.
func (l *list) remove(b *Booking) (empty bool) {
	at := l.position(b)
	counts := slices.Delete(l.tickets.counts(), at, at+1)
	l.numbers = slices.Delete(l.numbers, at, at+1)
	l.tickets = tallyOf(counts)
	return len(l.numbers) == 0
}

// change notes how many tickets a booking has now.
func (l *list) change(was, now *Booking) {
	l.tickets.add(l.position(now), len(now.Tickets)-len(was.Tickets))
}

// A tally is numbers, and the sums of those before any of them, in a number of steps that is the logarithm
// of how many there are (a Fenwick tree). The element i holds the sum of the numbers from i+1-lowest(i+1)
// to i.
type tally []uint32

// lowest returns the lowest bit of i that is set.
func lowest(i int) int { return i & -i }

func tallyOf(counts []int) tally {
	t := make(tally, 0, len(counts))
	for _, n := range counts {
		t = t.push(n)
	}
	return t
}

// push adds a number at the end.
func (t tally) push(n int) tally {
	i := len(t) + 1
	sum := uint32(n)
	for j := i - 1; j > i-lowest(i); j -= lowest(j) {
		sum += t[j-1]
	}
	return append(t, sum)
}

// add changes the number at a position.
func (t tally) add(position, by int) {
	for i := position + 1; i <= len(t); i += lowest(i) {
		t[i-1] += uint32(by)
	}
}

// before returns the sum of the numbers before a position.
func (t tally) before(position int) (sum int) {
	for i := position; i > 0; i -= lowest(i) {
		sum += int(t[i-1])
	}
	return sum
}

// find returns the position of the number in which the x-th unit lies, counted from 0.
func (t tally) find(x int) (position int) {
	step := 1
	for step*2 <= len(t) {
		step *= 2
	}
	for ; step > 0; step /= 2 {
		next := position + step
		if next <= len(t) && int(t[next-1]) <= x {
			position = next
			x -= int(t[next-1])
		}
	}
	return position
}

// counts returns the numbers.
func (t tally) counts() []int {
	list := make([]int, len(t))
	for i := range t {
		list[i] = t.before(i+1) - t.before(i)
	}
	return list
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
	last := l.tickets.before(end)
	total = last - l.tickets.before(first)
	if skip >= total {
		return nil, total
	}
	at := l.tickets.find(last - 1 - skip)
	skip -= last - l.tickets.before(at+1) // of this booking's tickets
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
