package ledger

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
)

// EventFeed is what happened to a partner's bookings, in order (interface, Events). An event is a line of the
// journal, or a part of one. The feed remembers only which lines these are, and they are read from there. The
// events of a partner have numbers of their own, from 1 without gaps.
type EventFeed struct {
	seqs    []uint64      // of each event; a line of several stands here as often
	changed chan struct{} // closed with the next event; nil while nobody waits for it
}

// feed returns a partner's feed, which it makes if there is none.
func (s *Keeper) feed(partner ids.ID) *EventFeed {
	f := s.rest.feeds[partner]
	if f == nil {
		f = new(EventFeed)
		s.rest.feeds[partner] = f
	}
	return f
}

// add adds events of a line, and wakes who waits for them.
func (f *EventFeed) add(at journal.Stamp, events int) {
	for range events {
		f.seqs = append(f.seqs, at.Seq)
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// Len returns how many events there are.
func (f *EventFeed) Len() int {
	return len(f.seqs)
}

// After returns the lines of the events after number seq, of at most so many events as most says, and how
// many events of the first of these lines come before: a line may have several.
func (f *EventFeed) After(seq, most int) (lines []uint64, before int) {
	start := min(seq, len(f.seqs))
	end := min(start+most, len(f.seqs))
	lines = slices.Clone(f.seqs[start:end])
	for before < seq && len(lines) > 0 && f.seqs[seq-1-before] == lines[0] {
		before++
	}
	return lines, before
}

// Changed returns what is closed with the next event.
func (f *EventFeed) Changed() <-chan struct{} {
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// FeedEvent is one event of a partner's feed.
type FeedEvent struct {
	Type    string
	Time    time.Time
	Booking ids.ID
	Ticket  *ids.ID // nil where it is of the whole booking
	From    *ids.ID // the booking that a ticket was moved from; else nil
	Refund  *int64  // minor units; nil where nothing was refunded
}

// Events returns the events that a line has for a partner.
func Events(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	k := kindNamed(l.Type)
	if k == nil {
		return nil, journal.ErrNewer
	}
	return k.feedEvents(l, partner)
}

// showTicket returns the one event of a line that names a ticket.
func showTicket(l *journal.Line, _ ids.ID) ([]FeedEvent, error) {
	var data struct {
		Booking ids.ID
		Ticket  *ids.ID
		From    *ids.ID
	}
	err := json.Unmarshal(l.Data, &data)
	return []FeedEvent{{
		Type:    l.Type,
		Time:    l.Time,
		Booking: data.Booking,
		Ticket:  data.Ticket,
		From:    data.From,
	}}, err
}

// showCarrier returns the event of a status that a carrier gave.
func showCarrier(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	events, err := showTicket(l, partner)
	events[0].Type = "ticket.status"
	return events, err
}

// showCanceled returns an event for each ticket of a line.
func showCanceled(l *journal.Line, _ ids.ID) ([]FeedEvent, error) {
	var e booking.TicketsCanceled
	if err := json.Unmarshal(l.Data, &e); err != nil {
		return nil, err
	}
	var events []FeedEvent
	for i := range e.Tickets {
		t := &e.Tickets[i]
		event := FeedEvent{
			Type:    "ticket.canceled",
			Time:    l.Time,
			Booking: e.Booking,
			Ticket:  &t.ID,
		}
		if t.Refunded {
			event.Type = "ticket.refunded"
			event.Refund = &t.Refund
		}
		events = append(events, event)
	}
	return events, nil
}

// showUncompleted returns an event for each ticket of a line, of the instant at which its window was over.
func showUncompleted(l *journal.Line, _ ids.ID) ([]FeedEvent, error) {
	var e booking.TicketsUncompleted
	if err := json.Unmarshal(l.Data, &e); err != nil {
		return nil, err
	}
	var events []FeedEvent
	for i := range e.Tickets {
		ticket := &e.Tickets[i].ID
		event := FeedEvent{
			Type:    "ticket.uncompleted",
			Time:    e.At,
			Booking: e.Booking,
			Ticket:  ticket,
		}
		events = append(events, event)
	}
	return events, nil
}

// showErased returns an event for each passenger of the partner's that a line forgets.
func showErased(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	var e struct{ Passengers []ErasedPassenger }
	if err := json.Unmarshal(l.Data, &e); err != nil {
		return nil, err
	}
	var events []FeedEvent
	for i := range e.Passengers {
		p := &e.Passengers[i]
		if p.Partner != partner {
			continue
		}
		event := FeedEvent{
			Type:    "passenger.erased",
			Time:    l.Time,
			Booking: p.Booking,
			Ticket:  &p.Ticket,
		}
		events = append(events, event)
	}
	return events, nil
}

// frozenFeed is a feed in a snapshot; each line is written as how much it is above the one before.
type frozenFeed struct {
	partner ids.ID
	lines   []uint64
}

// frozenFeeds returns the feeds for a snapshot, by partner.
func (s State) frozenFeeds() []frozenFeed {
	var list []frozenFeed
	compare := func(a, b ids.ID) int {
		return bytes.Compare(a[:], b[:])
	}
	for _, id := range slices.SortedFunc(maps.Keys(s.rest.feeds), compare) {
		list = append(list, frozenFeed{id, slices.Clip(s.rest.feeds[id].seqs)})
	}
	return list
}

// code codes a feed.
func (f *frozenFeed) code(c *wire.Coder) {
	last := int64(0)
	c.Object("feed", func() {
		wire.ID(c, "partner", &f.partner)
		wire.List(c, "lines", &f.lines, func(line *uint64) {
			above := int64(*line) - last
			wire.Number(c, "", &above)
			last += above
			if !c.Writing() {
				*line = uint64(last)
			}
		})
	})
}
