package server

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/wire"
	"waybill/store"
)

// GET /v2/events: what happened to a partner's bookings, in order. An event is a line of the journal, or a part of one;
// a feed remembers only which lines these are, and they are read from there. The events of a partner have numbers of
// their own, from 1 without gaps.

// follow keeps what else comes of an event: its partner's feed, what is known of requests with keys, what is to be sent.
func follow(s *State, at store.Stamp, e Event) {
	switch e := e.(type) {
	case *auth.KeyAdded:
		s.feed(booking.ID(e.Partner)) // who has no events yet can wait for one
	case *booking.Created:
		s.feed(e.Partner).add(at, 1)
		s.Retries.note(at, e.Partner, e.Retry)
	case *booking.Asked:
		s.Retries.note(at, s.partnerOf(e.Booking), e.Retry)
	case *booking.TicketPaid:
		s.settled(at, &e.Settled, booking.Pay)
	case *booking.TicketBooked:
		s.settled(at, &e.Settled, booking.Book)
	case *booking.TicketsCanceled:
		partner := s.partnerOf(e.Booking)
		s.feed(partner).add(at, len(e.Tickets))
		s.Retries.note(at, partner, e.Retry)
		s.Outbox.addCanceled(at, e)
	case *booking.TicketsUncompleted:
		s.feed(s.partnerOf(e.Booking)).add(at, len(e.Tickets))
	case *booking.CarrierSet:
		if e.Event {
			s.feed(s.partnerOf(e.Booking)).add(at, 1)
		}
	case *PersonalErased:
		s.tellErased(at, e.Passengers)
	case *PassengersForgotten:
		s.tellErased(at, e.Passengers)
	case *booking.Moved:
		s.feed(s.partnerOf(e.To)).add(at, 1)
	case *Answered:
		s.Retries.note(at, e.Partner, e.Retry)
	}
}

func (s *State) settled(at store.Stamp, e *booking.Settled, action booking.Action) {
	partner := s.partnerOf(e.Booking)
	s.feed(partner).add(at, 1)
	s.Retries.note(at, partner, e.Retry, e.Ticket)
	s.Outbox.add(at, e, action)
}

// tellErased tells each partner of its passengers who are forgotten.
func (s *State) tellErased(at store.Stamp, list []ErasedPassenger) {
	for _, p := range list {
		s.feed(p.Partner).add(at, 1)
	}
}

func (s *State) partnerOf(id booking.ID) booking.ID { return s.Bookings.Any(id).Partner }

// feed is a partner's.
type feed struct {
	lines   []uint64      // of each event; a line of several stands here as often
	changed chan struct{} // closed with the next event; nil while nobody waits for it
}

func (s *State) feed(partner booking.ID) *feed {
	f := s.Feeds[partner]
	if f == nil {
		f = new(feed)
		s.Feeds[partner] = f
	}
	return f
}

func (f *feed) add(at store.Stamp, events int) {
	for range events {
		f.lines = append(f.lines, at.Seq)
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// after gives the lines of the events after one, at most so many, and how many events of the first line come before.
func (f *feed) after(seq, most int) (lines []uint64, before int) {
	lines = slices.Clone(page(f.lines, seq, most))
	for before < seq && len(lines) > 0 && f.lines[seq-1-before] == lines[0] {
		before++
	}
	return lines, before
}

// frozenFeed is a feed in a snapshot; each line is given by how much it is above the one before.
type frozenFeed struct {
	partner booking.ID
	lines   []uint64
}

func (s *State) frozenFeeds() (list []frozenFeed) {
	for _, id := range slices.SortedFunc(maps.Keys(s.Feeds), func(a, b booking.ID) int { return bytes.Compare(a[:], b[:]) }) {
		list = append(list, frozenFeed{id, slices.Clip(s.Feeds[id].lines)})
	}
	return list
}

func (f *frozenFeed) code(c *coder) {
	last := int64(0)
	c.object("feed", func() {
		id(c, "partner", &f.partner)
		list(c, "lines", &f.lines, func(line *uint64) {
			above := int64(*line) - last
			number(c, "", &above)
			last += above
			if !c.writing() {
				*line = uint64(last)
			}
		})
	})
}

const (
	maxWait = 30 // seconds
)

// getEvents answers GET /v2/events.
func (s *Server) getEvents(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	q := newQuery(r)
	after, take, wait := q.number("after", 0, 0, unbounded), q.number("take", 50, 1, maxEvents), q.number("wait", 0, 0, maxWait)
	if err := q.err(); err != nil {
		return err
	}
	if wait > 0 && !s.polls.enter(booking.ID(p.ID)) {
		wait = 0
	} else if wait > 0 {
		defer s.polls.leave(booking.ID(p.ID))
	}
	over := time.After(time.Duration(wait) * time.Second)
	conn := w.(*recorder).conn.conn
	for {
		var lines []uint64
		var before, total int
		var changed chan struct{}
		if err := s.st.View(func(st *State, _ time.Time) {
			f := st.Feeds[booking.ID(p.ID)]
			lines, before = f.after(after, take)
			if total = len(f.lines); wait > 0 && len(lines) == 0 {
				f.changed = cmp.Or(f.changed, make(chan struct{}))
				changed = f.changed
			}
		}); err != nil {
			return err
		}
		if changed == nil {
			return s.showEvents(w, booking.ID(p.ID), lines, before, after, total)
		}
		conn.idle() // it may be closed if its place is needed
		select {
		case <-changed:
		case <-over:
			wait = 0
		case <-s.draining.Done():
			wait = 0
		case <-r.Context().Done():
			wait = 0
		}
		conn.busy()
	}
}

// polls counts the requests of each partner that wait for events.
type polls struct {
	mu      sync.Mutex
	waiting map[booking.ID]int
}

// enter counts one more, unless there are as many as may be.
func (x *polls) enter(partner booking.ID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.waiting[partner] >= maxPolls {
		return false
	}
	x.waiting[partner]++
	return true
}

func (x *polls) leave(partner booking.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting[partner]--
	if x.waiting[partner] == 0 {
		delete(x.waiting, partner)
	}
}

// eventData is what an event shows of its line's data.
type eventData struct {
	Passengers []ErasedPassenger        `json:"-"` // see readEventData
	Booking    booking.ID               `json:"booking"`
	Ticket     booking.ID               `json:"ticket"`
	From       *booking.ID              `json:"from"`
	At         *time.Time               `json:"at"`
	Tickets    []booking.CanceledTicket `json:"tickets"`
}

// showEvents answers with the events of lines, of the first of which some come before.
func (s *Server) showEvents(w http.ResponseWriter, partner booking.ID, lines []uint64, before, seq, total int) error {
	var out wire.Writer
	left := lines
	err := s.lines.Read(slices.Compact(slices.Clone(lines)), func(l *store.Line) error {
		d, err := readEventData(l, partner)
		if err != nil {
			return err
		}
		for ; len(left) > 0 && left[0] == l.Seq; left = left[1:] {
			seq++
			if err := writeEvent(&out, int64(seq), before, l, d); err != nil {
				return err
			}
			before++
		}
		before = 0
		return nil
	})
	return show(w, err, func(w *wire.Writer) {
		w.Array("events")
		w.B = append(w.B, out.B...)
		w.EndArray()
		w.Int("total", int64(total))
	})
}

// readEventData reads what the events of a partner show of a line. Of passengers that were forgotten together it has those
// who are the partner's.
func readEventData(l *store.Line, partner booking.ID) (*eventData, error) {
	d := new(eventData)
	if l.Type != store.KindErased && l.Type != kindForgotten {
		return d, json.Unmarshal(l.Data, d)
	}
	var erased struct{ Passengers []ErasedPassenger }
	err := json.Unmarshal(l.Data, &erased)
	for _, p := range erased.Passengers {
		if p.Partner == partner {
			d.Passengers = append(d.Passengers, p)
		}
	}
	return d, err
}

// writeEvent writes the nth event of a line.
func writeEvent(w *wire.Writer, seq int64, n int, l *store.Line, d *eventData) error {
	kind, at, ticket := l.Type, l.Time, d.Ticket.String()
	var refund *int64
	switch l.Type {
	case "booking.created":
		ticket = ""
	case "ticket.carrier":
		kind = "ticket.status"
	case store.KindErased, kindForgotten:
		if n >= len(d.Passengers) {
			return errFewerEvents
		}
		kind, d.Booking, ticket = "passenger.erased", d.Passengers[n].Booking, d.Passengers[n].Ticket.String()
	case "tickets.canceled", "tickets.uncompleted":
		if n >= len(d.Tickets) {
			return errFewerEvents
		}
		t := &d.Tickets[n]
		ticket, kind = t.ID.String(), "ticket.canceled"
		if t.Refunded {
			kind, refund = "ticket.refunded", &t.Refund
		}
		if d.At != nil {
			kind, at = "ticket.uncompleted", *d.At
		}
	}
	w.Object("")
	w.Int("seq", seq)
	w.String("type", kind)
	w.Time("time", at)
	writeID(w, "bookingId", d.Booking)
	w.OptionalString("ticketId", ticket)
	if refund != nil {
		w.Hundredths("refundAmount", *refund)
	} else {
		w.Null("refundAmount")
	}
	if d.From != nil {
		writeID(w, "fromBookingId", *d.From)
	} else {
		w.Null("fromBookingId")
	}
	w.EndObject()
	return nil
}

var errFewerEvents = errors.New("server: a line has fewer events than its feed says")

const (
	notices    = 100                    // bookings that are looked at under the lock at a time
	noticeRest = 200 * time.Millisecond // between looks, so that notices share syncs
)

// noteOverdue journals notices of the payment windows that are over, and tells when to look again.
func (s *Server) noteOverdue() (wait time.Duration, err error) {
	for {
		_, err = s.st.Update(func(st *State, now time.Time) (events []Event, err error) {
			list, next := st.Bookings.Overdue(now, notices)
			for _, e := range list {
				events = append(events, e)
			}
			wait = next.Sub(now)
			return events, nil
		}, nil)
		if err != nil || wait > 0 {
			return max(wait, noticeRest), err
		}
	}
}

// runNotices does so while the server runs. A refusal, as of a full disk, is tried again.
func (s *Server) runNotices() {
	for s.base.Err() == nil {
		wait, err := s.noteOverdue()
		if err != nil {
			wait = time.Second
		}
		select {
		case <-s.base.Done():
		case <-s.moved:
		case <-time.After(wait):
		}
	}
}
