package phase

import (
	"fmt"
	"slices"
	"testing"

	"waybill/schedule"
)

// What is done with a ticket leads where the interface's table "States and transitions" says, and all else is
// a conflict: each phase, each action, our own tickets and others'.
func TestAnActionLeadsWhereTheTableSays(t *testing.T) {
	phases := []Phase{Unpaid, Booked, Paid, Canceled, Refunded, Uncompleted}
	want := map[string]Phase{
		"0 pay":        Paid,
		"0 book":       Booked,
		"0 cancel":     Canceled,
		"0 run-cancel": Canceled,
		"5 pay":        Paid,
		"5 book":       Booked,
		"5 cancel":     Canceled,
		"1 pay":        Paid,
		"1 cancel":     Canceled,
		"1 run-cancel": Canceled,
		"2 cancel":     Canceled,
		"2 cancel own": Refunded,
		"2 run-cancel": Refunded,
	}
	for _, from := range phases {
		for _, action := range []Action{Pay, Book, Cancel, WithdrawRun} {
			for _, source := range []string{schedule.OwnSource, "Elsewhere"} {
				name := fmt.Sprint(slices.Index(phases, from), " ", action)
				to, allowed := want[name]
				if own, is := want[name+" own"]; is && source == schedule.OwnSource {
					to = own
				}
				name = fmt.Sprintf("%s of a ticket in phase %d of source %s", action, from, source)
				if got, ok := from.Next(action, source); ok != allowed || got != to {
					t.Errorf("%s: %d, %t, want %d, %t", name, got, ok, to, allowed)
				}
			}
		}
	}
}
