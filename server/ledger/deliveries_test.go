package ledger

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// toldOf returns how the messages of a ticket left, in words.
func toldOf(o *Outbox, ticket ids.ID) string {
	var said []string
	for _, x := range o.Deliveries().Of(map[ids.ID]bool{ticket: true}, func() {})[ticket] {
		said = append(said, fmt.Sprintf("%s %s %v %s", x.ID, x.Action, x.Text, x.As))
	}
	return strings.Join(said, ", ")
}

// Decision messages.told: how each message of a ticket left is remembered for good, whatever left after it,
// by the state and by its snapshot, and not of other tickets.
func TestHowEachMessageLeftIsRememberedForGood(t *testing.T) {
	s := newState()
	mine := ids.ID{1}
	s.Outbox.put(&Message{ID: "7-1", Ticket: mine, Action: booking.Pay, To: booking.ToEmail, At: begin})
	s.Outbox.put(&Message{ID: "7-12", Ticket: mine, Action: booking.CancelRun, To: "phone2", At: begin})
	s.Outbox.put(&Message{ID: "1099511627775-65535", Ticket: mine, Action: booking.MoveRun, At: begin})
	sendAs(t, s, `{"messages":["7-1"],"as":"file"}`)
	sendAs(t, s, `{"messages":["7-12"],"as":"text"}`)
	sendAs(t, s, `{"messages":["1099511627775-65535"],"as":"none"}`)
	// More than two pages of others, so that the newest of all are long others.
	for n := range 2*deliveryPage + 5 {
		id := strconv.Itoa(100+n) + "-1"
		s.Outbox.put(&Message{ID: id, Ticket: ids.ID{2}, Action: booking.Book, At: begin})
		s.Outbox.leave(begin.Add(time.Second), id, SentAsMail)
	}
	var first, second bytes.Buffer
	if err := NewCodec().Freeze(s)(&first); err != nil {
		t.Fatal(err)
	}
	thawed, err := NewCodec().Thaw(bytes.NewReader(first.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := NewCodec().Freeze(thawed)(&second); err != nil || second.String() != first.String() {
		t.Errorf("%v, a snapshot became another", err)
	}
	const want = "7-1 pay false file, 7-12 run-cancel true text, 1099511627775-65535 run-move false none"
	for _, o := range []*Outbox{s.Outbox, thawed.Outbox} {
		if got := toldOf(o, mine); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if got := toldOf(o, ids.ID{3}); got != "" {
			t.Errorf("of a ticket without messages: %s", got)
		}
	}
}

// A list that somebody looks through without the lock stays as it was while messages leave.
func TestAListOfWhatLeftStaysAsItWas(t *testing.T) {
	o := newOutbox()
	leave := func(id string) {
		o.put(&Message{ID: id, Ticket: ids.ID{1}, Action: booking.Pay, At: begin})
		o.leave(begin, id, SentAsMail)
	}
	leave("1-1")
	was := o.Deliveries()
	leave("2-1")
	if n := len(was.Of(map[ids.ID]bool{{1}: true}, func() {})[ids.ID{1}]); n != 1 {
		t.Errorf("%d messages are in a list of one", n)
	}
}

// A snapshot with messages that the program never writes is not read.
func TestASnapshotOfImpossibleMessagesIsRefused(t *testing.T) {
	for name, packed := range map[string]string{
		"half a message":       "AAAA",
		"of no action":         "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAADg",
		"that left in no way":  "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAP",
		"with a false padding": "AAA",
	} {
		text := `{"version":10,"clock":{"set":false,"offsetMs":0},"timetable":""}` + "\n" +
			`{"told":"` + packed + `"}` + "\n"
		if _, err := NewCodec().Thaw(strings.NewReader(text)); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}

// Decision messages.told: messages that were not sent when their passenger is forgotten are remembered as
// erased, in the order of their lines.
func TestWhatWasNotSentIsRememberedAsErased(t *testing.T) {
	o := newOutbox()
	mine := ids.ID{1}
	for _, id := range []string{"10-1", "9-2", "9-1"} {
		o.put(&Message{ID: id, Ticket: mine, Action: booking.Pay, At: begin})
	}
	o.put(&Message{ID: "11-1", Ticket: ids.ID{2}, Action: booking.Pay, At: begin})
	o.erase(begin, mine)
	const erased = "9-1 pay false erased, 9-2 pay false erased, 10-1 pay false erased"
	if got := toldOf(o, mine); got != erased || o.LeftCounts()[SentAsErased] != 3 || len(o.All()) != 1 {
		t.Errorf("%s, want %s; %v", got, erased, o.LeftCounts())
	}
	s := newState()
	err := s.apply(journal.Stamp{Seq: 1, Time: begin}, Entry{Event: &MessagesSent{As: SentAsErased}})
	if err == nil {
		t.Error("a line says that it has sent what is erased")
	}
}

// The messages of a ticket that wait are listed by their lines and places, as numbers.
func TestMessagesOfATicketAreInOrder(t *testing.T) {
	s := newState()
	for _, id := range []string{"10-1", "9-10", "9-9"} {
		s.Outbox.put(&Message{ID: id, Ticket: ids.ID{1}, At: begin})
	}
	err := s.apply(journal.Stamp{Seq: 11, Time: begin}, Entry{Event: &MessageParked{ID: "9-9", Reason: "no"}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range s.Outbox.Of(ids.ID{1}) {
		got = append(got, m.ID+m.Parked)
	}
	if want := "9-9no 9-10 10-1"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
