package admin

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waybill/server/frame/words"
	"waybill/server/ledger"
)

// outboxRow is a message in a list: what there is to know to decide what to do with it.
type outboxRow struct {
	ID     string        `json:"id"`
	Since  time.Time     `json:"since"`
	To     string        `json:"to"`
	Ticket string        `json:"ticket"`
	Action string        `json:"action"`
	State  string        `json:"state"`
	As     ledger.SentAs `json:"as,omitempty"` // of one that has left
	Reason string        `json:"reason"`
}

// newOutboxRow returns a message as one that waits.
func newOutboxRow(m *ledger.Message) outboxRow {
	return outboxRow{
		ID:     m.ID,
		Since:  m.At,
		To:     m.To,
		Ticket: m.Ticket.String(),
		Action: m.Action.String(),
		State:  "waiting",
	}
}

// leftRow returns a message that has left.
func leftRow(m *ledger.Left) outboxRow {
	x := newOutboxRow(&m.Message)
	x.State = "sent"
	x.As = m.As
	if m.As == ledger.SentAsErased {
		x.State = "erased"
		x.Reason = "not sent: the passenger was forgotten"
	}
	return x
}

// leftInWords says how many messages have left, and how; "" where none has.
func leftInWords(counts map[ledger.SentAs]uint64) string {
	var said []string
	for _, as := range ledger.Ways {
		if n := counts[as]; n > 0 {
			said = append(said, fmt.Sprintf("%d %s", n, as.InWords()))
		}
	}
	return strings.Join(said, ", ")
}

// adminOutboxList lists the messages that are not sent yet, the oldest first, and says why. How the others
// left it says by their number; as JSON it has the newest of them too (decision messages.as).
func (s *Executor) adminOutboxList(a *Act) (string, error) {
	var messages []*ledger.Message
	var left []*ledger.Left
	var counts map[ledger.SentAs]uint64
	err := s.Store.View(func(st ledger.State, _ time.Time) {
		messages = st.Outbox.All()
		left = st.Outbox.NewestLeft()
		counts = st.Outbox.LeftCounts()
	})
	slices.SortFunc(messages, func(a, b *ledger.Message) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID))
	})
	list := []outboxRow{}
	for _, m := range messages {
		x := newOutboxRow(m)
		if m.Parked != "" {
			x.State = "parked"
			x.Reason = m.Parked
		} else {
			x.Reason = s.outbox.Why(m)
		}
		list = append(list, x)
	}
	if err != nil || a.JSON() {
		for _, m := range left {
			list = append(list, leftRow(m))
		}
		return asJSON(list), err
	}
	var out strings.Builder
	for _, x := range list {
		fmt.Fprintf(&out, "%s  since %s  %s of ticket %s, %s  %s: %s\n",
			x.ID, x.Since.Format(time.RFC3339), x.To, x.Ticket, x.Action, x.State, x.Reason)
	}
	out.WriteString(words.Counted(len(list), "message") + words.Are(len(list)) + "not sent")
	if said := leftInWords(counts); said != "" {
		out.WriteString("; " + said)
	}
	files, uncounted := s.outbox.FileCount()
	switch {
	case uncounted != nil: // the list is worth showing all the same
	case files > 0:
		fmt.Fprintf(&out, "; %s%sstill in %s/, which nobody has sent", words.Counted(files, "e-mail"),
			words.Are(files), ledger.OutboxDir)
	case counts[ledger.SentAsFile] > 0:
		fmt.Fprintf(&out, "; none of the files is in %s/ any more", ledger.OutboxDir)
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
	s.Outgoing.Wake()
	return words.Counted(retried, "message") + words.Are(retried) + "tried again", err
}
