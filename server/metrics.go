package server

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/wire"
)

// counts is what the server counts of itself for GET /metrics, since its start. Requests only add to numbers:
// no lock, and nothing is allocated.
type counts struct {
	routes                    map[string]*routeCounts // by pattern; none comes to it later
	lines, bytes              atomic.Uint64           // of the journal
	syncs, batches            *histogram
	snapshots, sent           atomic.Uint64        // sent are messages to passengers
	failed                    [lanes]atomic.Uint64 // attempts to send one, by peer
	snapshotSize, snapshotted atomic.Int64         // bytes, and Unix milliseconds, of the last

	counting sync.Mutex
	counted  time.Time
	tickets  [len(phaseNames)]int // as they were then
}

// routeCounts is what came by one route.
type routeCounts struct {
	statuses [500]atomic.Uint64 // from 100 on
	took     *histogram
	legacy   atomic.Uint64 // calls of the legacy interface by partners for whom it is still there
}

// otherRoute is the pattern of what no route matches.
const otherRoute = "/"

// add counts an answer.
func (c *counts) add(route string, status int, took time.Duration) {
	r := cmp.Or(c.routes[route], c.routes[otherRoute])
	r.statuses[min(max(status, 100), 599)-100].Add(1)
	r.took.observe(int64(took))
}

// histogram counts values by their size.
type histogram struct {
	bounds []int64         // rising; each is the largest value of its bucket
	counts []atomic.Uint64 // one more: of what is larger than all
	sum    atomic.Int64
}

func newHistogram(bounds []int64) *histogram {
	return &histogram{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (h *histogram) observe(v int64) {
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i].Add(1)
	h.sum.Add(v)
}

const ms = int64(time.Millisecond)

var (
	// The last ones are for requests that wait: for events (30 s at most), or for a provider that is asked
	// again.
	latencies = []int64{ms / 4, ms / 2, ms, 2 * ms, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		1000 * ms, 2500 * ms, 5000 * ms, 10_000 * ms, 20_000 * ms, 30_000 * ms, 60_000 * ms}
	batchSizes = []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024}
)

// newCounts makes the table of the routes.
func newCounts(patterns map[string]http.HandlerFunc) *counts {
	c := &counts{routes: map[string]*routeCounts{otherRoute: {took: newHistogram(latencies)}}}
	for pattern := range patterns {
		c.routes[pattern] = &routeCounts{took: newHistogram(latencies)}
	}
	c.syncs, c.batches = newHistogram(latencies), newHistogram(batchSizes)
	return c
}

// wrote counts a write of the journal.
func (c *counts) wrote(lines, bytes int, sync time.Duration) {
	c.lines.Add(uint64(lines))
	c.bytes.Add(uint64(bytes))
	c.batches.observe(int64(lines))
	c.syncs.observe(int64(sync))
}

// snapshot counts a snapshot.
func (c *counts) snapshot(bytes int64) {
	c.snapshots.Add(1)
	c.snapshotSize.Store(bytes)
	c.snapshotted.Store(time.Now().UnixMilli())
}

// exposition is a page in the text format of Prometheus.
type exposition struct{ *wire.Writer }

func (x exposition) printf(format string, args ...any) { x.B = fmt.Appendf(x.B, format, args...) }

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
func (x exposition) histogram(name, labels string, h *histogram, unit float64) {
	total := uint64(0)
	for i, bound := range h.bounds {
		total += h.counts[i].Load()
		x.printf("%s_bucket{%sle=\"%v\"} %d\n", name, labels, float64(bound)/unit, total)
	}
	total += h.counts[len(h.bounds)].Load()
	x.printf("%s_bucket{%sle=\"+Inf\"} %d\n%[1]s_sum{%[2]s} %[4]v\n%[1]s_count{%[2]s} %[3]d\n", name, labels, total, float64(h.sum.Load())/unit)
}

// getMetrics answers GET /metrics (contract §3).
func (s *Server) getMetrics(w http.ResponseWriter, _ *http.Request) error {
	tickets, err := s.recentTickets()
	if err != nil {
		return err
	}
	var waiting, parked int
	var oldest time.Duration
	if err := s.st.View(func(st *ledger.State, now time.Time) {
		waiting, parked = st.Outbox.Count()
		if since, ok := st.Outbox.Oldest(); ok {
			oldest = now.Sub(since)
		}
	}); err != nil {
		return err
	}
	x := exposition{newWriter()}
	s.writeRequests(x)
	s.counts.writeJournal(x)
	x.family("waybill_tickets", "gauge", "Tickets by phase, as of at most ten seconds ago.")
	for phase, n := range tickets {
		x.printf("waybill_tickets{phase=%q} %d\n", phaseNames[phase], n)
	}
	x.family("waybill_outbox_messages", "gauge", "Messages to passengers that are not sent, by state.")
	x.printf("waybill_outbox_messages{state=\"waiting\"} %d\nwaybill_outbox_messages{state=\"parked\"} %d\n", waiting, parked)
	x.single("waybill_outbox_sent_total", "counter", "Messages to passengers that were sent.", s.counts.sent.Load())
	x.family("waybill_outbox_failed_attempts_total", "counter", "Attempts to send a message to a passenger that failed, by peer.")
	for lane, peer := range laneNames {
		x.printf("waybill_outbox_failed_attempts_total{peer=%q} %d\n", peer, s.counts.failed[lane].Load())
	}
	x.single("waybill_outbox_oldest_message_age_seconds", "gauge", "How long the oldest message that waits has waited.", oldest.Seconds())
	writeProcess(x)
	sendBody(w, http.StatusOK, metricsType, x.Writer)
	return nil
}

var metricsType = []string{"text/plain; version=0.0.4; charset=utf-8"}

func (s *Server) writeRequests(x exposition) {
	c := s.counts
	routes := slices.Sorted(maps.Keys(c.routes))
	x.family("waybill_http_requests_total", "counter", "Requests answered, by route and status.")
	for _, route := range routes {
		for i := range c.routes[route].statuses {
			if n := c.routes[route].statuses[i].Load(); n > 0 {
				x.printf("waybill_http_requests_total{route=%q,status=\"%d\"} %d\n", route, 100+i, n)
			}
		}
	}
	x.family("waybill_http_request_duration_seconds", "histogram", "From a request's header to its whole answer.")
	for _, route := range routes {
		if took := c.routes[route].took; took.sum.Load() > 0 {
			x.histogram("waybill_http_request_duration_seconds", fmt.Sprintf("route=%q,", route), took, float64(time.Second))
		}
	}
	x.family("waybill_legacy_calls_total", "counter", "Calls of the legacy interface by partners for whom it is still there.")
	for _, route := range routes {
		if strings.Contains(route, "/rest/") {
			x.printf("waybill_legacy_calls_total{route=%q} %d\n", route, c.routes[route].legacy.Load())
		}
	}
	if s.cfg.Connections != nil {
		x.single("waybill_open_connections", "gauge", "Connections that are open.", s.cfg.Connections())
	}
}

func (c *counts) writeJournal(x exposition) {
	x.single("waybill_journal_lines_total", "counter", "Lines written to the journal.", c.lines.Load())
	x.single("waybill_journal_bytes_total", "counter", "Bytes written to the journal.", c.bytes.Load())
	x.family("waybill_journal_sync_duration_seconds", "histogram", "How long a sync of the journal took.")
	x.histogram("waybill_journal_sync_duration_seconds", "", c.syncs, float64(time.Second))
	x.family("waybill_journal_batch_lines", "histogram", "Lines that one sync made durable.")
	x.histogram("waybill_journal_batch_lines", "", c.batches, 1)
	x.single("waybill_snapshots_total", "counter", "Snapshots written.", c.snapshots.Load())
	if at := c.snapshotted.Load(); at > 0 {
		x.single("waybill_snapshot_size_bytes", "gauge", "Size of the last snapshot written.", c.snapshotSize.Load())
		x.single("waybill_snapshot_timestamp_seconds", "gauge", "When the last snapshot was written.", float64(at)/1e3)
	}
}

var phaseNames = [...]string{booking.Unpaid: "unpaid", booking.Booked: "booked", booking.Paid: "paid",
	booking.Canceled: "canceled", booking.Refunded: "refunded", booking.Uncompleted: "uncompleted"}

// recentTickets counts all tickets by phase, at most every ten seconds: it takes a tenth of a second for a
// million. The bookings are immutable, so that no lock is held meanwhile.
func (s *Server) recentTickets() (n [len(phaseNames)]int, err error) {
	c := s.counts
	c.counting.Lock()
	defer c.counting.Unlock()
	if !c.counted.IsZero() && time.Since(c.counted) < 10*time.Second {
		return c.tickets, nil
	}
	var all []*booking.Booking
	var now time.Time
	err = s.st.View(func(st *ledger.State, at time.Time) { all, now = st.Bookings.Freeze().Bookings, at })
	for _, b := range all {
		for i := 0; b != nil && i < len(b.Tickets); i++ {
			n[b.Tickets[i].PhaseAt(now)]++
		}
	}
	if err == nil {
		c.counted, c.tickets = time.Now(), n
	}
	return n, err
}
