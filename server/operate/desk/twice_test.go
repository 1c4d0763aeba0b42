package desk_test

import "testing"

// Decision desk.twice: a time of the hour that comes twice is shown with its offset, and runs stand in the
// order in which they leave; other times of that day have none.
func TestTheHourThatComesTwiceHasItsOffset(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.enter()
	o.importBuses(map[string]string{"k": "Kyiv Lines"}, []bus{
		{"b-first", "k", "Kyiv", "Lviv", "02:30:00", "03:45:00"}, // at noon it is 12:00
		{"a-second", "k", "Kyiv", "Lviv", "03:30:00", "05:00:00"},
		{"before", "k", "Kyiv", "Lviv", "01:30:00", "05:00:00"},
	})
	o.lists("/runs?date=2026-10-25",
		"before Sun 25 Oct 02:30 has arrived",
		"b-first Sun 25 Oct 03:30 +03:00 has arrived",
		"a-second Sun 25 Oct 03:30 +02:00 has arrived",
	)
	o.lists("/runs?date=2026-10-24",
		"before Sat 24 Oct 01:30 has arrived",
		"b-first Sat 24 Oct 02:30 has arrived",
		"a-second Sat 24 Oct 03:30 has arrived")
	const stop = `<td data-label="Leaves">03:30 +03:00</td>`
	o.see("/run?trip=b-first&date=2026-10-25", ">Sun 25 Oct 03:30 +03:00</time>, Europe/Kyiv time", stop,
		">Sun 25 Oct 03:45 +02:00</time> by the clock there")
	o.see("/waybill?trip=a-second&date=2026-10-25", "03:30 +02:00")
}
