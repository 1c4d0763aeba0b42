package ops

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/booking"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// exposition is a page in the text format of Prometheus.
type exposition struct{ *wire.Writer }

// printf writes lines.
func (x exposition) printf(format string, args ...any) {
	x.B = fmt.Appendf(x.B, format, args...)
}

// family begins a metric; kind is counter, gauge or histogram.
func (x exposition) family(name, kind, help string) {
	x.printf("# HELP %s %s\n# TYPE %[1]s %[3]s\n", name, help, kind)
}

// single is a metric that is one number.
func (x exposition) single(name, kind, help string, value any) {
	x.family(name, kind, help)
	x.printf("%s %v\n", name, value)
}

// histogram writes the samples of a histogram, of whose values so many make the metric's unit; each label
// ends in a comma.
func (x exposition) histogram(name, labels string, h *web.Histogram, unit float64) {
	// In this format each bucket also counts what the smaller ones do.
	total := uint64(0)
	for i, bound := range h.Bounds {
		total += h.Counts[i].Load()
		x.printf("%s_bucket{%sle=\"%v\"} %d\n", name, labels, float64(bound)/unit, total)
	}
	total += h.Counts[len(h.Bounds)].Load()
	x.printf("%s_bucket{%sle=\"+Inf\"} %d\n%[1]s_sum{%[2]s} %[4]v\n%[1]s_count{%[2]s} %[3]d\n", name, labels,
		total, float64(h.Sum.Load())/unit)
}

// look reads what metrics count, and waits for nothing: they go on where lines are not kept elsewhere yet
// (decision keep.silent), and promise nothing.
func (s *Monitor) look(read func(ledger.State, time.Time)) error {
	_, err := s.Store.Glance(read)
	return err
}

// GetMetrics answers GET /metrics (decision probes.open).
func (s *Monitor) GetMetrics(w http.ResponseWriter, _ *http.Request) error {
	tickets, err := s.recentTickets()
	if err != nil {
		return err
	}
	var waiting, parked int
	var left map[ledger.SentAs]uint64
	var oldest time.Duration
	lastDay := int64(0)
	if last, ok := s.Timetable.Load().LastDay(); ok {
		lastDay = last.Date().Unix()
	}
	err = s.look(func(st ledger.State, now time.Time) {
		waiting, parked = st.Outbox.Count()
		left = st.Outbox.LeftCounts()
		if since, ok := st.Outbox.Oldest(); ok {
			oldest = now.Sub(since)
		}
	})
	if err != nil {
		return err
	}
	// One page, in the order in which an operator reads: requests, journal, tickets, messages, process.
	x := exposition{wire.NewWriter()}
	s.writeRequests(x)
	writeJournal(x, s.Counts)
	x.single("waybill_erasures_open", "gauge", "Lines of the journal that an erasure has named and not yet "+
		"erased; 1 where only reports or letters are left.", s.Store.Unerased())
	x.single("waybill_clock_step_seconds", "gauge", "By how much the machine's clock has jumped; 0 while it is "+
		"believed.", int(s.Step()/time.Second))
	x.single("waybill_timetable_last_day_timestamp_seconds", "gauge", "Midnight UTC of the last day of the "+
		"timetable in force; 0 without one.", lastDay)
	s.writeKeeper(x)
	if err := s.writeWitnesses(x); err != nil {
		return err
	}
	x.family("waybill_tickets", "gauge", "Tickets by phase, as of at most ten seconds ago.")
	for phase, n := range tickets {
		x.printf("waybill_tickets{phase=%q} %d\n", PhaseNames[phase], n)
	}
	x.family("waybill_outbox_messages", "gauge", "Messages to passengers that are not sent, by state.")
	x.printf("waybill_outbox_messages{state=\"waiting\"} %d\nwaybill_outbox_messages{state=\"parked\"} %d\n",
		waiting, parked)
	x.family("waybill_outbox_sent_total", "counter",
		"Messages to passengers that have left the outbox, by what they were sent as.")
	for _, as := range ledger.Ways {
		x.printf("waybill_outbox_sent_total{as=%q} %d\n", as, left[as])
	}
	x.family("waybill_outbox_failed_attempts_total", "counter",
		"Attempts to send a message to a passenger that failed, by peer.")
	for lane, peer := range ledger.LaneNames {
		x.printf("waybill_outbox_failed_attempts_total{peer=%q} %d\n", peer, s.Counts.Failed[lane].Load())
	}
	x.single("waybill_outbox_oldest_message_age_seconds", "gauge",
		"How long the oldest message that waits has waited.", oldest.Seconds())
	writeProcess(x)
	web.SendBody(w, http.StatusOK, metricsType, x.Writer)
	return nil
}

var metricsType = []string{"text/plain; version=0.0.4; charset=utf-8"}

// writeRequests writes what is counted of requests.
func (s *Monitor) writeRequests(x exposition) {
	c := s.Counts
	routes := slices.Sorted(maps.Keys(c.Routes))
	x.family("waybill_http_requests_total", "counter", "Requests answered, by route and status.")
	for _, route := range routes {
		for i := range c.Routes[route].Statuses {
			n := c.Routes[route].Statuses[i].Load()
			if n > 0 {
				x.printf("waybill_http_requests_total{route=%q,status=\"%d\"} %d\n", route, 100+i, n)
			}
		}
	}
	// A route that nobody has called has no histogram: there are many of them, with many buckets each.
	x.family("waybill_http_request_duration_seconds", "histogram",
		"From a request's header to its whole answer.")
	for _, route := range routes {
		took := c.Routes[route].Took
		if took.Sum.Load() > 0 {
			x.histogram("waybill_http_request_duration_seconds", fmt.Sprintf("route=%q,", route), took,
				float64(time.Second))
		}
	}
	x.family("waybill_legacy_calls_total", "counter",
		"Calls of the legacy interface by partners for whom it is still there.")
	for _, route := range routes {
		if strings.Contains(route, "/rest/") {
			x.printf("waybill_legacy_calls_total{route=%q} %d\n", route, c.Routes[route].Legacy.Load())
		}
	}
	// Only a listener knows them, which a handler that is tested by itself has not.
	if s.connections != nil {
		x.single("waybill_open_connections", "gauge", "Connections that are open.", s.connections())
	}
}

// writeWitnesses writes how far the witnesses have come. A line that was written since they were asked is
// unsigned: it is one for a minute at most, while they answer.
func (s *Monitor) writeWitnesses(x exposition) error {
	head, err := s.Store.Newest()
	if err != nil {
		return err
	}
	known := s.witnesses()
	x.family("waybill_witness_refused_total", "counter", "Checkpoints that a witness has refused to sign.")
	for _, w := range known {
		x.printf("waybill_witness_refused_total{witness=%q} %d\n", w.Name, w.Refused)
	}
	x.family("waybill_witness_signed_timestamp_seconds", "gauge",
		"When a witness last signed, by its clock; 0 before the first.")
	for _, w := range known {
		seconds := int64(0)
		if !w.At.IsZero() {
			seconds = w.At.Unix()
		}
		x.printf("waybill_witness_signed_timestamp_seconds{witness=%q} %d\n", w.Name, seconds)
	}
	x.family("waybill_witness_unsigned_lines", "gauge", "Lines of the journal that a witness has not signed.")
	for _, w := range known {
		x.printf("waybill_witness_unsigned_lines{witness=%q} %d\n", w.Name, head.Seq-min(w.Lines, head.Seq))
	}
	return nil
}

// writeJournal writes what is counted of the journal.
func writeJournal(x exposition, c *web.Counts) {
	x.single("waybill_journal_lines_total", "counter", "Lines written to the journal.", c.Lines.Load())
	x.single("waybill_journal_bytes_total", "counter", "Bytes written to the journal.", c.Bytes.Load())
	x.family("waybill_journal_sync_duration_seconds", "histogram", "How long a sync of the journal took.")
	x.histogram("waybill_journal_sync_duration_seconds", "", c.Syncs, float64(time.Second))
	x.family("waybill_journal_batch_lines", "histogram", "Lines that one sync made durable.")
	x.histogram("waybill_journal_batch_lines", "", c.Batches, 1)
	x.single("waybill_snapshots_total", "counter", "Snapshots written.", c.Snapshots.Load())
	// A server that has written none has no time to show for the last.
	if at := c.Snapshotted.Load(); at > 0 {
		x.single("waybill_snapshot_size_bytes", "gauge", "Size of the last snapshot written.",
			c.SnapshotSize.Load())
		x.single("waybill_snapshot_timestamp_seconds", "gauge", "When the last snapshot was written.",
			float64(at)/1e3)
	}
}

// writeKeeper writes what is counted of the keeper; without one all of it stays zero.
func (s *Monitor) writeKeeper(x exposition) {
	waiting, _ := s.Store.Waiting()
	x.single("waybill_keep_lines_waiting", "gauge", "Lines that the keeper has yet to confirm.", waiting)
	x.family("waybill_keep_seconds", "histogram", "How long lines took to be kept elsewhere.")
	x.histogram("waybill_keep_seconds", "", s.Counts.Keeps, float64(time.Second))
}

// PhaseNames are what metrics call the phases of tickets.
var PhaseNames = [...]string{booking.Unpaid: "unpaid",
	booking.Booked:      "booked",
	booking.Paid:        "paid",
	booking.Canceled:    "canceled",
	booking.Refunded:    "refunded",
	booking.Uncompleted: "uncompleted"}

// recentTickets counts all tickets by phase, at most every ten seconds: it takes a second for a million, most
// of which it rests. No lock is held meanwhile.
func (s *Monitor) recentTickets() (n [len(PhaseNames)]int, err error) {
	s.counting.Lock()
	defer s.counting.Unlock()
	if !s.counted.IsZero() && time.Since(s.counted) < 10*time.Second {
		return s.tickets, nil
	}
	var frozen booking.Frozen
	var now time.Time
	err = s.look(func(st ledger.State, at time.Time) {
		frozen = st.Bookings.Freeze()
		frozen.Step = s.Store.Pace().Step
		now = at
	})
	for b := range frozen.All() {
		for i := range b.Tickets {
			n[b.Tickets[i].PhaseAt(now)]++
		}
	}
	// By the machine's clock: a test clock that stands still must not keep the count from being made anew.
	if err == nil {
		s.counted = time.Now()
		s.tickets = n
	}
	return n, err
}
