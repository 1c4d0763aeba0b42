package server

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/outbound"
	"waybill/server/words"
)

// The outbox: what passengers are told once a ticket is paid, booked, canceled or refunded. The ticket's line
// says what is to be sent, so that nothing is lost and nothing is sent that was not committed; another line
// says how it ended. In between a message is sent at least once: after a crash maybe again, under the same
// id.

const (
	outboxFile = ".eml"
	phoneTo    = "phone"                // and its position: how a message names whom it is to
	maxSending = 8                      // messages at a time, to each peer
	sentDelay  = 100 * time.Millisecond // in which those that were sent share a line
	firstRetry = 30 * time.Second       // after a failure; then when as much time again has passed, at most
	maxRetry   = 4 * time.Hour
	outboxLife = 72 * time.Hour // after which a message is parked
)

// lane is the messages to one peer. Each has places of its own, so that a peer that hangs holds up nobody
// else's.
type lane struct {
	todo     ledger.Agenda
	underWay int
}

// The lanes.
const (
	toMailServer = iota
	toMessenger
	lanes
)

// laneNames are what metrics call them.
var laneNames = [lanes]string{toMailServer: "mail", toMessenger: "messenger"}

// laneOf returns the lane of a message.
func laneOf(m *ledger.Message) int {
	if strings.HasPrefix(m.To, phoneTo) {
		return toMessenger
	}
	return toMailServer
}

// due starts what is due, as far as the lane has places, and returns how long until there is more to start.
func (l *lane) due(now time.Time, start func(id string)) time.Duration {
	for len(l.todo) > 0 && l.underWay < maxSending {
		if wait := l.todo[0].At.Sub(now); wait > 0 {
			return wait
		}
		l.underWay++
		start(heap.Pop(&l.todo).(ledger.Due).ID)
	}
	return time.Hour
}

// runOutbox sends messages while the server runs, several at a time to each peer.
func (s *Server) runOutbox() {
	var peers [lanes]lane
	var sent []*ledger.Message
	var full <-chan time.Time // when those sent are journalled
	results := make(chan result)
	underWay := func() (n int) {
		for i := range peers {
			n += peers[i].underWay
		}
		return n
	}
	ended := func(x result) {
		peers[x.lane].underWay--
		switch {
		case x.sent != nil:
			sent = append(sent, x.sent)
			if full == nil {
				full = time.After(sentDelay)
			}
		case x.again.ID != "":
			heap.Push(&peers[x.lane].todo, x.again)
		}
	}
	for s.base.Err() == nil || underWay() > 0 {
		var now time.Time
		if err := s.st.View(func(st *ledger.State, at time.Time) {
			for _, m := range st.Outbox.Take() {
				heap.Push(&peers[laneOf(m)].todo, ledger.Due{At: at, ID: m.ID})
			}
			now = at
		}); err != nil && underWay() == 0 {
			return // the journal cannot be written
		}
		wait := time.Hour
		for i := range peers {
			if s.base.Err() != nil {
				break
			}
			wait = min(wait, peers[i].due(now, func(id string) {
				go func() {
					x := s.deliver(id)
					x.lane = i
					results <- x
				}()
			}))
		}
		select {
		case x := <-results:
			ended(x)
		case <-full:
			full = nil
			if s.recordSent(sent) == nil {
				sent = nil
			} else { // as on a full disk
				full = time.After(time.Second)
			}
		case <-s.base.Done():
			if underWay() > 0 {
				ended(<-results)
			}
		case <-s.posted:
		case <-time.After(wait):
		}
	}
	s.recordSent(sent)
}

// overtaken reports whether a ticket is no more what a message says of it: a passenger whose ticket was
// refunded while the mail server was down is not told afterwards that it is paid.
func overtaken(m *ledger.Message, t *booking.Ticket) bool {
	switch m.Action {
	case booking.Book:
		return t.Phase != booking.Booked
	case booking.Pay:
		return t.Phase != booking.Paid
	}
	return false
}

// result is what came of trying a message: it was sent or overtaken, or is to be tried again, or neither.
type result struct {
	lane  int
	sent  *ledger.Message
	again ledger.Due
}

// deliver tries a message. What is parked is journalled at once.
func (s *Server) deliver(id string) (x result) {
	var m *ledger.Message
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	if err := s.st.View(func(st *ledger.State, at time.Time) {
		if m, now = st.Outbox.Find(id), at; m != nil {
			b, t = st.Bookings.AnyTicket(m.Ticket)
		}
	}); err != nil || m == nil || m.Parked != "" {
		s.tries.forget(id)
		return x
	}
	age := now.Sub(m.At)
	// One that an operator has tried again is as old as what was last done to its booking.
	known := min(m.At.UnixMilli(), b.Updated)
	if now.Sub(time.UnixMilli(known)) >= firstRetry && overtaken(m, t) {
		s.tries.forget(id)
		return result{sent: m}
	}
	err := s.sendMessage(m, b, t)
	if err != nil && s.base.Err() != nil {
		return x // it was broken off
	}
	if err != nil {
		s.counts.failed[laneOf(m)].Add(1)
	}
	switch {
	case err == nil:
		s.counts.sent.Add(1)
		s.tries.forget(id)
		return result{sent: m}
	case errors.Is(err, outbound.ErrRefused), age >= outboxLife:
		s.log.Warn("a message is parked; waybill outbox retry tries it again", "message", id, "err", err)
		if err = s.park(&ledger.MessageParked{ID: id, Reason: err.Error()}); err == nil {
			s.tries.forget(id)
			return x
		}
	default:
		s.log.Info("a message could not be sent; it is tried again", "message", id, "err", err)
	}
	// A tenth more or less, so that what failed together does not come back together.
	wait := min(max(age, firstRetry), maxRetry)
	wait += wait / 1000 * time.Duration(int(crc32.ChecksumIEEE([]byte(id)))%200-100)
	next := now.Add(min(wait, max(outboxLife-age, firstRetry)))
	s.tries.failed(id, err, next)
	return result{again: ledger.Due{At: next, ID: id}}
}

// park journals that a message is parked, unless its passenger was forgotten meanwhile.
func (s *Server) park(e *ledger.MessageParked) error {
	_, err := s.st.Update(func(st *ledger.State, _ time.Time) ([]ledger.Entry, error) {
		if st.Outbox.Find(e.ID) == nil {
			return nil, nil
		}
		return ledger.Entries(e), nil
	}, nil)
	return err
}

// recordSent journals that messages were sent. Of those whose passengers were forgotten meanwhile nothing may
// stay.
func (s *Server) recordSent(list []*ledger.Message) error {
	if len(list) == 0 {
		return nil
	}
	forgotten := false
	_, err := s.st.Update(func(st *ledger.State, _ time.Time) ([]ledger.Entry, error) {
		e := new(ledger.MessagesSent)
		for _, m := range list {
			if st.Outbox.Find(m.ID) != nil {
				e.IDs = append(e.IDs, m.ID)
			} else {
				forgotten = true
			}
		}
		if e.IDs == nil {
			return nil, nil
		}
		return ledger.Entries(e), nil
	}, nil)
	if err == nil && forgotten {
		err = s.removeLetters()
	}
	if err != nil {
		s.log.Warn("that messages were sent could not be kept; what is not by its end the next start sends again", "messages", len(list), "err", err)
	}
	return err
}

// adminOutboxList lists the messages that are not sent yet, the oldest first, and says why.
func (s *Server) adminOutboxList(a *Act) (string, error) {
	var messages []*ledger.Message
	err := s.st.View(func(st *ledger.State, _ time.Time) { messages = st.Outbox.All() })
	slices.SortFunc(messages, func(a, b *ledger.Message) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
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
			x.State, x.Reason = "waiting", s.why(m)
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
	return out.String() + words.Counted(len(list), "message") + words.Are(len(list)) + "not sent", nil
}

var errNoneParked = errors.New("no message is parked")

// adminOutboxRetry has a parked message tried again, or all.
func (s *Server) adminOutboxRetry(a *Act) (string, error) {
	id := a.Form.Get("message")
	retried := 0
	_, err := s.administer(a.By, func(st *ledger.State, _ time.Time) (ledger.Event, error) {
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
	wake(s.posted)
	return words.Counted(retried, "message") + words.Are(retried) + "tried again", err
}
