package booking

import (
	"cmp"
	"slices"
	"testing"

	"waybill/schedule"
)

// What is done with a ticket leads where the interface's table "States and transitions" says, and all else is
// a conflict: each phase, each action, our own tickets and others'.
func TestAnActionLeadsWhereTheTableSays(t *testing.T) {
	phases := []Phase{Unpaid, Booked, Paid, Canceled, Refunded, Uncompleted}
	names := []string{"Unpaid", "Booked", "Paid", "Canceled", "Refunded", "Uncompleted"}
	want := map[string]string{
		"Unpaid pay":             "Paid",
		"Unpaid book":            "Booked",
		"Unpaid cancel":          "Canceled",
		"Unpaid run-cancel":      "Canceled",
		"Uncompleted pay":        "Paid",
		"Uncompleted book":       "Booked",
		"Uncompleted cancel":     "Canceled",
		"Booked pay":             "Paid",
		"Booked cancel":          "Canceled",
		"Booked run-cancel":      "Canceled",
		"Paid cancel":            "Canceled",
		"Paid cancel of our own": "Refunded",
		"Paid run-cancel":        "Refunded",
	}
	for i, from := range phases {
		for _, action := range []Action{Pay, Book, Cancel, CancelRun} {
			for _, source := range []string{schedule.OwnSource, "Elsewhere"} {
				name := names[i] + " " + action.String()
				to := cmp.Or(want[name], "a conflict")
				if own := want[name+" of our own"]; own != "" && source == schedule.OwnSource {
					to = own
				}
				got := "a conflict"
				if next, allowed := from.Next(action, source); allowed {
					got = names[slices.Index(phases, next)]
				}
				if got != to {
					t.Errorf("a ticket of source %s that is %s: %s leads to %s, want %s", source, names[i],
						action, got, to)
				}
			}
		}
	}
}
