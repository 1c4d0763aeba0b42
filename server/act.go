package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/wire"
	"waybill/store"
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
		seq, err := s.perform(r, sel, action, try, func(st *ledger.State, at time.Time) {
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
func (s *Server) perform(r *http.Request, sel booking.Selection, action booking.Action, try *attempt, after func(*ledger.State, time.Time)) (seq uint64, err error) {
	var asked []Confirmation
	seq, err = s.st.Update(func(st *ledger.State, now time.Time) (entries []ledger.Entry, err error) {
		asked = nil // it may be decided again
		if action == booking.Cancel {
			list, err := st.Bookings.Cancel(now, sel, requestID(r))
			for _, e := range list {
				for i := range e.Tickets {
					t := &e.Tickets[i]
					t.Sends = st.Bookings.Contacts(t.ID, s.messenger != nil)
					entries = append(entries, unnoticed(st, now, t.ID)...)
				}
				entries = append(entries, ledger.Entry{Event: e, Idempotency: try.last})
			}
			return entries, err
		}
		list, err := st.Bookings.Settle(now, st.Timetable, sel, action, requestID(r))
		for _, e := range list {
			entries = append(entries, unnoticed(st, now, e.Ticket)...)
			if s.cfg.Confirm == nil {
				e.Sends = st.Bookings.Contacts(e.Ticket, s.messenger != nil)
				entries = append(entries, ledger.Entry{Event: e.By(action), Idempotency: try.named()})
				continue
			}
			key := st.Bookings.AskKey(e.Ticket, action, s.newID())
			asked = append(asked, Confirmation{key.String(), action, e.Booking, e.Ticket})
			ask := &booking.Asked{Settled: *e, Action: action, Key: key}
			entries = append(entries, ledger.Entry{Event: ask, Idempotency: try.named()})
		}
		if err == nil && asked == nil {
			entries = append(entries, try.closing(sel)...)
		}
		return entries, err
	}, after)
	if errors.Is(err, store.ErrFull) && len(try.done) > 0 {
		return seq, errDoneBefore
	}
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
	seq, err = s.updateWithRoom(ctx, func(st *ledger.State, _ time.Time) ([]ledger.Entry, error) {
		if _, err := st.Bookings.Select(sel); err != nil {
			return nil, err // its tickets have moved away meanwhile
		}
		return try.closing(sel), nil
	}, after)
	if errors.Is(err, store.ErrFull) {
		err = errAnswerWaits // what was asked for is done, and a repetition under the key goes on from here
	}
	return seq, err
}

// unnoticed returns the notices that a ticket needs before what is done to it.
func unnoticed(st *ledger.State, now time.Time, ticket booking.ID) []ledger.Entry {
	return ledger.Entries(st.Bookings.Unnoticed(now, []booking.ID{ticket})...)
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
