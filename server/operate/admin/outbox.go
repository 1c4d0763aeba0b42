package admin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/server/frame/web"
	"waybill/server/frame/words"
	"waybill/server/ledger"
)

// adminOutboxList lists the messages that are not sent yet, the oldest first, and says why.
func (s *Executor) adminOutboxList(a *Act) (string, error) {
	var messages []*ledger.Message
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		messages = st.Outbox.All()
	})
	slices.SortFunc(messages, func(a, b *ledger.Message) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	// What is listed is what there is to know to decide what to do with a message.
	type row struct {
		ID     string    `json:"id"`
		Since  time.Time `json:"since"`
		To     string    `json:"to"`
		Ticket string    `json:"ticket"`
		Action string    `json:"action"`
		State  string    `json:"state"`
		Reason string    `json:"reason"`
	}
	list := []row{}
	for _, m := range messages {
		x := row{
			ID:     m.ID,
			Since:  m.At,
			To:     m.To,
			Ticket: m.Ticket.String(),
			Action: m.Action.String(),
			State:  "parked",
			Reason: m.Parked,
		}
		if m.Parked == "" {
			x.State = "waiting"
			x.Reason = s.outbox.Why(m)
		}
		list = append(list, x)
	}
	if err != nil || a.JSON() {
		return asJSON(list), err
	}
	var out strings.Builder
	for _, x := range list {
		fmt.Fprintf(&out, "%s  since %s  %s of ticket %s, %s  %s: %s\n",
			x.ID, x.Since.Format(time.RFC3339), x.To, x.Ticket, x.Action, x.State, x.Reason)
	}
	out.WriteString(words.Counted(len(list), "message") + words.Are(len(list)) + "not sent")
	files, uncounted := s.outbox.FileCount()
	if uncounted == nil && files > 0 { // else the list is worth showing all the same
		fmt.Fprintf(&out, "; %s became files in %s/, which nobody has sent", words.Counted(files, "e-mail"),
			ledger.OutboxDir)
	}
	return out.String(), nil
}

var errNoneParked = errors.New("no message is parked")

// adminOutboxRetry has a parked message tried again, or all.
func (s *Executor) adminOutboxRetry(a *Act) (string, error) {
	id := a.Form.Get("message")
	retried := 0
	err := s.administer(a.By, func(st ledger.State, _ time.Time) (ledger.Event, error) {
		e := new(ledger.MessagesRetried)
		for _, m := range st.Outbox.All() {
			if m.Parked != "" && (id == "all" || id == m.ID) {
				e.IDs = append(e.IDs, m.ID)
			}
		}
		slices.Sort(e.IDs)
		switch {
		case e.IDs == nil && id == "all":
			return nil, errNoneParked
		case e.IDs == nil:
			return nil, fmt.Errorf("no parked message is %s; waybill outbox list shows them", id)
		}
		retried = len(e.IDs)
		return e, nil
	})
	if errors.Is(err, errNoneParked) {
		err = nil
	}
	web.Wake(s.Outgoing)
	return words.Counted(retried, "message") + words.Are(retried) + "tried again", err
}
