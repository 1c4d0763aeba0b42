package server

import (
	"cmp"
	"container/heap"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/outbound"
	"waybill/store"
)

// The outbox: what passengers are told once a ticket is paid, booked, canceled or refunded. The ticket's line
// says what is to be sent, so that nothing is lost and nothing is sent that was not committed; another line
// says how it ended. In between a message is sent at least once: after a crash maybe again, under the same
// id.

// message is one e-mail, or one text to a phone. It is immutable.
type message struct {
	ID     string         `json:"id"` // the ticket's line, and which of the messages of that
	Ticket booking.ID     `json:"ticket"`
	Action booking.Action `json:"action"`
	To     string         `json:"to"`               // as in booking.Settled.Sends
	At     time.Time      `json:"at"`               // since when it is to be sent
	Parked string         `json:"parked,omitempty"` // why it is not tried any more
}

// outbox is the messages that are not sent yet.
type outbox struct {
	messages map[string]*message
	byTicket map[booking.ID]map[string]bool // the ids of a ticket's messages
	parked   int                            // of them
	waiting  agenda                         // those that are not parked, by since when; the first is one of them
	sending  bool                           // a server has taken those there were
	fresh    []string                       // those it has yet to take
}

func (o *outbox) put(m *message) {
	o.remove(m.ID)
	o.messages[m.ID] = m
	if o.byTicket[m.Ticket] == nil {
		o.byTicket[m.Ticket] = map[string]bool{}
	}
	o.byTicket[m.Ticket][m.ID] = true
	if m.Parked != "" {
		o.parked++
		return
	}
	heap.Push(&o.waiting, attemptAt{m.At, m.ID})
	if o.sending {
		o.fresh = append(o.fresh, m.ID)
	}
}

// oldest returns since when the message that has waited longest waits; false where none does.
func (o *outbox) oldest() (since time.Time, ok bool) {
	if len(o.waiting) == 0 {
		return since, false
	}
	return o.waiting[0].at, true
}

// trim takes those off the front of waiting that do not wait any more.
func (o *outbox) trim() {
	for len(o.waiting) > 0 {
		m := o.messages[o.waiting[0].id]
		if m != nil && m.Parked == "" && m.At.Equal(o.waiting[0].at) {
			return
		}
		heap.Pop(&o.waiting)
	}
}

func (o *outbox) remove(id string) {
	m := o.messages[id]
	if m == nil {
		return
	}
	if m.Parked != "" {
		o.parked--
	}
	delete(o.messages, id)
	delete(o.byTicket[m.Ticket], id)
	if len(o.byTicket[m.Ticket]) == 0 {
		delete(o.byTicket, m.Ticket)
	}
	o.trim()
}

// removeOf removes the messages of a ticket.
func (o *outbox) removeOf(ticket booking.ID) {
	for id := range o.byTicket[ticket] {
		o.remove(id)
	}
}

// take gives the messages that are to be sent, but for those taken before.
func (o *outbox) take() (list []*message) {
	ids := o.fresh
	if !o.sending {
		ids = slices.Sorted(maps.Keys(o.messages))
	}
	o.sending = true
	o.fresh = nil
	for _, id := range ids {
		if m := o.messages[id]; m != nil {
			list = append(list, m)
		}
	}
	return list
}

// add takes in the messages of a ticket that was paid or booked.
func (o *outbox) add(at store.Stamp, e *booking.Settled, action booking.Action) {
	for i, to := range e.Sends {
		o.put(&message{ID: messageID(at, i+1), Ticket: e.Ticket, Action: action, To: to, At: at.Time})
	}
}

// addCanceled takes in the messages of tickets that were canceled or refunded.
func (o *outbox) addCanceled(at store.Stamp, e *booking.TicketsCanceled) {
	n := 0
	for _, t := range e.Tickets {
		for _, to := range t.Sends {
			n++
			o.put(&message{ID: messageID(at, n), Ticket: t.ID, Action: booking.Cancel, To: to, At: at.Time})
		}
	}
}

// messageID names the n-th message of a line.
func messageID(at store.Stamp, n int) string {
	return strconv.FormatUint(at.Seq, 10) + "-" + strconv.Itoa(n)
}

// The events of the outbox.
type (
	// MessagesSent says that messages have left, or were overtaken before they could.
	MessagesSent struct {
		IDs []string `json:"messages"`
	}
	// MessageParked says that a message is not tried any more, and why.
	MessageParked struct {
		ID     string `json:"message"`
		Reason string `json:"reason"`
	}
	// MessagesRetried says that parked messages are tried again.
	MessagesRetried struct {
		IDs []string `json:"messages"`
	}
)

func applySent(s *State, _ time.Time, e *MessagesSent) {
	for _, id := range e.IDs {
		s.Outbox.remove(id)
	}
}

func applyParked(s *State, _ time.Time, e *MessageParked) {
	m := *s.Outbox.messages[e.ID]
	m.Parked = e.Reason
	s.Outbox.put(&m)
}

func applyRetried(s *State, now time.Time, e *MessagesRetried) {
	for _, id := range e.IDs {
		m := *s.Outbox.messages[id]
		m.Parked = ""
		m.At = now
		s.Outbox.put(&m)
	}
}

const (
	outboxDir  = "outbox" // of the e-mails that no server takes
	outboxFile = ".eml"
	phoneTo    = "phone"                // and its position: how a message names whom it is to
	maxSending = 8                      // messages at a time, to each peer
	sentDelay  = 100 * time.Millisecond // in which those that were sent share a line
	firstRetry = 30 * time.Second       // after a failure; then when as much time again has passed, at most
	maxRetry   = 4 * time.Hour
	outboxLife = 72 * time.Hour // after which a message is parked
)

// attemptAt is when to try a message.
type attemptAt struct {
	at time.Time
	id string
}

// agenda is a heap of attempts, the next first.
type agenda []attemptAt

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, k int) bool { return a[i].at.Before(a[k].at) }
func (a agenda) Swap(i, k int)      { a[i], a[k] = a[k], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(attemptAt)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

// lane is the messages to one peer. Each has places of its own, so that a peer that hangs holds up nobody
// else's.
type lane struct {
	todo     agenda
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
func laneOf(m *message) int {
	if strings.HasPrefix(m.To, phoneTo) {
		return toMessenger
	}
	return toMailServer
}

// due starts what is due, as far as the lane has places, and returns how long until there is more to start.
func (l *lane) due(now time.Time, start func(id string)) time.Duration {
	for len(l.todo) > 0 && l.underWay < maxSending {
		if wait := l.todo[0].at.Sub(now); wait > 0 {
			return wait
		}
		l.underWay++
		start(heap.Pop(&l.todo).(attemptAt).id)
	}
	return time.Hour
}

// runOutbox sends messages while the server runs, several at a time to each peer.
func (s *Server) runOutbox() {
	var peers [lanes]lane
	var sent []*message
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
		case x.again.id != "":
			heap.Push(&peers[x.lane].todo, x.again)
		}
	}
	for s.base.Err() == nil || underWay() > 0 {
		var now time.Time
		if err := s.st.View(func(st *State, at time.Time) {
			for _, m := range st.Outbox.take() {
				heap.Push(&peers[laneOf(m)].todo, attemptAt{at, m.ID})
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
func overtaken(m *message, t *booking.Ticket) bool {
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
	sent  *message
	again attemptAt
}

// deliver tries a message. What is parked is journalled at once.
func (s *Server) deliver(id string) (x result) {
	var m *message
	var b *booking.Booking
	var t *booking.Ticket
	var now time.Time
	if err := s.st.View(func(st *State, at time.Time) {
		if m, now = st.Outbox.messages[id], at; m != nil {
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
		if err = s.park(&MessageParked{id, err.Error()}); err == nil {
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
	return result{again: attemptAt{next, id}}
}

// park journals that a message is parked, unless its passenger was forgotten meanwhile.
func (s *Server) park(e *MessageParked) error {
	_, err := s.st.Update(func(st *State, _ time.Time) ([]Event, error) {
		if st.Outbox.messages[e.ID] == nil {
			return nil, nil
		}
		return []Event{e}, nil
	}, nil)
	return err
}

// recordSent journals that messages were sent. Of those whose passengers were forgotten meanwhile nothing may
// stay.
func (s *Server) recordSent(list []*message) error {
	if len(list) == 0 {
		return nil
	}
	forgotten := false
	_, err := s.st.Update(func(st *State, _ time.Time) ([]Event, error) {
		e := new(MessagesSent)
		for _, m := range list {
			if st.Outbox.messages[m.ID] != nil {
				e.IDs = append(e.IDs, m.ID)
			} else {
				forgotten = true
			}
		}
		if e.IDs == nil {
			return nil, nil
		}
		return []Event{e}, nil
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
	var messages []*message
	err := s.st.View(func(st *State, _ time.Time) { messages = slices.Collect(maps.Values(st.Outbox.messages)) })
	slices.SortFunc(messages, func(a, b *message) int { return cmp.Or(a.At.Compare(b.At), strings.Compare(a.ID, b.ID)) })
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
	return out.String() + Counted(len(list), "message") + are(len(list)) + "not sent", nil
}

var errNoneParked = errors.New("no message is parked")

// adminOutboxRetry has a parked message tried again, or all.
func (s *Server) adminOutboxRetry(a *Act) (string, error) {
	id := a.Form.Get("message")
	retried := 0
	_, err := s.administer(a.By, func(st *State, _ time.Time) (Event, error) {
		e := new(MessagesRetried)
		for _, m := range st.Outbox.messages {
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
	return Counted(retried, "message") + are(retried) + "tried again", err
}
