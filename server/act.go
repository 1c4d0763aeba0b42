package server

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/wire"
)

// act answers POST /v2/bookings/{id}/pay, /book and /cancel.
func (s *Server) act(action booking.Action) func(http.ResponseWriter, *http.Request, *auth.Partner) error {
	return func(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
		ids, err := readSubset(w, r)
		if err != nil {
			// Whether there is such a booking comes before what is wrong with the body.
			_, _, missing := s.view(r, p)
			return cmp.Or(missing, err)
		}
		id := parseID(r.PathValue("id"))
		var b *booking.Booking
		var now time.Time
		seq, err := s.perform(r, booking.Selection{Partner: booking.ID(p.ID), Booking: &id, Tickets: ids}, action,
			func(st *State, at time.Time) { b, now = st.Bookings.Booking(booking.ID(p.ID), id), at })
		if err == nil && b == nil {
			err = errNotFound // its tickets have moved away while the provider was asked
		}
		return showWritten(w, seq, err, func(w *wire.Writer) { writeBooking(w, "booking", b, now) })
	}
}

// perform does it. after sees the state as the action left it; seq is the number of its last line.
func (s *Server) perform(r *http.Request, sel booking.Selection, action booking.Action, after func(*State, time.Time)) (seq uint64, err error) {
	var asked []Confirmation
	seq, err = s.st.Update(func(st *State, now time.Time) (events []Event, err error) {
		if action == booking.Cancel {
			list, err := st.Bookings.Cancel(now, sel, requestID(r))
			for _, e := range list {
				events = append(events, e)
			}
			return events, err
		}
		list, err := st.Bookings.Settle(now, st.timetable, sel, action, requestID(r))
		for _, e := range list {
			if s.cfg.Confirm == nil {
				events = append(events, e.By(action))
				continue
			}
			key := s.newID()
			asked = append(asked, Confirmation{key.String(), action, e.Booking, e.Ticket})
			events = append(events, &booking.Asked{Settled: *e, Action: action, Key: key})
		}
		return events, err
	}, after)
	if err != nil || asked == nil {
		return seq, err
	}
	// Nobody but the provider ends what the provider was asked.
	if seq, err = s.confirm(context.WithoutCancel(r.Context()), asked); err == nil {
		err = s.st.View(after)
	}
	return seq, err
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
	if a.refusal != nil {
		s.log.Warn("the provider did not confirm a ticket", "ticket", c.Ticket, "key", c.Key, "err", a.refusal)
	}
	a.seq, a.err = s.do(func(st *State, _ time.Time) (Event, error) {
		return st.Bookings.Answer(c.Ticket, a.refusal == nil)
	})
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
		for _, c := range list {
			if a := s.confirmOne(s.base, c); a.err != nil {
				s.log.Error("an answer of the provider could not be kept", "ticket", c.Ticket, "err", a.err)
			}
		}
	})
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
	if r.Array(func(int) { ids = append(ids, parseID(r.String())) }) && len(ids) == 0 {
		r.Reject("must have at least one id")
	}
	return ids
}
