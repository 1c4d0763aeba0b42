package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
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
		if err != nil {
			return err
		}
		if b == nil {
			return errNotFound // its tickets have moved away while the provider was asked
		}
		wrote(w, seq)
		return reply(w, http.StatusOK, func(w *wire.Writer) { writeBooking(w, "booking", b, now) })
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

// confirm asks the provider about each ticket, all at a time, and commits each
// answer by itself. Tickets that are not confirmed do not undo the others.
func (s *Server) confirm(ctx context.Context, asked []Confirmation) (last uint64, err error) {
	var wg sync.WaitGroup
	room := make(chan struct{}, maxConfirming)
	seqs, errs := make([]uint64, len(asked)), make([]error, len(asked))
	for i, c := range asked {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			seqs[i], errs[i] = s.confirmOne(ctx, c)
		})
	}
	wg.Wait()
	var undone []booking.ID
	for i, c := range asked {
		if errors.Is(errs[i], errRefused) {
			undone = append(undone, c.Ticket)
		} else {
			err = cmp.Or(err, errs[i])
		}
	}
	if err == nil && undone != nil {
		err = detailed(http.StatusInternalServerError, "PROVIDER_FAILED", "the provider did not confirm these tickets", writeOrders(undone))
	}
	return slices.Max(seqs), err
}

// errRefused tells that the provider did not confirm a ticket, and that this is committed.
var errRefused = errors.New("server: the provider did not confirm the ticket")

// confirmOne asks about one ticket and commits the answer.
func (s *Server) confirmOne(ctx context.Context, c Confirmation) (seq uint64, err error) {
	refusal := error(nil)
	if s.cfg.Confirm != nil {
		refusal = s.cfg.Confirm(ctx, c)
	}
	if refusal != nil {
		s.log.Warn("the provider did not confirm a ticket", "ticket", c.Ticket, "key", c.Key, "err", refusal)
	}
	seq, err = s.do(func(st *State, _ time.Time) (Event, error) {
		return st.Bookings.Answer(c.Ticket, refusal == nil)
	})
	if err == nil && refusal != nil {
		err = errRefused
	}
	return seq, err
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
			if _, err := s.confirmOne(s.base, c); err != nil && !errors.Is(err, errRefused) {
				s.log.Error("an answer of the provider could not be kept", "ticket", c.Ticket, "err", err)
			}
		}
	})
}

// readSubset reads the optional body of pay, book and cancel: nil is all tickets.
func readSubset(w http.ResponseWriter, r *http.Request) ([]booking.ID, error) {
	b, err := body(w, r)
	if err != nil || len(b) == 0 {
		return nil, err
	}
	var tickets, orders []booking.ID
	in := wire.NewReader(b)
	in.Fields(
		wire.May("ticketIds", func() { tickets = readIDs(in) }),
		wire.May("orderIds", func() { orders = readIDs(in) }),
	)
	if err := finish(in); err != nil || tickets != nil {
		return tickets, err
	}
	return orders, nil
}

// readIDs reads ids, at least one.
func readIDs(r *wire.Reader) (ids []booking.ID) {
	if r.Array(func(int) { ids = append(ids, parseID(r.String())) }) && len(ids) == 0 {
		r.Reject("must have at least one id")
	}
	return ids
}
