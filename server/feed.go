package server

import (
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/wire"
	"waybill/store"
)

// GET /v2/events: what happened to a partner's bookings, in order. An event is a line of the journal, or a part of one;
// a feed remembers only which lines these are, and they are read from there. The events of a partner have numbers of
// their own, from 1 without gaps.

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
		var changed <-chan struct{}
		if err := s.st.View(func(st *ledger.State, _ time.Time) {
			f := st.Feeds[booking.ID(p.ID)]
			lines, before = f.After(after, take)
			if total = f.Len(); wait > 0 && len(lines) == 0 {
				changed = f.Changed()
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

// showEvents answers with the events of lines, of the first of which some come before.
func (s *Server) showEvents(w http.ResponseWriter, partner booking.ID, lines []uint64, before, seq, total int) error {
	var out wire.Writer
	left := lines
	err := s.lines.Read(slices.Compact(slices.Clone(lines)), func(l *store.Line) error {
		events, err := ledger.Events(l, partner)
		if err != nil {
			return err
		}
		for ; len(left) > 0 && left[0] == l.Seq; left = left[1:] {
			if before >= len(events) {
				return errFewerEvents
			}
			seq++
			writeEvent(&out, int64(seq), &events[before])
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

// writeEvent writes an Event with its number.
func writeEvent(w *wire.Writer, seq int64, e *ledger.FeedEvent) {
	w.Object("")
	w.Int("seq", seq)
	w.String("type", e.Type)
	w.Time("time", e.Time)
	w.ID("bookingId", e.Booking)
	writeOptionalID(w, "ticketId", e.Ticket)
	if e.Refund != nil {
		w.Hundredths("refundAmount", *e.Refund)
	} else {
		w.Null("refundAmount")
	}
	writeOptionalID(w, "fromBookingId", e.From)
	w.EndObject()
}

func writeOptionalID(w *wire.Writer, name string, id *booking.ID) {
	if id == nil {
		w.Null(name)
		return
	}
	w.ID(name, *id)
}

var errFewerEvents = errors.New("server: a line has fewer events than its feed says")

const (
	notices    = 100                    // bookings that are looked at under the lock at a time
	noticeRest = 200 * time.Millisecond // between looks, so that notices share syncs
)

// noteOverdue journals notices of the payment windows that are over, and tells when to look again.
func (s *Server) noteOverdue() (wait time.Duration, err error) {
	for {
		_, err = s.st.Update(func(st *ledger.State, now time.Time) ([]ledger.Entry, error) {
			list, next := st.Bookings.Overdue(now, notices)
			wait = next.Sub(now)
			return ledger.Entries(list...), nil
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
