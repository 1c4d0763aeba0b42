package admin

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/words"
	"waybill/server/ledger"
	"waybill/server/proof/story"
)

// What an operator does with single tickets: moves and cancels them, gives them a status of the carrier's,
// and answers in the provider's place.

// adminTicketMove moves a ticket to another booking of its partner. Where its window is over, the notice of
// that comes before.
func (s *Executor) adminTicketMove(a *Act) (string, error) {
	ticket, _ := ids.Parse(a.Form.Get("ticket"))
	// Into a booking that there is, or a new one with an id of its own.
	var known *ids.ID
	target := s.NewID()
	if id, ok := ids.Parse(a.Form.Get("booking")); ok {
		known = &id
		target = id
	}
	_, err := s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		e, err := st.Bookings.Move(ticket, known, target)
		if err != nil {
			return nil, err
		}
		return append(st.Unnoticed(now, ticket), ledger.Entry{
			Event: e,
			By:    &a.By,
		}), nil
	}, nil)
	return target.String(), err
}

// adminTicketCancel cancels tickets in their partner's place, by the same decision (decision ticket.cancel):
// all of them, or none. It says what becomes of each, and of which passenger nobody is told.
func (s *Executor) adminTicketCancel(a *Act) (string, error) {
	var sel booking.Selection
	for text := range strings.SplitSeq(a.Form.Get("tickets"), ",") {
		sel.Tickets = append(sel.Tickets, ids.Of(text))
	}
	var said []string
	_, err := s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		if b, _ := st.Bookings.AnyTicket(sel.Tickets[0]); b != nil {
			sel.Partner = b.Partner
		}
		entries, err := st.Cancel(now, sel, "", a.Form.Get("reason"), s.Phones)
		wrong := sel.Tickets
		if refused, is := errors.AsType[*booking.Conflict](err); is {
			wrong = refused.Tickets
		}
		if err != nil { // one of another partner than the first is not found, too
			return nil, fmt.Errorf("nothing is canceled: %v: %w", wrong, err)
		}
		said = nil
		for i := range entries {
			entries[i].By = &a.By
			e, _ := entries[i].Event.(*booking.TicketsCanceled)
			for k := 0; e != nil && k < len(e.Tickets); k++ {
				x := &e.Tickets[k]
				_, t := st.Bookings.AnyTicket(x.ID)
				told := ""
				if len(x.Sends) == 0 {
					told = "; its passenger cannot be reached, and is not told"
				}
				said = append(said, fmt.Sprintf("ticket %s, %s%s", x.ID, story.Refund(t, x), told))
			}
		}
		if isDryRun(a.Form) {
			entries = nil
			said = append(said, "dry run: nothing is changed")
		}
		return entries, nil
	}, nil)
	s.Outgoing.Wake()
	return strings.Join(said, "\n"), err
}

// adminTicketStatus gives a ticket a status of the carrier's (decision carrier.status).
func (s *Executor) adminTicketStatus(a *Act) (string, error) {
	ticket, _ := ids.Parse(a.Form.Get("ticket"))
	status, _ := booking.ParseCarrier(a.Form.Get("status"))
	err := s.administer(a.By, func(st ledger.State, at time.Time) (ledger.Event, error) {
		return st.Bookings.SetCarrier(at, ticket, status)
	})
	return status.String(), err
}

// adminTicketAsked lists the tickets that a provider was asked about and has not answered.
func (s *Executor) adminTicketAsked(a *Act) (string, error) {
	type row struct {
		Ticket  string `json:"ticket"`
		Booking string `json:"booking"`
		Action  string `json:"action"`
		ID      string `json:"id"` // that the provider was asked under
	}
	list := []row{}
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		st.Bookings.EachPending(func(b *booking.Booking, t *booking.Ticket, ask booking.Ask) {
			list = append(list, row{t.ID.String(), b.ID.String(), t.Pending.String(), ask.Key.String()})
		})
	})
	if err != nil || a.JSON() {
		return asJSON(list), err
	}
	var out strings.Builder
	for _, x := range list {
		fmt.Fprintf(&out, "%s  of booking %s  asked to %s under the id %s\n", x.Ticket, x.Booking, x.Action,
			x.ID)
	}
	waits := " wait"
	if len(list) == 1 {
		waits = " waits"
	}
	return out.String() + words.Counted(len(list), "ticket") + waits + " for the provider's answer", nil
}

// verdicts are what an operator can answer.
var verdicts = map[string]booking.Verdict{
	"confirmed": booking.Confirm,
	"refused":   booking.Refuse,
}

// adminTicketAnswer answers in the provider's place about a ticket that it was asked about. A server that
// has a provider asks it again by itself, so that there the answer is the provider's alone.
func (s *Executor) adminTicketAnswer(a *Act) (string, error) {
	if s.provider.Confirm != nil {
		return "", errors.New("the configured provider answers about this ticket; to answer in its " +
			"place, stop the server or start it without -provider-url")
	}
	ticket, _ := ids.Parse(a.Form.Get("ticket"))
	verdict := verdicts[a.Form.Get("answer")]
	said := ""
	_, err := s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		lines, err := s.provider.Answer(st, now, ticket, verdict, a.Form.Get("reason"), &a.By)
		if err != nil { // who answers hears where to look for those that wait
			return nil, fmt.Errorf("the provider was not asked about ticket %s, or has answered; "+
				"waybill ticket asked lists those that wait", ticket)
		}
		return lines, nil
	}, func(st ledger.State, now time.Time) {
		_, t := st.Bookings.AnyTicket(ticket)
		status, payment := t.Status(now)
		said = fmt.Sprintf("%s is %s/%s", ticket, status, payment)
	})
	s.Outgoing.Wake()
	return said, err
}
