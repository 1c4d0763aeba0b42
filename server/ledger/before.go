package ledger

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
)

// Each line that changes a booking names the line that changed it before (decision lines.before). So whoever
// has the lines of one booking alone sees whether one was left out.

// Before says which line changed a booking before: the line's number, 0 for a booking's first.
type Before struct {
	One  uint64            // of the one booking that the line changes
	Each map[ids.ID]uint64 // by booking; not nil in a line of a kind that may change several
}

// beforeMember is what the member is called in lines.
const beforeMember = "before"

// complete returns an entry with the lines before.
func (s State) complete(x Entry) Entry {
	x.Before = s.Before(x.Event)
	return x
}

// lineOf returns the number of the last line of a booking; 0 where there is no such booking.
func (s State) lineOf(id ids.ID) uint64 {
	if b := s.Bookings.Any(id); b != nil {
		return b.Line
	}
	return 0
}

// beforeEach is Before of an event that may change several bookings.
func (s State) beforeEach(list []ids.ID) *Before {
	b := &Before{Each: map[ids.ID]uint64{}}
	for _, id := range list {
		b.Each[id] = s.lineOf(id)
	}
	return b
}

// checkBefore returns an error where an entry names other lines than those before it, or none.
func (s State) checkBefore(x Entry) error {
	want := s.Before(x.Event)
	has := x.Before
	switch {
	case want == nil && has == nil:
		return nil
	case want == nil:
		return fmt.Errorf("it says before %s, and a line of its type changes no booking", has)
	case has == nil:
		return fmt.Errorf("it has no before, which follows from the lines before it as %s", want)
	case s.strange(x.Event, want):
		return nil // to apply it fails, and says what it names
	case has.One != want.One || !maps.Equal(has.Each, want.Each):
		return fmt.Errorf("it says before %s, and by the lines before it that is %s", has, want)
	}
	return nil
}

// strange reports whether an event makes a booking that is there, or changes one that is not.
func (s State) strange(e Event, before *Before) bool {
	switch e := e.(type) {
	case *booking.Created:
		return before.One != 0
	case *booking.Moved:
		return before.Each[e.From] == 0 || (before.Each[e.To] == 0) != e.New
	}
	if before.Each == nil {
		return before.One == 0
	}
	for _, line := range before.Each {
		if line == 0 {
			return true
		}
	}
	return false
}

// String returns the member as lines have it.
func (b *Before) String() string {
	text, err := json.Marshal(b)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// MarshalJSON writes a number, or an object of numbers by booking.
func (b *Before) MarshalJSON() ([]byte, error) {
	if b.Each != nil {
		return json.Marshal(b.Each)
	}
	return json.Marshal(b.One)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Before) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("{")) {
		b.Each = map[ids.ID]uint64{}
		return json.Unmarshal(text, &b.Each)
	}
	return json.Unmarshal(text, &b.One)
}

// appendBefore adds the member to a line that is written, as the last of its event.
func (l *lineCoder) appendBefore() {
	b := l.entry.Before
	switch {
	case b == nil:
	case b.Each != nil:
		l.append(beforeMember, b)
	default: // by far the most
		w := l.data.W
		w.B = bytes.TrimSuffix(w.B, []byte("}"))
		w.Int(beforeMember, int64(b.One))
		w.EndObject()
	}
}

// readBefore reads the member in a line that codes its members itself. Such a line changes one booking.
func (l *lineCoder) readBefore() {
	if l.data.Writing() || !l.data.Optional(beforeMember, false) {
		return
	}
	var n int64
	wire.Number(&l.data, beforeMember, &n)
	if n < 0 {
		l.data.R.Reject("before is not the number of a line")
	}
	l.entry.Before = &Before{One: uint64(n)}
}
