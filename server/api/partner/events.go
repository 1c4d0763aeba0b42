package partner

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/schedule/ids"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
	"waybill/store/journal"
	"waybill/store/live"
)

// MaxWait is how many seconds a request may wait for events.
const MaxWait = 30

// GetEvents answers GET /v2/events.
func (s *Seller) GetEvents(w http.ResponseWriter, r *http.Request, p *auth.Partner) error {
	q := web.NewQuery(r)
	after := q.Number("after", 0, 0, web.Unbounded)
	take := q.Number("take", 50, 1, web.MaxEvents)
	wait := q.Number("wait", 0, 0, MaxWait)
	if err := q.Err(); err != nil {
		return err
	}
	// A partner with too many waiting requests is answered at once, as if the wait were over.
	if wait > 0 && !s.Polls.enter(p.ID) {
		wait = 0
	} else if wait > 0 {
		defer s.Polls.leave(p.ID)
	}
	// One timer for the whole wait, however often the request is woken meanwhile.
	over := time.After(time.Duration(wait) * time.Second)
	conn := w.(*web.Recorder).Conn.Conn
	for {
		var lines []uint64
		var before, total int
		var changed <-chan struct{}
		var gone error // the key may have been revoked while the request waited
		err := s.Store.ViewOn(func(st ledger.State, now time.Time) uint64 {
			if gone = web.Again(w, st, now); gone != nil {
				return live.All
			}
			f := st.EventFeed(p.ID)
			lines, before = f.After(after, take)
			total = f.Len()
			if wait > 0 && len(lines) == 0 {
				changed = f.Changed()
			}
			return st.PartnerLine(p.ID)
		})
		if err := cmp.Or(err, gone); err != nil {
			return err
		}
		if changed == nil {
			// There are events to show, or the request does not wait for any.
			return s.showEvents(w, p.ID, lines, before, after, total)
		}
		conn.Idle() // the connection may be closed if its place is needed
		select {
		case <-changed:
		case <-over:
			wait = 0
		case <-s.Draining.Done():
			wait = 0
		case <-r.Context().Done():
			wait = 0
		}
		conn.Busy()
	}
}

// Polls counts the requests of each partner that wait for events.
type Polls struct {
	mu      sync.Mutex
	waiting map[ids.ID]int
}

// enter counts one more request, and reports whether the partner may have it.
func (x *Polls) enter(partner ids.ID) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.waiting[partner] >= web.MaxPolls {
		return false
	}
	x.waiting[partner]++
	return true
}

// Count returns how many requests of all partners wait.
func (x *Polls) Count() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := 0
	for _, waiting := range x.waiting {
		n += waiting
	}
	return n
}

// leave counts one request less.
func (x *Polls) leave(partner ids.ID) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiting[partner]--
	if x.waiting[partner] == 0 {
		delete(x.waiting, partner)
	}
}

// showEvents answers with the events of lines. The client has the first before events of the first line
// already.
func (s *Seller) showEvents(w http.ResponseWriter, partner ids.ID, lines []uint64, before, seq,
	total int) error {
	var out wire.Writer
	// Each line is read once, however many of its events are shown.
	left := lines
	err := s.lines.Read(slices.Compact(slices.Clone(lines)), func(l *journal.Line) error {
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
		// Of all further lines the client has no event.
		before = 0
		return nil
	})
	return web.Show(w, err, func(w *wire.Writer) {
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

// writeOptionalID writes an id, or null where there is none.
func writeOptionalID(w *wire.Writer, name string, id *ids.ID) {
	if id == nil {
		w.Null(name)
		return
	}
	w.ID(name, *id)
}

var errFewerEvents = errors.New("partner: a line has fewer events than the feed counts")
