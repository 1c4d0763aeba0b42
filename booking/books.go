package booking

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Books are the figures of an audit.
type Books struct {
	Bookings, Tickets, Runs int
	Changes                 int // tickets with a change: each has two seats
	// A seat is sold or held when it is so on any part of its run.
	Seats, Sold, Held, Free int
	Status                  map[string]int      // tickets
	Money                   map[string][2]int64 // paid and refunded in minor units, by currency
	Surplus                 Surplus

	Canceled, Moved int // runs, by their carriers
	Left            int // tickets that live on runs that are cancelled, until the next start
}

// New returns books of nothing.
func New() *Books {
	return &Books{
		Status: map[string]int{},
		Money:  map[string][2]int64{},
	}
}

// MarshalJSON writes the figures, amounts in minor units. over and shared count the surplus.
func (b *Books) MarshalJSON() ([]byte, error) {
	type money struct {
		Paid     int64 `json:"paid"`
		Refunded int64 `json:"refunded"`
	}
	moved := map[string]money{}
	for currency, m := range b.Money {
		moved[currency] = money{m[0], m[1]}
	}
	return json.Marshal(struct {
		Bookings  int              `json:"bookings"`
		Tickets   int              `json:"tickets"`
		Status    map[string]int   `json:"status"`
		Runs      int              `json:"runs"`
		Seats     int              `json:"seats"`
		Sold      int              `json:"sold"`
		Held      int              `json:"held"`
		Free      int              `json:"free"`
		Money     map[string]money `json:"money"`
		Cancelled int              `json:"cancelled"`
		Moved     int              `json:"moved"`
		Left      int              `json:"left"`
		Over      int              `json:"over"`
		Shared    int              `json:"shared"`
	}{
		b.Bookings, b.Tickets, b.Status, b.Runs, b.Seats, b.Sold, b.Held, b.Free, moved, b.Canceled, b.Moved,
		b.Left, len(b.Surplus.Oversold), len(b.Surplus.Shared),
	})
}

// Add adds what was counted of other bookings.
func (b *Books) Add(other *Books) {
	b.Bookings += other.Bookings
	b.Tickets += other.Tickets
	b.Changes += other.Changes
	b.Left += other.Left
	for status, n := range other.Status {
		b.Status[status] += n
	}
	for currency, n := range other.Money {
		was := b.Money[currency]
		b.Money[currency] = [2]int64{was[0] + n[0], was[1] + n[1]}
	}
}

// Guarded does a part of an audit. A journal that somebody has forged can have what no code expects: that is
// an error, and not the end of the program.
func Guarded(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the books cannot be drawn up from these lines: %v", p)
		}
	}()
	do()
	return nil
}

// counted is a number of things in words: 1 run, 2 runs.
func counted[N int | int64](n N, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(int(n)) + " " + what
}

// Hundredths returns an amount of minor units, or a percentage, in whole ones.
func Hundredths(minor int64) string {
	sign, n := "", uint64(minor)
	if minor < 0 {
		sign, n = "-", -n // the least int has no positive one
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// String returns the figures in a line, without the surplus.
func (b *Books) String() string {
	s := []byte(counted(b.Bookings, "booking") + ", " + counted(b.Tickets, "ticket"))
	if b.Changes > 0 {
		s = fmt.Appendf(s, " on %s (%d with a change)", counted(b.Tickets+b.Changes, "seat"), b.Changes)
	}
	for _, status := range slices.Sorted(maps.Keys(b.Status)) {
		s = fmt.Appendf(s, ", %d %s", b.Status[status], status)
	}
	runs := counted(b.Runs, "run")
	seats := counted(b.Seats, "seat")
	s = fmt.Appendf(s, "; %s with %s, %d sold, %d held, %d free", runs, seats, b.Sold, b.Held, b.Free)
	for _, c := range slices.Sorted(maps.Keys(b.Money)) {
		m := b.Money[c]
		paid := Hundredths(m[0])
		refunded := Hundredths(m[1])
		s = fmt.Appendf(s, "; %s %s paid, %s refunded", c, paid, refunded)
	}
	if b.Canceled+b.Moved > 0 {
		s = fmt.Appendf(s, "; %s cancelled, %d moved", counted(b.Canceled, "run"), b.Moved)
	}
	if b.Left > 0 {
		s = fmt.Appendf(s, "; %s of cancelled runs still to be cancelled, which the next start does",
			counted(b.Left, "ticket"))
	}
	return string(s)
}
