package ledger

import (
	"encoding/binary"
	"slices"
	"strconv"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/ledger/wire"
)

// How each message left is remembered for good, 24 bytes each and without a pointer: a run's page says of
// each ticket what its passenger was sent, also after a restart (decision messages.told). A million of them
// take 24 MB.

// Delivery is a message that has left, as much of it as is remembered for good. It has no data of the
// passenger.
type Delivery struct {
	ID     string // as in Message
	Ticket ids.ID
	Action booking.Action
	Text   bool // it was for a phone, else it was an e-mail
	As     SentAs
}

// packedDelivery is a Delivery as memory has it. The bits of message are, from the highest on: its line (40),
// its place among those of the line (16), its action (3), whether it was for a phone (1), and how it left
// (4).
type packedDelivery struct {
	ticket  ids.ID
	message uint64
}

const (
	asBits     = 4
	textBits   = 1
	actionBits = 3
	placeBits  = 16
	lineBits   = 64 - placeBits - actionBits - textBits - asBits
)

// newDelivery returns what is remembered of a message; false for one that no journal has: with a line or a
// place that the bits have no room for.
func newDelivery(m *Message, as SentAs) (x packedDelivery, ok bool) {
	line, place := m.Line()
	if line>>lineBits != 0 || place>>placeBits != 0 {
		return x, false
	}
	bits := line<<placeBits | uint64(place)
	bits = bits<<actionBits | uint64(m.Action)
	bits <<= textBits
	if m.Lane() == ToMessenger {
		bits |= 1
	}
	bits = bits<<asBits | uint64(slices.Index(Ways, as))
	return packedDelivery{ticket: m.Ticket, message: bits}, true
}

// take returns the lowest bits of a number, and the number without them.
func take(bits uint64, n int) (low, rest uint64) {
	return bits & (1<<n - 1), bits >> n
}

// unpacked returns it in words.
func (x packedDelivery) unpacked() Delivery {
	as, rest := take(x.message, asBits)
	text, rest := take(rest, textBits)
	action, rest := take(rest, actionBits)
	place, line := take(rest, placeBits)
	return Delivery{
		ID:     strconv.FormatUint(line, 10) + "-" + strconv.FormatUint(place, 10),
		Ticket: x.ticket,
		Action: booking.Action(action),
		Text:   text == 1,
		As:     Ways[as],
	}
}

// deliveryPage is how many messages share a page of the list, and a line of a snapshot.
const deliveryPage = 1024

// Deliveries is a list of messages that have left, in the order in which they left. A copy never changes:
// more may come behind the end of its last page, where it does not look.
type Deliveries [][]packedDelivery

// remember adds a message.
func (o *Outbox) remember(x packedDelivery) {
	last := len(o.deliveries) - 1
	if last < 0 || len(o.deliveries[last]) == deliveryPage {
		o.deliveries = append(o.deliveries, make([]packedDelivery, 0, deliveryPage))
		last++
	}
	o.deliveries[last] = append(o.deliveries[last], x)
}

// Deliveries returns the messages that have left, to be read without the lock. It takes a microsecond for
// each hundred thousand.
func (o *Outbox) Deliveries() Deliveries {
	return slices.Clone(o.deliveries)
}

// Of returns the messages that were for some tickets, the earliest to leave first. It looks through all,
// which takes 10 ms for each million, and calls step, which may rest, after each page.
func (all Deliveries) Of(tickets map[ids.ID]bool, step func()) map[ids.ID][]Delivery {
	found := map[ids.ID][]Delivery{}
	for _, page := range all {
		for _, x := range page {
			if tickets[x.ticket] {
				found[x.ticket] = append(found[x.ticket], x.unpacked())
			}
		}
		step()
	}
	return found
}

// writeDeliveries writes a page of the list as a line of a snapshot.
func writeDeliveries(c *wire.Coder, page []packedDelivery) {
	var text []byte
	for _, x := range page {
		text = append(text, x.ticket[:]...)
		text = binary.BigEndian.AppendUint64(text, x.message)
	}
	c.W.Base64("told", string(text))
}

// readDeliveries reads what writeDeliveries wrote, and adds it to the list.
func (o *Outbox) readDeliveries(c *wire.Coder) {
	text := c.R.Base64("told", nil)
	const size = len(ids.ID{}) + 8
	if len(text)%size != 0 {
		c.R.Reject("ends within a message")
		return
	}
	for ; len(text) > 0; text = text[size:] {
		x := packedDelivery{
			ticket:  ids.ID(text[:len(ids.ID{})]),
			message: binary.BigEndian.Uint64(text[len(ids.ID{}):]),
		}
		as, rest := take(x.message, asBits)
		action, _ := take(rest>>textBits, actionBits)
		if as >= uint64(len(Ways)) || action > uint64(booking.MoveRun) {
			c.R.Reject("has a message that the program never writes")
			return
		}
		o.remember(x)
	}
}
