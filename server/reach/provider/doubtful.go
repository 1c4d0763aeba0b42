package provider

import (
	"errors"
	"sync"
	"time"

	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/live"
)

// Tickets that a crash has left in doubt: the provider was asked about them, and its answer was not kept. No
// client waits for it any more. So the mark is not taken off after a time without an answer, as it is while a
// client waits.

const (
	askAgainAfter = 30 * time.Second // at first; then each time after twice as long
	askAgainMost  = 5 * time.Minute
)

// doubtful is a question that is asked again until it is answered.
type doubtful struct {
	Confirmation
	due   time.Time     // when it is asked again; zero: at once
	pause time.Duration // after the next time without an answer
}

// FindDoubtful finds each ticket whose answer was lost in a crash, for [Confirmer.RunDoubtful]. A server
// without a provider has nobody to ask: its tickets stay marked, and the log says how to go on.
func (s *Confirmer) FindDoubtful() {
	var list []*doubtful
	s.Store.View(func(st ledger.State, _ time.Time) {
		st.Bookings.EachPending(func(b *booking.Booking, t *booking.Ticket, ask booking.Ask) {
			list = append(list, &doubtful{
				Confirmation: Confirmation{ask.Key.String(), t.Pending, b.Partner, b.ID, t.ID},
				pause:        askAgainAfter,
			})
		})
	})
	if len(list) > 0 && s.Confirm == nil {
		s.Log.Warn("tickets wait for a provider's answer, but no provider is configured; set "+
			"-provider-url, or answer with waybill ticket answer",
			"tickets", len(list), "list", "waybill ticket asked", "answer", "waybill ticket answer")
		return
	}
	s.doubtful = list
}

// RunDoubtful asks again while the server runs. It ends once every question is answered, unless the clock may
// stand still: then it is asked whether there is something to do.
func (s *Confirmer) RunDoubtful() {
	for s.Base.Err() == nil && (len(s.doubtful) > 0 || s.Config.TestClock) {
		wait := time.Hour
		if !s.Still.Load() {
			wait = s.askDue()
		}
		select {
		case <-s.Base.Done():
		case <-time.After(wait):
		case done := <-s.again:
			s.askDue()
			done <- nil
		}
	}
}

// askDue asks the questions that are due, and returns the time until the next.
func (s *Confirmer) askDue() (wait time.Duration) {
	var now time.Time
	err := s.Store.Await(s.Base, func(_ ledger.State, at time.Time) uint64 {
		now = at
		return live.All
	})
	if err != nil {
		return time.Hour // the server ends
	}
	answered := make([]bool, len(s.doubtful))
	var asked sync.WaitGroup
	for i, d := range s.doubtful {
		if d.due.After(now) {
			continue
		}
		asked.Go(func() { answered[i] = s.askOnce(d) })
		if s.Still.Load() {
			asked.Wait()
		}
	}
	asked.Wait()
	wait = time.Hour
	var left []*doubtful
	now, _ = s.Now()
	for i, d := range s.doubtful {
		if answered[i] {
			continue
		}
		if !d.due.After(now) {
			d.due = now.Add(d.pause)
			d.pause = min(2*d.pause, askAgainMost)
		}
		wait = min(wait, d.due.Sub(now))
		left = append(left, d)
	}
	s.doubtful = left
	return wait
}

// askOnce asks the provider about a ticket, and reports whether it has answered.
func (s *Confirmer) askOnce(d *doubtful) bool {
	refusal := s.ask(s.Base, d.Confirmation, "in doubt") // half of the places are for requests of now
	said := booking.Confirm
	if refusal != nil {
		said = booking.Refuse
		s.Log.Warn("the provider did not confirm a ticket", "ticket", d.Ticket, "key", d.Key, "err", refusal)
	}
	if refusal != nil && !errors.Is(refusal, outbound.ErrRefused) {
		return false
	}
	if _, err := s.keepAnswer(s.Base, d.Ticket, said); err != nil {
		s.Log.Error("the provider's answer was not kept; the next start asks again",
			"ticket", d.Ticket, "err", err)
	}
	return true
}
