package journey

import (
	"slices"
	"sync"
	"sync/atomic"

	"waybill/schedule"
)

// keptRows is how many journeys are kept at least before the first of them are forgotten, and half of how many
// there are at most. Each takes about 0.5 KB with its text.
const keptRows = 1 << 15

// Kept finds journeys in a timetable, and keeps what it has found, by day. It knows no seats: they are asked
// of its caller, each time. What is kept holds for one timetable with one set of changes of runs.
//
//	look := kept.Look(&q, passengers)
//	for look.Ask(seats, skip, take) {
//		look.Again()
//	}
//	page := look.Page
type Kept struct {
	Finder

	mu    sync.Mutex
	young map[daily]*Day // kept, or asked for, since the others were
	old   map[daily]*Day
	rows  int // in young, about
}

// daily names the journeys between two cities that leave on a day.
type daily struct {
	from, to int32
	on       schedule.Day
	changes  int
}

// Day has the journeys between two cities that leave on a day. It does not change, but for what is kept with
// it.
type Day struct {
	list   []Departure    // in order
	hiding Journey        // leaves after the day, and makes others of it pointless; nil is none
	full   []schedule.Leg // rides that it was found without: these, and those that the day before it was

	without atomic.Pointer[Day] // what was found last without rides of this one that were full
}

// Departure is a journey that is kept, with room for what a caller has made of it.
type Departure struct {
	Legs Journey
	Text atomic.Pointer[Text]
}

// Text is what a schedule shows of a journey, as package server/api/search writes it.
type Text struct {
	Currency string
	Language schedule.Language
	Row      []byte // the members that stay as they are
	Token    []byte // the payload of an offer's token, whose expiry is to be filled in
}

// Keep returns a Kept that has found nothing yet.
func Keep(f Finder) *Kept {
	return &Kept{
		Finder: f,
		young:  map[daily]*Day{},
	}
}

// newDay makes a day of findings, in memory of its own.
func (f Finder) newDay(x *findings) *Day {
	legs := make([]schedule.Leg, 0, len(x.direct)+2*len(x.changed))
	day := &Day{
		list:   make([]Departure, len(x.direct)+len(x.changed)),
		hiding: slices.Clone(x.hiding),
	}
	direct := x.direct
	changed := x.changed
	for i := range day.list {
		start := len(legs)
		last := len(changed) - 1
		if last < 0 || len(direct) > 0 && f.compare(Journey(direct[:1]), changed[last]) < 0 {
			legs = append(legs, direct[0])
			direct = direct[1:]
		} else {
			legs = append(legs, changed[last]...)
			changed = changed[:last]
		}
		day.list[i].Legs = Journey(legs[start:len(legs):len(legs)])
	}
	return day
}

// Seats returns how many seats are free for a ride.
type Seats func(*schedule.Leg) int

// Look is a search for journeys that have seats for some passengers. A ride without enough of them is not
// there, which may bring forth journeys that it has hidden: these are searched for in turn.
type Look struct {
	Page  []Found // what was asked for of the journeys, in order
	Total int     // how many journeys there are

	kept       *Kept
	q          Query
	passengers int
	days       []*Day
	full       [][]schedule.Leg // by day: the rides that are full and may hide others
}

// Found is a journey with the seats that are left on it.
type Found struct {
	*Departure
	Seats int
}

// Look begins a search. The query names no rides that are full.
func (k *Kept) Look(q *Query, passengers int) *Look {
	x := &Look{
		kept:       k,
		q:          *q,
		passengers: passengers,
	}
	if q.From == q.To {
		return x
	}
	for x.q.Days > 0 && (x.q.First+1).In(k.CityZone(q.From)).Unix() <= x.q.After {
		x.q.First++ // all of the day has left
		x.q.Days--
	}
	x.days = make([]*Day, max(0, x.q.Days))
	x.full = make([][]schedule.Leg, len(x.days))
	keeps := q.Companies == nil
	if keeps {
		k.get(x)
	}
	for from := 0; from < len(x.days); from++ {
		if x.days[from] != nil {
			continue
		}
		to := from
		for to < len(x.days) && x.days[to] == nil {
			to++
		}
		copy(x.days[from:], k.days(&x.q, x.q.First+schedule.Day(from), to-from))
		if keeps {
			k.put(x, from, to)
		}
	}
	return x
}

// daily returns the name of a day of the search.
func (x *Look) daily(i int) daily {
	return daily{x.q.From, x.q.To, x.q.First + schedule.Day(i), x.q.Changes}
}

// get fills in the days of a search that are kept.
func (k *Kept) get(x *Look) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := range x.days {
		name := x.daily(i)
		day := k.young[name]
		if day == nil {
			if day = k.old[name]; day != nil {
				k.add(name, day)
			}
		}
		x.days[i] = day
	}
}

// put keeps days of a search.
func (k *Kept) put(x *Look, from, to int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := from; i < to; i++ {
		k.add(x.daily(i), x.days[i])
	}
}

// add keeps a day. It forgets those that were not asked for since as many others were. The lock is held.
func (k *Kept) add(name daily, day *Day) {
	k.young[name] = day
	k.grow(day)
}

// grow counts the rows of a day that is kept. A day without any takes room, too. The lock is held.
func (k *Kept) grow(day *Day) {
	k.rows += 1 + len(day.list)
	if k.rows >= keptRows {
		k.old = k.young
		k.young = map[daily]*Day{}
		k.rows = 0
	}
}

// Ask counts the journeys that have seats enough, and takes a page of them. It reports whether rides that are
// full may have hidden others, so that Again is to be called, and then Ask again.
func (x *Look) Ask(seats Seats, skip, take int) (again bool) {
	x.Page = x.Page[:0]
	x.Total = 0
	for i, day := range x.days {
		x.full[i] = x.full[i][:0]
		if day.hiding != nil {
			x.ask(i, day.hiding, seats)
		}
		for n := range day.list {
			d := &day.list[n]
			if d.Legs.Dep() <= x.q.After {
				continue
			}
			left := x.ask(i, d.Legs, seats)
			if left < x.passengers {
				continue
			}
			if x.Total >= skip && len(x.Page) < take {
				x.Page = append(x.Page, Found{d, left})
			}
			x.Total++
		}
		again = again || len(x.full[i]) > 0 && x.q.Changes > 0
	}
	return again
}

// ask returns the seats of a journey, and remembers which of its rides are full.
func (x *Look) ask(day int, j Journey, seats Seats) int {
	least := schedule.MaxSeats
	for i := range j {
		left := seats(&j[i])
		if left < x.passengers && !slices.Contains(x.full[day], j[i]) {
			x.full[day] = append(x.full[day], j[i])
		}
		least = min(least, left)
	}
	return least
}

// Again searches the days anew on which Ask has found rides that are full, without these. Each time there is
// at least one ride less.
func (x *Look) Again() {
	for i, day := range x.days {
		if len(x.full[i]) == 0 {
			continue
		}
		next := day.without.Load()
		if next == nil || !slices.Equal(next.full[len(day.full):], x.full[i]) {
			next = x.without(i)
			day.without.Store(next)
		}
		x.days[i] = next
	}
}

// without searches one day anew.
func (x *Look) without(i int) *Day {
	full := slices.Concat(x.days[i].full, x.full[i])
	q := x.q
	q.Full = make(map[schedule.Leg]bool, len(full))
	for _, l := range full {
		q.Full[l] = true
	}
	day := x.kept.days(&q, q.First+schedule.Day(i), 1)[0]
	day.full = full
	if q.Companies == nil {
		x.kept.mu.Lock()
		x.kept.grow(day)
		x.kept.mu.Unlock()
	}
	return day
}
