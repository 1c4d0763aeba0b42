package bench

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/booking"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/server/reach/outbound"
	"waybill/server/reach/outbox"
)

// sentKept is how many messages that were sent a world remembers.
const sentKept = 1000

// sent remembers the last messages that were sent. The journal knows that they were, and not what they said.
type sent struct {
	mu   sync.Mutex
	list []outbox.Letter
}

// add remembers one more, and forgets the oldest where there are enough.
func (x *sent) add(l outbox.Letter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == sentKept {
		x.list = x.list[1:]
	}
	x.list = append(x.list, l)
}

// forget forgets the messages to passengers who are forgotten.
func (x *sent) forget(st ledger.State) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = slices.DeleteFunc(x.list, func(l outbox.Letter) bool {
		_, t := st.Bookings.AnyTicket(l.Ticket)
		return t == nil || t.Passenger.Forgotten()
	})
}

// all returns what is remembered.
func (x *sent) all() []outbox.Letter {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.list)
}

// state is what became of a message.
type state struct {
	outbox.Letter
	state  string // waiting, sent or parked
	reason string // why it waits, or is parked; "" is none
}

// Message is an e-mail or a text to a passenger, and what became of it.
type Message struct {
	ID       string
	Kind     string // mail or text
	To       string // an address or a number; "" if the passenger no longer has one
	Subject  string // "" of a text
	Text     string
	State    string // waiting, sent or parked
	As       string // of one that was sent: mail, text or file
	Reason   string // why it waits, or is parked; "" is none
	TicketID string
}

// message returns what testers see.
func (x state) message() Message {
	return Message{
		ID:       x.ID,
		Kind:     x.Kind,
		To:       x.Address,
		Subject:  x.Subject,
		Text:     x.Text,
		State:    x.state,
		As:       string(x.As),
		Reason:   x.reason,
		TicketID: x.Ticket.String(),
	}
}

// Messages returns the messages of the world: those sent since it was made, as far as they are remembered,
// and those that wait or are parked, in the order in which they came about.
func (s *Bench) Messages() ([]Message, error) {
	var list []state
	left, err := s.left()
	known := map[string]bool{} // one that is being recorded as sent stands in both
	for _, l := range s.sent.all() {
		list = append(list, state{l, "sent", ""})
		known[l.ID] = true
	}
	for _, x := range left {
		if known[x.message.ID] {
			continue
		}
		l := state{s.outbox.Letter(x.message, x.booking, x.ticket), "waiting", ""}
		if x.message.Parked != "" {
			l.state = "parked"
			l.reason = x.message.Parked
		} else {
			l.reason = s.outbox.Why(x.message)
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b state) int {
		line, place := a.Line()
		other, second := b.Line()
		return cmp.Or(cmp.Compare(line, other), cmp.Compare(place, second))
	})
	messages := make([]Message, len(list))
	for i, x := range list {
		messages[i] = x.message()
	}
	return messages, err
}

// GetOutbox answers with the messages of the world.
func (s *Bench) GetOutbox(w http.ResponseWriter, _ *http.Request) error {
	list, err := s.Messages()
	return web.Show(w, err, func(w *wire.Writer) {
		wire.Each(w, "messages", list, func(x Message) {
			w.Object("")
			w.Texts("id", x.ID, "kind", x.Kind, "to", x.To, "subject", x.Subject)
			w.Texts("text", x.Text, "state", x.State)
			w.OptionalString("as", x.As)
			w.OptionalString("reason", x.Reason)
			w.String("ticketId", x.TicketID)
			w.EndObject()
		})
	})
}

// unsent is a message that is not sent, with what it is about.
type unsent struct {
	message *ledger.Message
	booking *booking.Booking
	ticket  *booking.Ticket
}

// left returns the messages that wait or are parked. What they say is written without the lock. Of passengers
// who are forgotten nothing is left, neither here nor among those that were sent.
func (s *Bench) left() (list []unsent, err error) {
	err = s.Store.View(func(st ledger.State, _ time.Time) {
		s.sent.forget(st)
		for _, m := range st.Outbox.All() {
			b, t := st.Bookings.AnyTicket(m.Ticket)
			list = append(list, unsent{m, b, t})
		}
	})
	return list, err
}

// promise is that the messages of a request fail: those of its partner's booking and its action, in the lines
// that were written from when it came until it was answered. The legacy interface's request is about any
// bookings of the partner, and any action.
type promise struct {
	legacy  bool
	partner ids.ID
	booking ids.ID
	action  booking.Action
	rule    *counted
	from    uint64          // the last line before it
	until   uint64          // the last line when it was answered
	refused map[string]bool // messages, by id
}

// promisesKept is how many requests are remembered whose messages are to fail.
const promisesKept = 1000

// failMessages answers a request whose messages then fail. Where it has none, the rule was not applied.
func (s *Bench) failMessages(rule *counted, route string, answer *heldAnswer, r *http.Request,
	next http.Handler) {
	caller, _ := s.caller(r)
	if caller == nil { // the request is refused, and causes no messages
		next.ServeHTTP(answer, r)
		s.faults.giveBack(rule)
		return
	}
	actions := map[string]booking.Action{
		payRoute:    booking.Pay,
		bookRoute:   booking.Book,
		cancelRoute: booking.Cancel,
	}
	id, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/v2/bookings/"), "/")
	p := &promise{
		legacy:  route == legacyRoute,
		partner: caller.ID,
		booking: ids.Of(id),
		action:  actions[route],
		rule:    rule,
		from:    s.lastLine(),
		until:   math.MaxUint64, // while it is under way
		refused: map[string]bool{},
	}
	s.faults.promise(p)
	next.ServeHTTP(answer, r)
	left, _ := s.left()
	made := slices.ContainsFunc(left, func(x unsent) bool {
		return p.isFor(x.message, x.booking)
	})
	if !s.faults.keep(p, s.lastLine(), made) {
		s.faults.giveBack(rule)
	}
}

// lastLine returns the number of the newest line; 0 where the journal cannot be written any more.
func (s *Bench) lastLine() uint64 {
	last, _ := s.Store.LastLine()
	return last.Seq
}

// isFor reports whether a message is one of the request's.
func (p *promise) isFor(m *ledger.Message, b *booking.Booking) bool {
	line, _ := m.Line()
	during := line > p.from && line <= p.until
	ticket := p.rule.Ticket == 0 || p.rule.Ticket == placeIn(b, m.Ticket)
	same := p.legacy || b.ID == p.booking && m.Action == p.action
	return b.Partner == p.partner && same && during && ticket
}

// promise remembers that messages are to fail.
func (f *faults) promise(p *promise) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.promises) == promisesKept {
		f.promises = f.promises[1:]
	}
	f.promises = append(f.promises, p)
}

// keep bounds a promise once its request is answered, and reports whether there were any messages: those that
// it still has, or that were refused meanwhile.
func (f *faults) keep(p *promise, until uint64, made bool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.until = until
	if made || len(p.refused) > 0 {
		return true
	}
	f.promises = slices.DeleteFunc(f.promises, func(x *promise) bool {
		return x == p
	})
	return false
}

// Before returns the answer of a peer to a message before it is sent: an error where a rule has the message
// fail. It fails once, so that an operator can have it sent again.
func (s *Bench) Before(m *ledger.Message, b *booking.Booking) error {
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	for _, p := range s.faults.promises {
		if p.isFor(m, b) && !p.refused[m.ID] {
			p.refused[m.ID] = true
			return fmt.Errorf("a rule of the test bench: %w", outbound.ErrRefused)
		}
	}
	return nil
}

// After remembers a message that was sent.
func (s *Bench) After(l outbox.Letter) {
	s.sent.add(l)
}
