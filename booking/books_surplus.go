package booking

import (
	"fmt"
	"slices"

	"waybill/schedule/ids"
)

// A Surplus is what the import of a timetable can bring about, though each sale was right: more passengers on
// a part of a run than its bus has seats, or two of them on the same seat (decision seats.surplus).
type Surplus struct {
	Oversold []Oversold
	Shared   []Shared
}

// Oversold is a run with more passengers than seats on one of its parts: its bus was replaced by a smaller
// one after they bought.
type Oversold struct {
	Run          ids.RunName
	Taken, Seats int // on the fullest part
}

// String says it in words.
func (x Oversold) String() string {
	return fmt.Sprintf("%s: %d seats are taken, its bus has %d", x.Run, x.Taken, x.Seats)
}

// Shared is a seat that two tickets have on the same part of a run: its stops changed after they were sold.
type Shared struct {
	Run     ids.RunName
	Seat    int16
	Tickets [2]ids.ID
}

// String says it in words.
func (x Shared) String() string {
	return fmt.Sprintf("%s: seat %d belongs to the tickets %s and %s on the same part of the run", x.Run, x.Seat,
		x.Tickets[0], x.Tickets[1])
}

// mostNamed is how many lines the surplus has in words at most, before the one that counts the others.
const mostNamed = 100

// Lines says the surplus in words, a line each, and after the first 100 how many more there are.
func (s *Surplus) Lines() (lines []string) {
	for _, x := range s.Oversold {
		lines = append(lines, x.String())
	}
	for _, x := range s.Shared {
		lines = append(lines, x.String())
	}
	if more := len(lines) - mostNamed; more > 0 {
		lines = append(lines[:mostNamed], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// Sort sorts each list by day, trip and seat. Seats that are shared by the same tickets come as they are.
func (s *Surplus) Sort() {
	slices.SortFunc(s.Oversold, func(a, b Oversold) int {
		return a.Run.Compare(b.Run)
	})
	slices.SortStableFunc(s.Shared, func(a, b Shared) int {
		if order := a.Run.Compare(b.Run); order != 0 {
			return order
		}
		return int(a.Seat) - int(b.Seat)
	})
}

// Withdrawn is a run that the timetable in force no longer has, with the number of its tickets that live.
type Withdrawn struct {
	Run     ids.RunName
	Tickets int
}
