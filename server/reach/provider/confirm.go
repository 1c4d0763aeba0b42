package provider

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"waybill/booking"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/live"
)

// What the provider is asked, and what becomes of its answers. A ticket is first marked as asked, by a
// durable line; it stays so until an answer is kept. Nothing but an answer ends that: neither a start
// without a provider, nor a verb that opens the directory, nor a disk that has no room for the answer just
// then.

// maxConfirming is how many tickets of one request are confirmed at a time.
const maxConfirming = 16

// ConfirmAll asks the provider about each ticket, all at a time, and commits each answer by itself: tickets
// that are not confirmed do not undo the others.
func (s *Confirmer) ConfirmAll(ctx context.Context, asked []Confirmation) (last uint64, err error) {
	answers := make([]verdict, len(asked))
	var wg sync.WaitGroup
	atATime := maxConfirming
	if s.Still.Load() {
		atATime = 1 // whose answer comes first is no matter of chance
	}
	room := make(chan struct{}, atATime)
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
		last = max(last, a.seq)
		err = cmp.Or(err, a.err)
		if a.refusal != nil {
			undone = append(undone, asked[i].Ticket)
		}
	}
	if err == nil && undone != nil {
		err = web.Detailed(http.StatusInternalServerError, "PROVIDER_FAILED",
			"the provider did not confirm these tickets", web.WriteOrders(undone))
	}
	return last, err
}

// verdict is what the provider said of a ticket, and the line that keeps it.
type verdict struct {
	refusal error // nil: it confirmed
	seq     uint64
	err     error // it could not be kept
}

// ask asks about one ticket, once there is a place for a call. Without a place in time nobody is asked, which
// is an answer that decides nothing.
func (s *Confirmer) ask(ctx context.Context, c Confirmation) error {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
		return s.For(ctx)(ctx, c)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// confirmOne asks about one ticket and commits the answer.
func (s *Confirmer) confirmOne(ctx context.Context, c Confirmation) verdict {
	refusal := s.ask(ctx, c)
	said := booking.Confirm
	switch {
	case refusal == nil:
	case errors.Is(refusal, outbound.ErrRefused):
		said = booking.Refuse
	case s.Base.Err() != nil: // it was broken off: the next start asks again
		return verdict{refusal: refusal, err: web.ErrUnavailable}
	default:
		said = booking.Silence
	}
	if refusal != nil {
		s.Log.Warn("the provider did not confirm a ticket", "ticket", c.Ticket, "key", c.Key, "err", refusal)
	}
	seq, err := s.keepAnswer(ctx, c.Ticket, said)
	return verdict{refusal, seq, err}
}

// Answer returns the lines that say what was answered about a ticket: by the provider, or in its place by
// somebody, with a reason. The error is that it was not asked about, or was answered. Store.Update calls it.
func (s *Confirmer) Answer(st ledger.State, now time.Time, ticket booking.ID, said booking.Verdict,
	reason string, by *ledger.By) ([]ledger.Entry, error) {
	e, err := st.Bookings.Answer(ticket, said, reason, s.Phones)
	if err != nil {
		return nil, err
	}
	answer := ledger.Entry{
		Event: e,
		By:    by,
	}
	entries := []ledger.Entry{answer}
	if said == booking.Confirm {
		entries[0].Idempotency = st.KeyedRequests.AskedUnder(ticket)
	} else {
		entries = append(entries, st.Unnoticed(now, ticket)...) // its window may be over by now
	}
	// Its run may be cancelled by now.
	if canceled := st.Bookings.CancelAnswered(now, ticket, said, s.Phones); canceled != nil {
		entries = append(entries, ledger.Entry{Event: canceled})
	}
	return entries, nil
}

// keepAnswer commits an answer. On a full disk it waits for room until ctx is over, and then goes on in the
// background: the answer will not come again.
func (s *Confirmer) keepAnswer(ctx context.Context, ticket booking.ID,
	said booking.Verdict) (seq uint64, err error) {
	defer web.Wake(s.Outgoing)
	keep := func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		return s.Answer(st, now, ticket, said, "", nil)
	}
	seq, err = s.UpdateWithRoom(ctx, keep, nil)
	if !errors.Is(err, live.ErrFull) {
		return seq, err
	}
	s.Log.Warn("the provider's answer is kept as soon as the disk has room", "ticket", ticket)
	s.Tasks.Go(func() {
		if _, err := s.UpdateWithRoom(s.Base, keep, nil); err != nil {
			s.Log.Warn("the provider's answer was not kept; the next start asks again",
				"ticket", ticket, "err", err)
			return
		}
		web.Wake(s.Outgoing)
	})
	return 0, web.ErrAnswerWaits
}
