package booking

import (
	"reflect"
	"strings"
	"testing"
)

// What was counted of two parts of the bookings is what would be counted of all.
func TestBooksAreAdded(t *testing.T) {
	part := func(n int64) *Books {
		b := New()
		b.Bookings = int(n)
		b.Tickets = int(2 * n)
		b.Changes = int(n)
		b.Left = int(3 * n)
		b.Status["Paid"] = int(4 * n)
		b.Money["UAH"] = [2]int64{5 * n, 6 * n}
		return b
	}
	sum := part(1)
	sum.Add(part(10))
	if want := part(11); !reflect.DeepEqual(sum, want) {
		t.Errorf("%+v, want %+v", sum, want)
	}
}

// What panics in an audit is an error.
func TestAnAuditThatPanicsIsAnError(t *testing.T) {
	err := Guarded(func() {
		var none []int
		none[0]++
	})
	if err == nil || !strings.Contains(err.Error(), "cannot be drawn up") {
		t.Error(err)
	}
	if err := Guarded(func() {}); err != nil {
		t.Error(err)
	}
}
