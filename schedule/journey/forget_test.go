package journey

import (
	"slices"
	"testing"

	"waybill/schedule"
)

// What is kept has a limit: the days that nobody has asked for longest go first, with what was found where
// rides of theirs were full.
func TestTheDaysAskedForLeastRecentlyAreForgotten(t *testing.T) {
	const perDay = 9
	k := Keep(Finder{}, 10*(1+perDay))
	search := func(n int) *Look {
		x := &Look{
			kept: k,
			q:    Query{First: schedule.Day(n * periodDays)},
			days: make([]*Day, 1),
		}
		k.get(x)
		return x
	}
	keep := func(n, rows int) {
		x := search(n)
		if x.days[0] == nil {
			x.days[0] = &Day{list: make([]Departure, rows)}
			k.put(x, 0, 1)
		}
	}
	want := func(what string, rows int, list ...int) {
		t.Helper()
		var kept []int
		for i := range 20 {
			if k.kept[period{number: schedule.Day(i)}] != nil {
				kept = append(kept, i)
			}
		}
		if !slices.Equal(kept, list) || k.rows != rows || k.asked.Len() != len(list) {
			t.Errorf("%s: %d rows of %v, want %d of %v", what, k.rows, kept, rows, list)
		}
	}
	for i := range 10 {
		keep(i, perDay)
	}
	want("as many as are kept", 100, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	search(0)
	search(3)
	keep(10, perDay)
	want("one more", 100, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10)

	full := search(10)
	full.days[0].without.Store(&Day{list: make([]Departure, perDay)})
	k.recount(full, 0)
	want("without rides that are full", 100, 0, 3, 4, 5, 6, 7, 8, 9, 10)
	full.days[0].without.Store(&Day{})
	k.recount(full, 0)
	want("without others", 91, 0, 3, 4, 5, 6, 7, 8, 9, 10)

	keep(11, 8*(1+perDay)-2)
	want("many at once", 100, 3, 10, 11)
	keep(12, 100)
	want("too many at once", 0)
}

// Days before 1970, whose numbers are below zero, are kept as others are, each in a place of its own.
func TestDaysBefore1970AreKept(t *testing.T) {
	k := Keep(Finder{}, 1000)
	search := func(on schedule.Day) *Look {
		x := &Look{kept: k, q: Query{First: on}, days: make([]*Day, 1)}
		k.get(x)
		return x
	}
	found := map[schedule.Day]*Day{}
	for on := schedule.Day(-40); on < 40; on++ {
		x := search(on)
		if x.days[0] != nil {
			t.Errorf("%s is kept before it was searched", on)
		}
		found[on] = &Day{}
		x.days[0] = found[on]
		k.put(x, 0, 1)
	}
	for on, day := range found {
		if search(on).days[0] != day {
			t.Errorf("%s is not what was kept of it", on)
		}
	}
}

// Miscounted returns how many rows too many are counted of what is kept.
func (k *Kept) Miscounted() int {
	too := k.rows
	for e := k.asked.Front(); e != nil; e = e.Next() {
		for _, day := range e.Value.(*keptDays).list {
			for ; day != nil; day = day.without.Load() {
				too -= 1 + len(day.list)
			}
		}
	}
	return too
}
