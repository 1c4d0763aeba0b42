package partner

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/reach/provider"
	"waybill/store/live"
)

// Act answers POST /v2/bookings/{id}/pay, /book and /cancel.
func (s *Seller) Act(action booking.Action) keyedHandler {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner, try *Attempt) error {
		sel, err := s.subset(w, r, p)
		if err != nil {
			return err
		}
		var b *booking.Booking
		var now time.Time
		write := s.bookingReply(&b, &now)
		// Earlier attempts under the same key may have got through some of the tickets.
		sel.Done = try.done
		try.willAnswer(http.StatusOK, write)
		seq, err := s.Perform(w, r, sel, action, try, func(st ledger.State, at time.Time) {
			b = st.Bookings.Booking(sel.Partner, *sel.Booking)
			now = at
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

// subset reads the tickets that an action is for. Whether there is such a booking comes before what is wrong
// with the body.
func (s *Seller) subset(w http.ResponseWriter, r *http.Request, p *auth.Partner) (booking.Selection, error) {
	id := ids.Of(r.PathValue("id"))
	tickets, err := readSubset(w, r)
	if err != nil {
		_, _, missing := s.view(r, p)
		err = cmp.Or(missing, err)
	}
	return booking.Selection{
		Partner: p.ID,
		Booking: &id,
		Tickets: tickets,
	}, err
}

// deed is an action on its way: the tickets that it is for, and the questions to the provider.
type deed struct {
	*Seller
	sel     booking.Selection
	action  booking.Action
	request string // its id
	try     *Attempt
	asks    bool // the provider is to be asked
	asked   []provider.Confirmation
}

// Perform does an action with the tickets of a selection. after sees the state as the action left it; seq is
// the number of its last line.
//
// Without a provider the action is done by one update. With one, an update marks the tickets as asked, each
// answer is kept by an update of its own, and one more closes the request where it has an Idempotency-Key.
func (s *Seller) Perform(w http.ResponseWriter, r *http.Request, sel booking.Selection,
	action booking.Action, try *Attempt,
	after func(ledger.State, time.Time)) (seq uint64, err error) {
	// Decided under the lock, with the state as it then is.
	d := &deed{
		Seller:  s,
		sel:     sel,
		action:  action,
		request: web.RequestID(r),
		try:     try,
		asks:    s.provider.For(r.Context()) != nil,
	}
	seq, err = s.Update(w, d.decide, func(st ledger.State, now time.Time) {
		s.provider.Take(d.asked)
		after(st, now)
	})
	defer func() {
		s.provider.GiveBack(d.asked) // of what is not answered, after a doubt too, nobody else asks
		s.Outgoing.Wake()
	}()
	if errors.Is(err, live.ErrFull) && len(try.done) > 0 {
		return seq, web.ErrDoneBefore
	}
	if err != nil || d.asked == nil {
		return seq, err
	}
	// Nobody but the provider ends what the provider was asked.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), provider.ConfirmTime)
	defer cancel()
	seq, err = s.provider.ConfirmAll(ctx, d.asked)
	if err != nil {
		return seq, err
	}
	if try.last == nil {
		return seq, s.Store.View(after)
	}
	seq, err = s.UpdateWithRoom(ctx, d.close, after)
	if web.Later(err) {
		// The tickets are paid or booked, and a repetition under the key goes on from here.
		err = web.ErrAnswerWaits
	}
	return seq, err
}

// decide returns what the action changes, or marks.
func (d *deed) decide(st ledger.State, now time.Time) ([]ledger.Entry, error) {
	d.asked = nil // it may be decided again
	if d.action == booking.Cancel {
		return d.decideCancel(st, now)
	}
	list, err := st.Bookings.Settle(now, st.Timetable(), d.sel, d.action, d.request)
	if err != nil {
		return nil, err
	}
	var entries []ledger.Entry
	for _, e := range list {
		entries = append(entries, st.Unnoticed(now, e.Ticket)...)
		if d.asks {
			entries = append(entries, d.ask(st, e))
			continue
		}
		e.Sends = st.Bookings.Contacts(e.Ticket, d.Phones)
		entries = append(entries, ledger.Entry{
			Event:       e.Event(d.action),
			Idempotency: d.try.named(),
		})
	}
	// Without a provider the answer is known now, and closes the request in the same batch.
	if d.asked == nil {
		entries = append(entries, d.try.closing(d.sel)...)
	}
	return entries, nil
}

// decideCancel returns what canceling the tickets changes.
func (d *deed) decideCancel(st ledger.State, now time.Time) ([]ledger.Entry, error) {
	entries, err := st.Cancel(now, d.sel, d.request, "", d.Phones)
	for i := range entries {
		if _, ok := entries[i].Event.(*booking.TicketsCanceled); ok {
			entries[i].Idempotency = d.try.last
		}
	}
	return entries, err
}

// ask returns the line that marks a ticket as pending, and records the question for the provider.
func (d *deed) ask(st ledger.State, e *booking.Settled) ledger.Entry {
	// The same question has the same key, also after a crash: the provider knows it again.
	key := st.Bookings.AskKey(e.Ticket, d.action, d.NewID())
	d.asked = append(d.asked, provider.Confirmation{
		Key:     key.String(),
		Action:  d.action,
		Partner: d.sel.Partner,
		Booking: e.Booking,
		Ticket:  e.Ticket,
	})
	ask := &booking.TicketAsked{
		Settled: *e,
		Action:  d.action,
		Key:     key,
	}
	return ledger.Entry{
		Event:       ask,
		Idempotency: d.try.named(),
	}
}

// close returns the line that closes a request with a key once the provider has answered.
func (d *deed) close(st ledger.State, _ time.Time) ([]ledger.Entry, error) {
	if _, err := st.Bookings.Select(d.sel); err != nil {
		return nil, err // its tickets have moved away meanwhile
	}
	return d.try.closing(d.sel), nil
}

// readSubset reads the optional body of pay, book and cancel: nil is all tickets.
func readSubset(w http.ResponseWriter, r *http.Request) ([]ids.ID, error) {
	var tickets, orders []ids.ID
	err := web.ReadBody(w, r, true, func(in *wire.Reader) {
		in.Fields(
			wire.May("ticketIds", func() {
				tickets = ReadIDs(in)
			}),
			wire.May("orderIds", func() {
				orders = ReadIDs(in)
			}),
		)
	})
	if tickets == nil {
		tickets = orders
	}
	return tickets, err
}

// ReadIDs reads ids, at least one.
func ReadIDs(r *wire.Reader) (list []ids.ID) {
	if r.ArrayOf(web.MaxIDs, func(int) {
		list = append(list, ids.Of(r.String()))
	}) && len(list) == 0 {
		r.Reject("must have at least one id")
	}
	return list
}
