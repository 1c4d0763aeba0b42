package booking

import (
	"errors"
	"math"
	"slices"
	"time"

	"waybill/schedule"
	"waybill/schedule/ids"
)

// Outlook is what an action would do to a ticket.
type Outlook struct {
	*Ticket
	Code   Code            // why it is not allowed; "" where it is
	Reason string          // the same in words
	Refund *CanceledTicket // of one that would be canceled
	// ValidUntil is the instant from which time alone may change the outlook; zero where it never does.
	ValidUntil time.Time
}

// Preview finds out, by the decisions themselves, what an action would do to each of the tickets selected, if
// those that it is not allowed for were left out. Its error is ErrNotFound.
func (s *State) Preview(now time.Time, tt *schedule.Timetable, sel Selection,
	action Action) ([]Outlook, error) {
	orders, err := s.Select(sel)
	if err != nil {
		return nil, err
	}
	list := make([]Outlook, len(orders))
	at := map[ids.ID]*Outlook{}
	for i, o := range orders {
		list[i].Ticket = o.Ticket
		at[o.Ticket.ID] = &list[i]
	}
	for {
		sel.Tickets = nil
		for i := range list {
			if list[i].Code == "" {
				sel.Tickets = append(sel.Tickets, list[i].ID)
			}
		}
		if sel.Tickets == nil {
			return list, nil
		}
		canceled, err := s.rehearse(now, tt, sel, action)
		var refused *Conflict
		switch {
		case errors.As(err, &refused):
			for _, id := range refused.Tickets {
				at[id].refuse(refused, now, tt, action)
			}
			continue
		case err != nil:
			return nil, err
		}
		for i := range canceled {
			at[canceled[i].ID].Refund = &canceled[i]
		}
		for i := range list {
			if list[i].Code == "" {
				list[i].ValidUntil = list[i].steadyUntil(now)
			}
		}
		return list, nil
	}
}

// rehearse decides on an action and forgets the decision, but for what would come back.
func (s *State) rehearse(now time.Time, tt *schedule.Timetable, sel Selection,
	action Action) (canceled []CanceledTicket, err error) {
	if action != Cancel {
		_, err = s.Settle(now, tt, sel, action, "")
		return nil, err
	}
	events, err := s.Cancel(now, sel, "")
	for _, e := range events {
		canceled = append(canceled, e.Tickets...)
	}
	return canceled, err
}

// refuse notes why an action is not allowed. Where several tickets are refused together, each has its own
// reason: one that only waits for the provider is told so, though others never can.
func (x *Outlook) refuse(c *Conflict, now time.Time, tt *schedule.Timetable, action Action) {
	x.Code = c.Code
	x.Reason = c.Reason
	if c.Code == WrongState {
		x.Reason = action.refusal(1)
	}
	if c.Code == NoSeats {
		x.ValidUntil = x.seatsFrom(now, tt)
	}
	_, allowed := x.next(action, now)
	if allowed && x.Pending != 0 {
		x.Code = InProgress
		x.Reason = AwaitsAnswer
	}
}

// seatsFrom returns when the next hold ends that is in the way of the ticket's legs: an unpaid ticket may
// give its seat back. It is zero where all of them stay.
func (x *Outlook) seatsFrom(now time.Time, tt *schedule.Timetable) (first time.Time) {
	for _, l := range x.Itinerary() {
		seats := l.Run.seats
		for i := range seats.Holds {
			h := &seats.Holds[i]
			if h.Until == math.MaxInt64 || h.Until <= now.UnixMilli() || h.Ticket == x.ID {
				continue
			}
			at := time.UnixMilli(h.Until).UTC()
			if (first.IsZero() || at.Before(first)) && l.collides(h, seats.present(tt)) {
				first = at
			}
		}
	}
	return first
}

// steadyUntil returns when time may change what an allowed action does: the payment window ends, the grace
// ends, or a refund falls to the next of its rules.
func (x *Outlook) steadyUntil(now time.Time) (until time.Time) {
	switch {
	case x.Refund == nil && x.PhaseAt(now) == Unpaid:
		return x.Due()
	case x.Refund == nil || !x.Refund.Refunded:
		return time.Time{}
	case x.Refund.Grace:
		return time.UnixMilli(x.Created).Add(grace).UTC()
	}
	for i, term := range x.Refund.Terms {
		rules := x.Itinerary()[i].Run.Form.Rules
		k := slices.IndexFunc(rules, func(r schedule.RefundRule) bool {
			return r.ID == term.Rule
		})
		if k < 0 {
			continue // nothing comes back for this leg any more
		}
		at := x.RefundsBy().Add(-time.Duration(rules[k].Hours) * time.Hour)
		if until.IsZero() || at.Before(until) {
			until = at
		}
	}
	return until
}
