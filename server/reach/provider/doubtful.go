package provider

import (
	"errors"
	"sync"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
	"waybill/store/live"
)

// Tickets in doubt: the provider was asked about them, or was to be, its answer was not kept, and no client
// waits for it any more, since a crash or an answer with a doubt. So the mark is not taken off after a time
// without an answer, as it is while a client waits.

const (
	askAgainAfter = 30 * time.Second // at first; then each time after twice as long
	askAgainMost  = 5 * time.Minute
)

// unanswered says when the provider is asked again.
type unanswered struct {
	due   time.Time
	pause time.Duration // after the next time without an answer
}

// Take keeps the loop from asking about tickets: a request does. It is called under the lock with the update
// that marks them.
func (s *Confirmer) Take(list []Confirmation) {
	for _, c := range list {
		s.taken.Store(c.Ticket, true)
	}
}

// GiveBack ends what Take began. The loop asks about those tickets that are still marked.
func (s *Confirmer) GiveBack(list []Confirmation) {
	if len(list) == 0 {
		return
	}
	for _, c := range list {
		s.taken.Delete(c.Ticket)
	}
	s.again.Wake()
}

// Start looks at the tickets in doubt that a start finds. A copy that a test bench has made leaves them to
// its parent, which has asked. A server without a provider has nobody to ask: its tickets stay marked, and
// the log says how to go on.
func (s *Confirmer) Start(forked bool) {
	list, _, _ := s.inDoubt()
	if forked {
		s.Take(list)
	} else if len(list) > 0 && s.Confirm == nil {
		s.Log.Warn("tickets wait for a provider's answer, but no provider is configured; set "+
			"-provider-url, or answer with waybill ticket answer",
			"tickets", len(list), "list", "waybill ticket asked", "answer", "waybill ticket answer")
	}
}

// inDoubt returns the questions that nobody asks, and the instant, once all that it has seen counts.
func (s *Confirmer) inDoubt() (list []Confirmation, now time.Time, err error) {
	err = s.Store.Await(s.Base, func(st ledger.State, at time.Time) uint64 {
		now = at
		st.Bookings.EachPending(func(b *booking.Booking, t *booking.Ticket, ask booking.Ask) {
			if _, others := s.taken.Load(t.ID); !others {
				list = append(list, Confirmation{ask.Key.String(), t.Pending, b.Partner, b.ID, t.ID})
			}
		})
		return live.All
	})
	return list, now, err
}

// askAgain asks about the tickets in doubt that are due, and returns the time until the next.
func (s *Confirmer) askAgain() (wait time.Duration, err error) {
	if s.Confirm == nil {
		return web.Rarely, nil
	}
	list, now, err := s.inDoubt()
	if err != nil {
		return 0, err
	}
	left := map[ids.ID]*unanswered{}
	var asked sync.WaitGroup
	for _, c := range list {
		x := s.unanswered[c.Ticket]
		if x == nil {
			x = &unanswered{pause: askAgainAfter}
		}
		left[c.Ticket] = x
		if x.due.After(now) {
			continue
		}
		asked.Go(func() {
			if s.askOnce(c) {
				x.pause = 0
			}
		})
		if s.Still.Load() {
			asked.Wait() // the order of the answers must not depend on chance
		}
	}
	asked.Wait()
	s.unanswered = left
	wait = web.Rarely
	now, err = s.Now()
	for ticket, x := range left {
		if x.pause == 0 {
			delete(left, ticket)
			continue
		}
		if !x.due.After(now) {
			x.due = now.Add(x.pause)
			x.pause = min(2*x.pause, askAgainMost)
		}
		wait = min(wait, x.due.Sub(now))
	}
	return wait, err
}

// askOnce asks the provider about a ticket, and reports whether it has answered.
func (s *Confirmer) askOnce(c Confirmation) bool {
	refusal := s.ask(s.Base, c)
	said := booking.Confirm
	if refusal != nil {
		said = booking.Refuse
		s.Log.Warn("the provider did not confirm a ticket", "ticket", c.Ticket, "key", c.Key, "err", refusal)
	}
	if refusal != nil && !errors.Is(refusal, outbound.ErrRefused) {
		return false
	}
	if _, err := s.keepAnswer(s.Base, c.Ticket, said); err != nil {
		s.Log.Error("the provider's answer was not kept; the next start asks again",
			"ticket", c.Ticket, "err", err)
	}
	return true
}
