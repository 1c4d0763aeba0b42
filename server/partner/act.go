package partner

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/provider"
	"waybill/server/web"
	"waybill/server/wire"
	"waybill/store"
)

// Act answers POST /v2/bookings/{id}/pay, /book and /cancel.
func (s *Service) Act(action booking.Action) func(http.ResponseWriter, *http.Request, *auth.Partner, *Attempt) error {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner, try *Attempt) error {
		sel, err := s.subset(w, r, p)
		if err != nil {
			return err
		}
		var b *booking.Booking
		var now time.Time
		write := oneBooking(&b, &now)
		sel.Done = try.done
		try.answered(http.StatusOK, write)
		seq, err := s.Perform(r, sel, action, try, func(st *ledger.State, at time.Time) {
			b, now = st.Bookings.Booking(sel.Partner, *sel.Booking), at
		})
		if err == nil && b == nil {
			err = web.ErrNotFound // its tickets have moved away while the provider was asked
		}
		if err == nil {
			web.Wrote(w, seq)
			web.Send(w, http.StatusOK, write)
		}
		return err
	}
}

// subset reads the tickets that an action is for. Whether there is such a booking comes before what is wrong with the body.
func (s *Service) subset(w http.ResponseWriter, r *http.Request, p *auth.Partner) (booking.Selection, error) {
	id := booking.IDOf(r.PathValue("id"))
	ids, err := readSubset(w, r)
	if err != nil {
		_, _, missing := s.view(r, p)
		err = cmp.Or(missing, err)
	}
	return booking.Selection{Partner: booking.ID(p.ID), Booking: &id, Tickets: ids}, err
}

// Perform does it. after sees the state as the action left it; seq is the number of its last line.
func (s *Service) Perform(r *http.Request, sel booking.Selection, action booking.Action, try *Attempt, after func(*ledger.State, time.Time)) (seq uint64, err error) {
	var asked []provider.Confirmation
	seq, err = s.Store.Update(func(st *ledger.State, now time.Time) (entries []ledger.Entry, err error) {
		asked = nil // it may be decided again
		if action == booking.Cancel {
			list, err := st.Bookings.Cancel(now, sel, web.RequestID(r))
			for _, e := range list {
				for i := range e.Tickets {
					t := &e.Tickets[i]
					t.Sends = st.Bookings.Contacts(t.ID, s.Phones)
					entries = append(entries, st.Unnoticed(now, t.ID)...)
				}
				entries = append(entries, ledger.Entry{Event: e, Idempotency: try.last})
			}
			return entries, err
		}
		list, err := st.Bookings.Settle(now, st.Timetable, sel, action, web.RequestID(r))
		for _, e := range list {
			entries = append(entries, st.Unnoticed(now, e.Ticket)...)
			if s.provider.Confirm == nil {
				e.Sends = st.Bookings.Contacts(e.Ticket, s.Phones)
				entries = append(entries, ledger.Entry{Event: e.By(action), Idempotency: try.named()})
				continue
			}
			key := st.Bookings.AskKey(e.Ticket, action, s.NewID())
			asked = append(asked, provider.Confirmation{Key: key.String(), Action: action, Booking: e.Booking, Ticket: e.Ticket})
			ask := &booking.Asked{Settled: *e, Action: action, Key: key}
			entries = append(entries, ledger.Entry{Event: ask, Idempotency: try.named()})
		}
		if err == nil && asked == nil {
			entries = append(entries, try.closing(sel)...)
		}
		return entries, err
	}, after)
	if errors.Is(err, store.ErrFull) && len(try.done) > 0 {
		return seq, web.ErrDoneBefore
	}
	if err != nil || asked == nil {
		web.Wake(s.Posted)
		return seq, err
	}
	// Nobody but the provider ends what the provider was asked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), provider.ConfirmTime)
	defer cancel()
	if seq, err = s.provider.ConfirmAll(ctx, asked); err != nil {
		return seq, err
	}
	if try.last == nil {
		return seq, s.Store.View(after)
	}
	seq, err = s.provider.UpdateWithRoom(ctx, func(st *ledger.State, _ time.Time) ([]ledger.Entry, error) {
		if _, err := st.Bookings.Select(sel); err != nil {
			return nil, err // its tickets have moved away meanwhile
		}
		return try.closing(sel), nil
	}, after)
	if errors.Is(err, store.ErrFull) {
		err = web.ErrAnswerWaits // what was asked for is done, and a repetition under the key goes on from here
	}
	return seq, err
}

// readSubset reads the optional body of pay, book and cancel: nil is all tickets.
func readSubset(w http.ResponseWriter, r *http.Request) ([]booking.ID, error) {
	var tickets, orders []booking.ID
	err := web.ReadBody(w, r, true, func(in *wire.Reader) {
		in.Fields(
			wire.May("ticketIds", func() { tickets = ReadIDs(in) }),
			wire.May("orderIds", func() { orders = ReadIDs(in) }),
		)
	})
	if tickets == nil {
		tickets = orders
	}
	return tickets, err
}

// ReadIDs reads ids, at least one.
func ReadIDs(r *wire.Reader) (ids []booking.ID) {
	if r.ArrayOf(web.MaxIDs, func(int) { ids = append(ids, booking.IDOf(r.String())) }) && len(ids) == 0 {
		r.Reject("must have at least one id")
	}
	return ids
}
