package provider

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
)

// How the provider is asked, and its answers are kept. A durable line first marks a ticket as asked; the mark
// stays until an answer is kept. Nothing else ends it: no start without a provider, no verb that opens the
// directory, no disk without room for the answer.

// ConfirmAll asks the provider about several tickets at a time, and journals each answer by itself: a ticket
// that is not confirmed undoes none of the others.
func (s *Confirmer) ConfirmAll(ctx context.Context, asked []Confirmation) (last uint64, err error) {
	answers := make([]outcome, len(asked))
	var wg sync.WaitGroup
	for i, c := range asked {
		wg.Go(func() { answers[i] = s.confirmOne(ctx, c) })
		if s.Still.Load() {
			wg.Wait() // the order of the answers must not depend on chance
		}
	}
	wg.Wait()
	var undone []ids.ID
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

// outcome is the provider's answer about a ticket, with the line that keeps it.
type outcome struct {
	refusal error // nil: it confirmed
	seq     uint64
	err     error // the answer could not be kept
}

// ask asks about one ticket as soon as there is a place for a call, which is the partner's and also of others
// that ask. If there is none in time, the error decides nothing about the ticket.
func (s *Confirmer) ask(ctx context.Context, c Confirmation, who ...string) error {
	leave, err := s.asking.Take(ctx, append(who, string(c.Partner[:]))...)
	if err != nil {
		return err
	}
	defer leave()
	return s.For(ctx)(ctx, c)
}

// confirmOne asks about one ticket, and journals the answer.
func (s *Confirmer) confirmOne(ctx context.Context, c Confirmation) outcome {
	refusal := s.ask(ctx, c)
	said := booking.Confirm
	switch {
	case refusal == nil:
	case errors.Is(refusal, outbound.ErrRefused):
		said = booking.Refuse
	case s.Base.Err() != nil: // the stop has broken it off: the next start asks again
		return outcome{refusal: refusal, err: web.ErrUnavailable}
	default:
		said = booking.Silence
	}
	if refusal != nil {
		s.Log.Warn("the provider did not confirm a ticket", "ticket", c.Ticket, "key", c.Key, "err", refusal)
	}
	seq, err := s.keepAnswer(ctx, c.Ticket, said)
	return outcome{refusal, seq, err}
}

// Answer returns the lines of an answer about a ticket: the provider's, or that of an operator in its place,
// with a reason. It returns an error if nobody has asked about the ticket, or an answer is kept already. It
// is called within Store.Update.
func (s *Confirmer) Answer(st ledger.State, now time.Time, ticket ids.ID, said booking.Verdict,
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

// keepAnswer journals an answer. On a full disk, and while the keeper is silent, it tries again until ctx is
// over. Then the ticket stays marked, and the loop asks again: the same question has the same answer.
func (s *Confirmer) keepAnswer(ctx context.Context, ticket ids.ID,
	said booking.Verdict) (seq uint64, err error) {
	defer s.Outgoing.Wake()
	seq, err = s.UpdateWithRoom(ctx, func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		return s.Answer(st, now, ticket, said, "", nil)
	}, nil)
	if web.Later(err) {
		s.Log.Warn("the provider's answer is not kept yet", "ticket", ticket, "err", err)
		err = web.ErrAnswerWaits
	}
	return seq, err
}
