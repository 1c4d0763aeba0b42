package ledger

import (
	"encoding/json"
	"time"

	"waybill/booking"
	"waybill/booking/ids"
	"waybill/store/journal"
)

// FeedEvent is one event of a partner's feed, see [EventFeed].
type FeedEvent struct {
	Type    string
	Time    time.Time
	Booking ids.ID
	Ticket  *ids.ID // nil where it is of the whole booking
	From    *ids.ID // the booking that a ticket was moved from; else nil
	Refund  *int64  // minor units; nil where nothing was refunded
}

// readers return the events of the types of lines that have some. How many a line has, the ledger counts.
var readers = map[string]func(l *journal.Line, partner ids.ID) ([]FeedEvent, error){
	"booking.created":      ofTicket,
	"ticket.paid":          ofTicket,
	"ticket.booked":        ofTicket,
	"ticket.moved":         ofTicket,
	"ticket.carrier":       ofCarrier,
	"tickets.canceled":     ofCanceled,
	"tickets.uncompleted":  ofUncompleted,
	"run.cancelled":        ofRun,
	"run.moved":            ofRun,
	"passengers.forgotten": ofErased,
	journal.KindErased:     ofErased,
}

// Events returns the events that a line has for a partner.
func Events(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	read := readers[l.Type]
	if read == nil {
		return nil, journal.ErrNewer
	}
	return read(l, partner)
}

// ofTicket returns the one event of a line that names a booking, and maybe a ticket.
func ofTicket(l *journal.Line, _ ids.ID) ([]FeedEvent, error) {
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

// ofCarrier returns the event of a status that a carrier gave.
func ofCarrier(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	events, err := ofTicket(l, partner)
	events[0].Type = "ticket.status"
	return events, err
}

// ofCanceled returns an event for each ticket of a line.
func ofCanceled(l *journal.Line, _ ids.ID) ([]FeedEvent, error) {
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

// ofUncompleted returns an event for each ticket of a line, of the instant at which its window was over.
func ofUncompleted(l *journal.Line, _ ids.ID) ([]FeedEvent, error) {
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

// ofErased returns an event for each passenger of the partner's that a line forgets.
func ofErased(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
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

// ofRun returns the events of a partner's tickets in a line of a run.
func ofRun(l *journal.Line, partner ids.ID) ([]FeedEvent, error) {
	var e booking.RunCanceled // of a run that was moved there is no refund
	if err := json.Unmarshal(l.Data, &e); err != nil {
		return nil, err
	}
	var events []FeedEvent
	for i := range e.Tickets {
		t := &e.Tickets[i]
		if t.Partner != partner {
			continue
		}
		event := FeedEvent{
			Type:    l.Type,
			Time:    l.Time,
			Booking: t.Booking,
			Ticket:  &t.ID,
		}
		if t.Refunded {
			event.Refund = &t.Refund
		}
		events = append(events, event)
	}
	return events, nil
}
