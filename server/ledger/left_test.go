package ledger

import (
	"bytes"
	"maps"
	"strconv"
	"testing"
	"time"

	"waybill/booking"
	"waybill/store/journal"
)

// sendAs applies a line that says that messages have left, as a journal has it.
func sendAs(t *testing.T, s State, data string) {
	t.Helper()
	x, err := NewCodec().Decode("outbox.sent", []byte(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.apply(journal.Stamp{Seq: 1, Time: begin}, x); err != nil {
		t.Fatal(err)
	}
}

// Decision messages.as: how messages left is remembered by the state and by its snapshot; and a message whose
// passenger was forgotten meanwhile is counted.
func TestHowMessagesLeftIsRemembered(t *testing.T) {
	s := newState()
	for _, id := range []string{"1-1", "1-2", "gone-1", "2-1"} {
		s.Outbox.put(&Message{ID: id, Action: booking.Pay, At: begin})
	}
	sendAs(t, s, `{"messages":["1-1"],"as":"text"}`)
	sendAs(t, s, `{"messages":["1-2","gone-1"],"as":"file"}`)
	sendAs(t, s, `{"messages":["2-1"],"as":"none"}`)
	var first, second bytes.Buffer
	if err := NewCodec().Freeze(s)(&first); err != nil {
		t.Fatal(err)
	}
	thawed, err := NewCodec().Thaw(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := NewCodec().Freeze(thawed)(&second); err != nil || second.String() != first.String() {
		t.Errorf("%v, a snapshot became\n%s\nof\n%s", err, second.String(), first.String())
	}
	for _, o := range []*Outbox{s.Outbox, thawed.Outbox} {
		want := map[SentAs]uint64{SentAsText: 1, SentAsFile: 2, SentAsNone: 1}
		if got := o.LeftCounts(); !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		list := o.NewestLeft()
		if len(list) != 4 || list[0].As != SentAsText || list[1].ID != "1-2" || list[1].As != SentAsFile ||
			list[3].As != SentAsNone || !list[3].Gone.Equal(begin) {
			t.Errorf("%d are remembered: %+v", len(list), list)
		}
		if waiting, _ := o.Count(); waiting != 0 {
			t.Errorf("%d messages still wait", waiting)
		}
	}
}

// However many messages leave, only the newest are remembered.
func TestOldMessagesThatLeftAreForgotten(t *testing.T) {
	o := newOutbox()
	for n := range 3 * leftKept {
		id := strconv.Itoa(n)
		o.put(&Message{ID: id, At: begin})
		o.leave(begin.Add(time.Second), id, SentAsMail)
	}
	list := o.NewestLeft()
	if len(list) != leftKept || list[0].ID != "200" || list[leftKept-1].ID != "299" {
		t.Errorf("%d are remembered", len(list))
	}
	if n := o.LeftCounts()[SentAsMail]; n != 3*leftKept {
		t.Errorf("%d are counted", n)
	}
}
