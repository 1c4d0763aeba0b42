package server

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule"
	"waybill/server/outbound"
	"waybill/server/wire"
)

// act answers POST /v2/bookings/{id}/pay, /book and /cancel.
func (s *Server) act(action booking.Action) func(http.ResponseWriter, *http.Request, *auth.Partner, *attempt) error {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner, try *attempt) error {
		sel, err := s.subset(w, r, p)
		if err != nil {
			return err
		}
		var b *booking.Booking
		var now time.Time
		write := oneBooking(&b, &now)
		sel.Done = try.done
		try.answered(http.StatusOK, write)
		seq, err := s.perform(r, sel, action, try, func(st *State, at time.Time) {
			b, now = st.Bookings.Booking(sel.Partner, *sel.Booking), at
		})
		if err == nil && b == nil {
			err = errNotFound // its tickets have moved away while the provider was asked
		}
		if err == nil {
			wrote(w, seq)
			send(w, http.StatusOK, write)
		}
		return err
	}
}

// subset reads the tickets that an action is for. Whether there is such a booking comes before what is wrong with the body.
func (s *Server) subset(w http.ResponseWriter, r *http.Request, p *auth.Partner) (booking.Selection, error) {
	id := parseID(r.PathValue("id"))
	ids, err := readSubset(w, r)
	if err != nil {
		_, _, missing := s.view(r, p)
		err = cmp.Or(missing, err)
	}
	return booking.Selection{Partner: booking.ID(p.ID), Booking: &id, Tickets: ids}, err
}

// perform does it. after sees the state as the action left it; seq is the number of its last line.
func (s *Server) perform(r *http.Request, sel booking.Selection, action booking.Action, try *attempt, after func(*State, time.Time)) (seq uint64, err error) {
	var asked []Confirmation
	seq, err = s.st.Update(func(st *State, now time.Time) (events []Event, err error) {
		if action == booking.Cancel {
			list, err := st.Bookings.Cancel(now, sel, requestID(r))
			for _, e := range list {
				e.Retry = try.last
				for _, t := range e.Tickets {
					events = append(events, unnoticed(st, now, t.ID)...)
				}
				events = append(events, e)
			}
			return events, err
		}
		list, err := st.Bookings.Settle(now, st.timetable, sel, action, requestID(r))
		for _, e := range list {
			e.Retry = try.named()
			events = append(events, unnoticed(st, now, e.Ticket)...)
			if s.cfg.Confirm == nil {
				e.Sends = st.Bookings.Contacts(e.Ticket, s.messenger != nil)
				events = append(events, e.By(action))
				continue
			}
			key := st.Bookings.AskKey(e.Ticket, action, s.newID())
			asked = append(asked, Confirmation{key.String(), action, e.Booking, e.Ticket})
			events = append(events, &booking.Asked{Settled: *e, Action: action, Key: key})
		}
		if err == nil && asked == nil {
			events = append(events, try.closing(sel)...)
		}
		return events, err
	}, after)
	if err != nil || asked == nil {
		wake(s.posted)
		return seq, err
	}
	// Nobody but the provider ends what the provider was asked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), confirmTime)
	defer cancel()
	if seq, err = s.confirm(ctx, asked); err != nil {
		return seq, err
	}
	if try.last == nil {
		return seq, s.st.View(after)
	}
	return s.st.Update(func(st *State, _ time.Time) ([]Event, error) {
		if _, err := st.Bookings.Select(sel); err != nil {
			return nil, err // its tickets have moved away meanwhile
		}
		return try.closing(sel), nil
	}, after)
}

// unnoticed gives the notices that a ticket needs before what is done to it.
func unnoticed(st *State, now time.Time, ticket booking.ID) (events []Event) {
	for _, e := range st.Bookings.Unnoticed(now, []booking.ID{ticket}) {
		events = append(events, e)
	}
	return events
}

// maxConfirming is how many tickets of one request are confirmed at a time.
const maxConfirming = 16

// confirm asks the provider about each ticket, all at a time, and commits each answer by itself: tickets that are not
// confirmed do not undo the others.
func (s *Server) confirm(ctx context.Context, asked []Confirmation) (last uint64, err error) {
	answers := make([]verdict, len(asked))
	var wg sync.WaitGroup
	room := make(chan struct{}, maxConfirming)
	for i, c := range asked {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			answers[i] = s.confirmOne(ctx, c)
		})
	}
	wg.Wait()
	var undone []booking.ID
	for i, a := range answers {
		if last, err = max(last, a.seq), cmp.Or(err, a.err); a.refusal != nil {
			undone = append(undone, asked[i].Ticket)
		}
	}
	if err == nil && undone != nil {
		err = detailed(http.StatusInternalServerError, "PROVIDER_FAILED", "the provider did not confirm these tickets", writeOrders(undone))
	}
	return last, err
}

// verdict is what the provider said of a ticket, and the line that keeps it.
type verdict struct {
	refusal error
	seq     uint64
	err     error // it could not be kept
}

// confirmOne asks about one ticket and commits the answer.
func (s *Server) confirmOne(ctx context.Context, c Confirmation) (a verdict) {
	if s.cfg.Confirm != nil {
		a.refusal = s.cfg.Confirm(ctx, c)
	}
	if a.refusal != nil && s.base.Err() != nil && !errors.Is(a.refusal, outbound.ErrRefused) {
		a.err = errUnavailable // it was broken off: the next start asks again
		return a
	}
	if a.refusal != nil {
		s.log.Warn("the provider did not confirm a ticket", "ticket", c.Ticket, "key", c.Key, "err", a.refusal)
	}
	said := booking.Confirm
	if errors.Is(a.refusal, outbound.ErrRefused) {
		said = booking.Refuse
	} else if a.refusal != nil {
		said = booking.Silence
	}
	a.seq, a.err = s.st.Update(func(st *State, now time.Time) ([]Event, error) {
		e, err := st.Bookings.Answer(c.Ticket, said, s.messenger != nil)
		events := []Event{e}
		if a.refusal != nil { // its window may be over by now
			events = append(events, unnoticed(st, now, c.Ticket)...)
		}
		return events, err
	}, nil)
	wake(s.posted)
	return a
}

// askAgain asks the provider about every ticket whose answer a crash has swallowed.
func (s *Server) askAgain() {
	var list []Confirmation
	s.st.View(func(st *State, _ time.Time) {
		st.Bookings.Asked(func(b *booking.Booking, t *booking.Ticket, ask booking.Ask) {
			list = append(list, Confirmation{ask.Key.String(), t.Asked, b.ID, t.ID})
		})
	})
	s.background.Go(func() {
		if _, err := s.confirm(s.base, list); err != nil {
			s.log.Error("not all tickets that the provider had been asked about are confirmed", "err", err)
		}
	})
}

// preview answers POST /v2/bookings/{id}/pay/preview and so on: what the action would do, which changes nothing.
func (s *Server) preview(action booking.Action) func(http.ResponseWriter, *http.Request, *auth.Partner) error {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		sel, err := s.subset(w, r, p)
		if err != nil {
			return err
		}
		var list []booking.Outlook
		var now time.Time
		if unread := s.st.View(func(st *State, at time.Time) {
			list, err = st.Bookings.Preview(at, st.timetable, sel, action)
			now = at
		}); unread != nil {
			return unread
		}
		refused := slices.ContainsFunc(list, func(x booking.Outlook) bool { return x.Reason != "" })
		return show(w, err, func(w *wire.Writer) {
			w.Bool("allowed", !refused)
			wire.Each(w, "tickets", list, func(x booking.Outlook) { writeOutlook(w, &x, now) })
		})
	}
}

// writeOutlook writes what would happen to a ticket. The rules are those that its refund would follow, one a leg.
func writeOutlook(w *wire.Writer, x *booking.Outlook, now time.Time) {
	var rules []*schedule.RefundRule
	if x.Refund != nil {
		for i, term := range x.Refund.Terms {
			list := x.Itinerary()[i].Run.Form.Rules
			if k := slices.IndexFunc(list, func(r schedule.RefundRule) bool { return r.ID == term.Rule }); k >= 0 {
				rules = append(rules, &list[k])
			}
		}
	}
	w.Object("")
	writeID(w, "ticketId", x.ID)
	w.Bool("allowed", x.Reason == "")
	w.OptionalString("reason", x.Reason)
	if c := x.Refund; c != nil && c.Refunded {
		w.Hundredths("refundAmount", c.Refund)
	} else {
		w.Null("refundAmount")
	}
	if len(rules) > 0 {
		writeRule(w, "rule", rules[0])
	} else {
		w.Null("rule")
	}
	wire.Each(w, "rules", rules, func(r *schedule.RefundRule) { writeRule(w, "", r) })
	w.Hundredths("hoursBeforeDeparture", int64(math.Floor(x.Departure().Sub(now).Hours()*100)))
	w.EndObject()
}

// readSubset reads the optional body of pay, book and cancel: nil is all tickets.
func readSubset(w http.ResponseWriter, r *http.Request) ([]booking.ID, error) {
	var tickets, orders []booking.ID
	err := readBody(w, r, true, func(in *wire.Reader) {
		in.Fields(
			wire.May("ticketIds", func() { tickets = readIDs(in) }),
			wire.May("orderIds", func() { orders = readIDs(in) }),
		)
	})
	if tickets == nil {
		tickets = orders
	}
	return tickets, err
}

// readIDs reads ids, at least one.
func readIDs(r *wire.Reader) (ids []booking.ID) {
	if r.ArrayOf(maxIDs, func(int) { ids = append(ids, parseID(r.String())) }) && len(ids) == 0 {
		r.Reject("must have at least one id")
	}
	return ids
}
