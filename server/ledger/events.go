package ledger

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// FeedEvent is one event of a partner's feed, see [EventFeed].
type FeedEvent struct {
	Type    string
	Time    time.Time
	Partner ids.ID
	Booking ids.ID
	Ticket  *ids.ID // nil where it is of the whole booking
	From    *ids.ID // the booking that a ticket was moved from; else nil
	Refund  *int64  // minor units; nil where nothing was refunded
}

// Events returns the events that a line of a partner's feed is.
func Events(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	e, err := ByItself(l)
	if err != nil {
		return nil, err
	}
	list := slices.DeleteFunc(kindNamed(l.Type).eventsOf(e), func(x FeedEvent) bool {
		return x.Partner != partner && x.Partner != ids.ID{}
	})
	for i := range list {
		x := &list[i]
		x.Type = cmp.Or(x.Type, l.Type)
		x.Time = cmp.Or(x.Time, l.Time)
	}
	return list, nil
}

// ByItself reads the event of a line without the lines before it: no personal part, and of a sale only those
// runs and forms that it is the first to have.
func ByItself(l *journal.Line) (Event, error) {
	k := kindNamed(l.Type)
	if k == nil {
		return nil, journal.ErrNewer
	}
	e := k.newEvent()
	return e, json.Unmarshal(l.Data, e)
}

// canceledEvents returns an event for each ticket.
func canceledEvents(e *booking.TicketsCanceled) (list []FeedEvent) {
	for i := range e.Tickets {
		t := &e.Tickets[i]
		x := FeedEvent{Type: "ticket.canceled", Booking: e.Booking, Ticket: &t.ID}
		if t.Refunded {
			x.Type = "ticket.refunded"
			x.Refund = &t.Refund
		}
		list = append(list, x)
	}
	return list
}

// uncompletedEvents returns an event for each ticket, of the instant at which its window was over.
func uncompletedEvents(e *booking.TicketsUncompleted) (list []FeedEvent) {
	for i := range e.Tickets {
		list = append(list, FeedEvent{
			Type:    "ticket.uncompleted",
			Time:    e.At,
			Booking: e.Booking,
			Ticket:  &e.Tickets[i].ID,
		})
	}
	return list
}

// runCanceledEvents returns an event for each ticket.
func runCanceledEvents(e *booking.RunCanceled) (list []FeedEvent) {
	for i := range e.Tickets {
		t := &e.Tickets[i]
		x := FeedEvent{Partner: t.Partner, Booking: t.Booking, Ticket: &t.ID}
		if t.Refunded {
			x.Refund = &t.Refund
		}
		list = append(list, x)
	}
	return list
}

// runMovedEvents returns an event for each ticket.
func runMovedEvents(e *booking.RunMoved) (list []FeedEvent) {
	for i := range e.Tickets {
		t := &e.Tickets[i]
		list = append(list, FeedEvent{Partner: t.Partner, Booking: t.Booking, Ticket: &t.ID})
	}
	return list
}

// erasedEvents returns an event for each passenger who is forgotten.
func erasedEvents(passengers []ErasedPassenger) (list []FeedEvent) {
	for i := range passengers {
		p := &passengers[i]
		list = append(list, FeedEvent{
			Type:    "passenger.erased",
			Partner: p.Partner,
			Booking: p.Booking,
			Ticket:  &p.Ticket,
		})
	}
	return list
}
