package ledger

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/store/journal"
)

// Message is one e-mail, or one text to a phone, that a passenger is to be sent. It is immutable.
type Message struct {
	ID     string         `json:"id"` // the ticket's line, and the message's place among those of that line
	Ticket ids.ID         `json:"ticket"`
	Action booking.Action `json:"action"`
	To     string         `json:"to"`               // as in booking.Settled.Sends
	At     time.Time      `json:"at"`               // since when it is to be sent
	Parked string         `json:"parked,omitempty"` // why it is not tried any more
	// Reason is the carrier's reason for changing the run, as the line says it; "" where no run was
	// changed.
	Reason string `json:"reason,omitempty"`

	arrival uint64 // its number among those that came to wait
}

// The lanes: messages to one peer. Each has places of its own, so that a peer that hangs holds up nobody
// else's.
const (
	ToMailServer = iota
	ToMessenger
	Lanes
)

// LaneNames are the names of the lanes in metrics.
var LaneNames = [Lanes]string{ToMailServer: "mail", ToMessenger: "messenger"}

// Lane returns the lane of a message.
func (m *Message) Lane() int {
	if strings.HasPrefix(m.To, booking.ToPhone) {
		return ToMessenger
	}
	return ToMailServer
}

// Line returns the number of the message's line, and its place among that line's messages, from 1.
func (m *Message) Line() (seq uint64, place int) {
	line, n, _ := strings.Cut(m.ID, "-")
	seq, _ = strconv.ParseUint(line, 10, 64)
	place, _ = strconv.Atoi(n)
	return seq, place
}

// Outbox has the messages that are not sent yet. The ticket's line names its messages, so that none is
// lost, and none is sent for an event that was not committed. Another line says how a message ended.
type Outbox struct {
	messages map[string]*Message
	byTicket map[ids.ID]map[string]bool // the ids of a ticket's messages
	parked   int                        // of them

	// arrivals are those that wait, in the order in which they came, the oldest first, and some that have
	// left: never the first.
	arrivals []*Message
	arrived  uint64 // how many have come

	leftCounts map[SentAs]uint64
	newestLeft []*Left
	deliveries Deliveries
}

// newOutbox returns an empty outbox.
func newOutbox() *Outbox {
	return &Outbox{
		messages: map[string]*Message{},
		byTicket: map[ids.ID]map[string]bool{},

		leftCounts: map[SentAs]uint64{},
	}
}

// Find returns a message; nil where it is sent, or its passenger forgotten.
func (o *Outbox) Find(id string) *Message {
	return o.messages[id]
}

// All returns the messages, in no order.
func (o *Outbox) All() []*Message {
	return slices.Collect(maps.Values(o.messages))
}

// Of returns the messages of a ticket, by line and place.
func (o *Outbox) Of(ticket ids.ID) (list []*Message) {
	for id := range o.byTicket[ticket] {
		list = append(list, o.messages[id])
	}
	slices.SortFunc(list, compareLines)
	return list
}

// compareLines orders messages by their lines, and their places there.
func compareLines(a, b *Message) int {
	lineA, placeA := a.Line()
	lineB, placeB := b.Line()
	return cmp.Or(cmp.Compare(lineA, lineB), cmp.Compare(placeA, placeB))
}

// Count returns how many messages wait, and how many are parked.
func (o *Outbox) Count() (waiting, parked int) {
	return len(o.messages) - o.parked, o.parked
}

// Oldest returns since when the oldest message waits; false where none does.
func (o *Outbox) Oldest() (since time.Time, ok bool) {
	if len(o.arrivals) == 0 {
		return since, false
	}
	return o.arrivals[0].At, true
}

// Arrived returns the messages that wait and arrived after the first known ones, in the order in which they
// came, and how many have come so far. A message that is retried comes again.
func (o *Outbox) Arrived(known uint64) (list []*Message, arrived uint64) {
	first := sort.Search(len(o.arrivals), func(i int) bool {
		return o.arrivals[i].arrival > known
	})
	for _, m := range o.arrivals[first:] {
		if o.messages[m.ID] == m {
			list = append(list, m)
		}
	}
	return list, o.arrived
}

// put adds a message, or replaces the one of its id.
func (o *Outbox) put(m *Message) {
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
	o.arrived++
	m.arrival = o.arrived
	o.arrivals = append(o.arrivals, m)
	if len(o.arrivals) > 2*len(o.messages)+fewMessages {
		o.arrivals = slices.DeleteFunc(o.arrivals, func(m *Message) bool {
			return o.messages[m.ID] != m
		})
	}
}

// fewMessages is the length up to which the list of arrivals may keep messages that have left.
const fewMessages = 64

// remove forgets a message.
func (o *Outbox) remove(id string) {
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
	for len(o.arrivals) > 0 && o.messages[o.arrivals[0].ID] != o.arrivals[0] {
		o.arrivals = o.arrivals[1:]
	}
}

// clear removes all messages.
func (o *Outbox) clear() {
	for id := range o.messages {
		o.remove(id)
	}
}

// erase removes the messages of a ticket whose passenger is forgotten: they were not sent, and are not to be.
func (o *Outbox) erase(now time.Time, ticket ids.ID) {
	for _, m := range o.Of(ticket) {
		o.leave(now, m.ID, SentAsErased)
	}
}

// toSend names the messages of a ticket, see booking.Settled.Sends.
type toSend struct {
	ticket ids.ID
	sends  []string
}

// add takes in the messages of a line. Their ids say where in the line they stand.
func (o *Outbox) add(at journal.Stamp, action booking.Action, reason string, list []toSend) {
	n := 0
	for _, x := range list {
		for _, to := range x.sends {
			n++
			o.put(&Message{
				ID:     messageID(at, n),
				Ticket: x.ticket,
				Action: action,
				To:     to,
				At:     at.Time,
				Reason: reason,
			})
		}
	}
}

// messageID names the n-th message of a line.
func messageID(at journal.Stamp, n int) string {
	return strconv.FormatUint(at.Seq, 10) + "-" + strconv.Itoa(n)
}

// Due returns when a message is to be tried.
type Due struct {
	At time.Time
	ID string // the message's

	arrival uint64 // the message's: of those that are due at one instant, the first to come goes first
}

// DueAt returns that the message is due at an instant.
func (m *Message) DueAt(at time.Time) Due {
	return Due{
		At:      at,
		ID:      m.ID,
		arrival: m.arrival,
	}
}

// Agenda is a heap of due times, the first at its front (package container/heap).
type Agenda []Due

// Len, Less, Swap and Push are for container/heap.
func (a Agenda) Len() int { return len(a) }

func (a Agenda) Less(i, k int) bool {
	if !a[i].At.Equal(a[k].At) {
		return a[i].At.Before(a[k].At)
	}
	return a[i].arrival < a[k].arrival
}

func (a Agenda) Swap(i, k int) {
	a[i], a[k] = a[k], a[i]
}

func (a *Agenda) Push(x any) {
	*a = append(*a, x.(Due))
}

// Pop takes the last element, as heap.Interface wants it.
func (a *Agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	*a = (*a)[:last]
	return x
}

// The events of the outbox.
type (
	// MessagesSent says that messages have left, and how: all of a line in the same way.
	MessagesSent struct {
		IDs []string `json:"messages"`
		As  SentAs   `json:"as"`
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

// applySent takes messages that have left out of the outbox.
func applySent(s State, at journal.Stamp, e *MessagesSent) error {
	if e.As == SentAsErased || len(e.IDs) == 0 {
		return errSentNothing
	}
	for _, id := range e.IDs {
		if s.Outbox.Find(id) == nil {
			return ids.Unknown("message", id)
		}
		s.Outbox.leave(at.Time, id, e.As)
	}
	return nil
}

var errSentNothing = errors.New("a line names messages that were sent, and not as erased")

// applyParked keeps a message from being tried again.
func applyParked(s State, _ journal.Stamp, e *MessageParked) error {
	return s.Outbox.change(e.ID, func(m *Message) { m.Parked = e.Reason })
}

// applyRetried has messages tried again, as if they were new.
func applyRetried(s State, at journal.Stamp, e *MessagesRetried) error {
	for _, id := range e.IDs {
		if err := s.Outbox.change(id, func(m *Message) {
			m.Parked = ""
			m.At = at.Time
		}); err != nil {
			return err
		}
	}
	return nil
}

// change replaces a message by one that differs. The error says that there is none.
func (o *Outbox) change(id string, f func(*Message)) error {
	was := o.messages[id]
	if was == nil {
		return ids.Unknown("message", id)
	}
	m := *was
	f(&m)
	o.put(&m)
	return nil
}
