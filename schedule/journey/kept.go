package journey

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"

	"waybill/schedule"
)

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

	most int // rows

	mu    sync.Mutex
	kept  map[period]*list.Element // of keptDays
	asked list.List                // the same, what was asked for last first
	rows  int
}

// period names so many days in a row of the journeys between two cities. A search asks for some days in a
// row, so that it finds them with one or two names.
type period struct {
	from, to int32
	number   schedule.Day // of the first day, divided by periodDays
	changes  int
}

const periodDays = 16

// keptDays are those of a period; nil are not kept.
type keptDays struct {
	period
	list [periodDays]*Day
	rows int
}

// Day has the journeys between two cities that leave on a day. It does not change, but for what is kept with
// it.
type Day struct {
	list   []Departure    // in order
	hiding Journey        // leaves after the day, and makes others of it pointless; nil is none
	full   []schedule.Leg // rides that it was found without: these, and those that the day before it was

	without atomic.Pointer[Day] // what was found last without rides of this one that were full
}

// noDay is every day without a journey.
var noDay Day

// Departure is a journey that is kept, with room for the text that a caller makes for it.
type Departure struct {
	Legs  Journey
	Text  atomic.Pointer[Text]
	Shown atomic.Bool // once before
}

// Text is what a schedule shows of a journey, as package server/api/search writes it.
type Text struct {
	Currency string
	Language schedule.Language
	payload  int    // bytes
	text     []byte // the payload, and the row
}

// NewText keeps the payload of an offer's token, whose expiry is to be filled in each time, and the members
// of a row that stay as they are.
func NewText(currency string, language schedule.Language, payload, row []byte) *Text {
	text := make([]byte, 0, len(payload)+len(row))
	return &Text{
		Currency: currency,
		Language: language,
		payload:  len(payload),
		text:     append(append(text, payload...), row...),
	}
}

// Token returns the payload that is kept. It is not to be changed.
func (x *Text) Token() []byte { return x.text[:x.payload:x.payload] }

// Row returns the members that are kept. They are not to be changed.
func (x *Text) Row() []byte { return x.text[x.payload:] }

// Keep returns a Kept that has found nothing yet. It keeps so many rows at most: a journey is one, with the
// text that a caller makes for it, and so is a day.
func Keep(f Finder, most int) *Kept {
	return &Kept{
		Finder: f,
		most:   most,
		kept:   map[period]*list.Element{},
	}
}

// newDay makes a day of findings, in memory of its own.
func (f Finder) newDay(x *findings) *Day {
	if len(x.direct)+len(x.changed) == 0 && x.hiding == nil {
		return &noDay
	}
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

// Seats returns how many seats are free for a ride. Where there are more than enough, it may return any
// number from enough to that.
type Seats func(ride *schedule.Leg, enough int) int

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
	if q.From == q.To || !k.connected(q) {
		return x
	}
	for x.q.Days > 0 && (x.q.First+1).In(k.CityZone(q.From)).Unix() <= x.q.After {
		x.q.First++ // all of the day has left
		x.q.Days--
	}
	x.days = make([]*Day, max(0, x.q.Days))
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

// get fills in the days of a search that are kept.
func (k *Kept) get(x *Look) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var of *keptDays
	for i := range x.days {
		name, at := x.period(i)
		if i == 0 || at == 0 {
			of = k.find(name)
		}
		if of != nil {
			x.days[i] = of.list[at]
		}
	}
}

// period returns where a day of the search is kept.
func (x *Look) period(i int) (name period, at int) {
	on := x.q.First + schedule.Day(i)
	rest := (on%periodDays + periodDays) % periodDays // of days before 1970, too
	return period{x.q.From, x.q.To, (on - rest) / periodDays, x.q.Changes}, int(rest)
}

// find returns the days of a period, nil where none is kept. The lock is held.
func (k *Kept) find(name period) *keptDays {
	e := k.kept[name]
	if e == nil {
		return nil
	}
	k.asked.MoveToFront(e)
	return e.Value.(*keptDays)
}

// put keeps days of a search.
func (k *Kept) put(x *Look, from, to int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i := from; i < to; i++ {
		name, at := x.period(i)
		of := k.find(name)
		if of == nil {
			of = &keptDays{period: name}
			k.kept[name] = k.asked.PushFront(of)
		}
		of.list[at] = x.days[i]
		if i == to-1 || at == periodDays-1 {
			k.count(of)
		}
	}
}

// recount counts what is kept of a day of a search anew.
func (k *Kept) recount(x *Look, i int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name, _ := x.period(i)
	if of := k.find(name); of != nil {
		k.count(of)
	}
}

// count counts the rows of a period anew. Where there are more than are to be kept, it forgets the periods
// that nobody has asked for longest. The lock is held.
func (k *Kept) count(of *keptDays) {
	k.rows -= of.rows
	of.rows = 0
	for _, day := range of.list {
		for ; day != nil; day = day.without.Load() {
			of.rows += 1 + len(day.list)
		}
	}
	k.rows += of.rows
	for k.rows > k.most {
		last := k.asked.Remove(k.asked.Back()).(*keptDays)
		delete(k.kept, last.period)
		k.rows -= last.rows
	}
}

// Ask counts the journeys that have seats enough, and takes a page of them. It reports whether rides that are
// full may have hidden others, so that Again is to be called, and then Ask again.
func (x *Look) Ask(seats Seats, skip, take int) (again bool) {
	x.Page = make([]Found, 0, min(take, x.rows()))
	x.Total = 0
	x.full = nil
	for i, day := range x.days {
		if day.hiding != nil {
			x.ask(i, day.hiding, seats, x.passengers)
		}
		for n := range day.list {
			d := &day.list[n]
			if d.Legs.Dep() <= x.q.After {
				continue
			}
			shown := x.Total >= skip && len(x.Page) < take
			enough := x.passengers
			if shown {
				enough = schedule.MaxSeats
			}
			left := x.ask(i, d.Legs, seats, enough)
			if left < x.passengers {
				continue
			}
			if shown {
				x.Page = append(x.Page, Found{d, left})
			}
			x.Total++
		}
	}
	return x.full != nil
}

// rows returns how many journeys were found.
func (x *Look) rows() (n int) {
	for _, day := range x.days {
		n += len(day.list)
	}
	return n
}

// ask returns the seats of a journey, or as many as are enough, and remembers which of its rides are full.
func (x *Look) ask(day int, j Journey, seats Seats, enough int) int {
	least := schedule.MaxSeats
	for i := range j {
		left := seats(&j[i], enough)
		if left < x.passengers && x.q.Changes > 0 {
			x.leave(day, j[i])
		}
		least = min(least, left)
	}
	return least
}

// leave remembers that a ride is full.
func (x *Look) leave(day int, l schedule.Leg) {
	if x.full == nil {
		x.full = make([][]schedule.Leg, len(x.days))
	}
	if !slices.Contains(x.full[day], l) {
		x.full[day] = append(x.full[day], l)
	}
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
			x.kept.recount(x, i)
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
	found := x.kept.days(&q, q.First+schedule.Day(i), 1)[0]
	day := &Day{ // of its own: days without journeys are one
		list:   found.list,
		hiding: found.hiding,
		full:   full,
	}
	return day
}
