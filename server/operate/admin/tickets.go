package admin

import (
	"errors"
	"fmt"
	"slices"
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

// adminTicketCancel cancels tickets in their partners' place, by the same decision (decision ticket.cancel):
// all of them, or none.
func (s *Executor) adminTicketCancel(a *Act) (string, error) {
	tickets := slices.Compact(slices.Sorted(strings.SplitSeq(a.Form.Get("tickets"), ",")))
	var said []string
	_, err := s.Store.Update(func(st ledger.State, now time.Time) (entries []ledger.Entry, err error) {
		said = nil
		for _, text := range tickets {
			b, t := st.Bookings.AnyTicket(ids.Of(text))
			if b == nil {
				return nil, fmt.Errorf("there is no ticket %s; nothing is canceled", text)
			}
			sel := booking.Selection{Partner: b.Partner, Tickets: []ids.ID{t.ID}}
			list, err := st.Cancel(now, sel, "", a.Form.Get("reason"), s.Phones)
			if err != nil {
				return nil, fmt.Errorf("ticket %s: %w; nothing is canceled", text, err)
			}
			for i := range list {
				list[i].By = &a.By
				e, ok := list[i].Event.(*booking.TicketsCanceled)
				if !ok {
					continue
				}
				said = append(said, fmt.Sprintf("ticket %s, %s", text, story.Refund(t, &e.Tickets[0])))
				if len(e.Tickets[0].Sends) == 0 {
					said = append(said, "  its passenger cannot be reached, and is not told")
				}
			}
			entries = append(entries, list...)
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
