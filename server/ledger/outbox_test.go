package ledger

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

var begin = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

// TestOldestMessage: the metric is right however messages come and go.
func TestOldestMessage(t *testing.T) {
	o := newOutbox()
	put := func(id string, at int, parked string) {
		o.put(&Message{ID: id, At: begin.Add(time.Duration(at) * time.Second), Parked: parked})
	}
	oldest := func(want int) {
		t.Helper()
		since, ok := o.Oldest()
		if ok != (want >= 0) || ok && since.Sub(begin) != time.Duration(want)*time.Second {
			t.Errorf("the oldest waits since %v, %v; want %d s", since, ok, want)
		}
	}
	oldest(-1)
	put("a", 1, "")
	put("b", 2, "")
	put("c", 3, "")
	oldest(1)
	o.remove("b")
	oldest(1)
	put("a", 1, "refused")
	oldest(3)
	put("a", 9, "")
	o.remove("c")
	oldest(9)
	o.remove("a")
	oldest(-1)
}

// A sender is given each message that waits once, in the order in which they came, and one that is retried
// again; those that have left meanwhile, or are parked, it is not given. Of what has left nothing stays.
func TestMessagesArriveInOrder(t *testing.T) {
	o := newOutbox()
	known := uint64(0)
	arrive := func(want ...string) {
		t.Helper()
		var list []*Message
		list, known = o.Arrived(known)
		var got []string
		for _, m := range list {
			got = append(got, m.ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v have arrived, want %v", got, want)
		}
	}
	put := func(id, parked string) {
		o.put(&Message{ID: id, At: begin, Parked: parked})
	}
	put("b", "")
	put("a", "")
	put("c", "")
	put("p", "refused")
	o.remove("a")
	arrive("b", "c")
	arrive()
	put("p", "")
	put("b", "refused")
	put("d", "")
	arrive("p", "d")
	put("b", "")
	arrive("b")
	for n := range 10_000 {
		id := strconv.Itoa(n)
		put(id, "")
		o.remove(id)
	}
	if len(o.arrivals) > 2*len(o.messages)+fewMessages+1 {
		t.Errorf("%d arrivals are remembered of %d messages", len(o.arrivals), len(o.messages))
	}
	arrive()
	if list, _ := o.Arrived(0); len(list) != 4 {
		t.Errorf("a sender that starts is given %d messages, want those 4 that wait", len(list))
	}
}
