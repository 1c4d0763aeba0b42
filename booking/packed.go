package booking

import (
	"encoding/binary"
	"errors"

	"waybill/schedule/ids"
)

// A state keeps each booking packed into one text: with its tickets it takes a third of what the structs do,
// and a garbage collection has nothing to follow in it. A reader gets structs that are made from the text. An
// event changes such structs and puts them back ([State.renew], [Recorder.put]).
//
// The text starts with the number of bytes that come next and stand for all but the passengers: numbers as
// varints, runs by their number in the order they were first sold. Then come the passengers, one after the
// other.

// errPacked is the error of a text that is not a packed booking.
var errPacked = errors.New("booking: not a packed booking")

// Bits of the first byte of how a ticket stands; its phases are the others.
const (
	hasNoticed = 1 << 6
	hasSecond  = 1 << 7 // leg
)

// pack returns a booking, packed.
func (s Recorder) pack(x *Booking) string {
	var room [512]byte
	text := AppendText(s.room[:0], x.appendFacts(room[:0]))
	for i := range x.Tickets {
		text = append(text, x.Tickets[i].Passenger...)
	}
	s.room = text
	return string(text)
}

// appendFacts appends everything about a booking but its passengers.
func (x *Booking) appendFacts(b []byte) []byte {
	b = append(b, x.ID[:]...)
	b = append(b, x.Partner[:]...)
	b = binary.AppendVarint(b, x.Created)
	b = binary.AppendVarint(b, x.Updated-x.Created)
	b = binary.AppendUvarint(b, x.Line)
	b = binary.AppendUvarint(b, uint64(len(x.Tickets)))
	for i := range x.Tickets {
		t := &x.Tickets[i]
		b = append(b, t.ID[:]...)
		b = binary.AppendVarint(b, t.Created-x.Created)
		b = t.appendStanding(b)
		b = append(b, t.Currency[:]...)
		for _, l := range t.Itinerary() {
			b = l.appendTo(b)
		}
		b = binary.AppendUvarint(b, uint64(len(t.Passenger)))
	}
	return b
}

// appendStanding appends how a ticket stands.
func (t *Ticket) appendStanding(b []byte) []byte {
	first := byte(t.Phase) | byte(t.Was)<<3
	if t.Noticed {
		first |= hasNoticed
	}
	if t.Legs[1].Run != nil {
		first |= hasSecond
	}
	second := byte(t.Carrier) | byte(t.Pending)<<3
	b = append(b, first, second)
	return binary.AppendVarint(b, int64(t.Earlier))
}

// appendTo appends a leg.
func (l *Leg) appendTo(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.Run.number))
	numbers := [...]int64{
		int64(l.From),
		int64(l.To),
		int64(l.Seat),
		int64(l.Discount),
		l.Amount,
		l.Refund,
	}
	for _, n := range numbers {
		b = binary.AppendVarint(b, n)
	}
	return b
}

// packedIDs returns the ids with which a packed booking starts, its own and its partner's; none where the
// text is empty.
func packedIDs(text string) (own, partner ids.ID) {
	facts := reader{Rest: split(text).Facts}
	own = facts.ID()
	partner = facts.ID()
	return own, partner
}

// packedCounts returns when a packed booking was made, and how many tickets it has, without reading them.
func packedCounts(text string) (created int64, tickets int) {
	facts := reader{Rest: split(text).Facts}
	facts.Take(2 * uint64(len(ids.ID{})))
	created = facts.Signed()
	facts.Signed() // when it was changed
	facts.Number() // its line
	return created, int(facts.Number())
}

// unpacking is a booking's text while it is read.
type unpacking struct {
	reader
	runs []*Run // by number
}

// unpack fills a booking with what is packed. The room of its tickets is used again.
func (b *Booking) unpack(p Packed, runs []*Run) error {
	u := unpacking{reader{Rest: p.Facts}, runs}
	b.ID = u.ID()
	b.Partner = u.ID()
	b.Created = u.Signed()
	b.Updated = b.Created + u.Signed()
	b.Line = u.Number()
	n := u.Number()
	const least = 30 // bytes that a ticket takes at least
	if n > uint64(len(u.Rest))/least {
		return errPacked
	}
	if uint64(cap(b.Tickets)) < n {
		b.Tickets = make([]Ticket, n)
	}
	b.Tickets = b.Tickets[:n]
	passengers := reader{Rest: p.Passengers}
	for i := range b.Tickets {
		t := &b.Tickets[i]
		*t = Ticket{ID: u.ID()}
		t.Created = b.Created + u.Signed()
		u.standing(t)
		t.Passenger = Passenger(passengers.Take(u.Number()))
	}
	if u.Bad || passengers.Bad || u.Rest != "" || passengers.Rest != "" {
		return errPacked
	}
	return nil
}

// standing takes how a ticket stands, its currency and its legs.
func (u *unpacking) standing(t *Ticket) {
	standing := u.Take(2)
	if u.Bad {
		return
	}
	t.Phase = Phase(standing[0] & 7)
	t.Was = Phase(standing[0] >> 3 & 7)
	t.Noticed = standing[0]&hasNoticed != 0
	t.Carrier = Carrier(standing[1] & 7)
	t.Pending = Action(standing[1] >> 3 & 7)
	earlier := u.Signed()
	t.Earlier = int32(earlier)
	u.Bad = u.Bad || earlier != int64(t.Earlier)
	copy(t.Currency[:], u.Take(3))
	u.leg(&t.Legs[0])
	if standing[0]&hasSecond != 0 {
		u.leg(&t.Legs[1])
	}
}

// small takes a number of 16 bits.
func (u *unpacking) small() int16 {
	n := u.Signed()
	u.Bad = u.Bad || n != int64(int16(n))
	return int16(n)
}

// leg takes a leg.
func (u *unpacking) leg(l *Leg) {
	run := u.Number()
	if run >= uint64(len(u.runs)) {
		u.Bad = true
		return
	}
	l.Run = u.runs[run]
	l.From = u.small()
	l.To = u.small()
	l.Seat = u.small()
	l.Discount = u.small()
	l.Amount = u.Signed()
	l.Refund = u.Signed()
}
