package server

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/booking"
	"waybill/server/wire"
)

// counts is what the server counts of itself for GET /metrics, since its start. Requests only add to numbers: no lock,
// and nothing is allocated.
type counts struct {
	routes                    map[string]*routeCounts // by pattern; none comes to it later
	lines, bytes              atomic.Uint64           // of the journal
	syncs, batches            *histogram
	snapshots                 atomic.Uint64
	snapshotSize, snapshotted atomic.Int64 // bytes, and Unix milliseconds, of the last
	recently                  ticketCounts
}

// routeCounts is what came by one route.
type routeCounts struct {
	statuses [500]atomic.Uint64 // from 100 on
	took     *histogram
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
	latencies  = []int64{ms / 4, ms / 2, ms, 2 * ms, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 1000 * ms, 5000 * ms}
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

func (x exposition) text(parts ...string) {
	for _, part := range parts {
		x.B = append(x.B, part...)
	}
}

// family begins a metric; kind is counter, gauge or histogram.
func (x exposition) family(name, kind, help string) {
	x.text("# HELP ", name, " ", help, "\n# TYPE ", name, " ", kind, "\n")
}

// sample writes a value; labels are names and values in turn.
func (x exposition) sample(name string, value float64, labels ...string) {
	x.text(name)
	for i := 0; i < len(labels); i += 2 {
		x.text([]string{"{", ","}[min(i, 1)], labels[i], "=", strconv.Quote(labels[i+1]))
	}
	x.text([]string{"", "}"}[min(len(labels), 1)], " ")
	x.B = append(strconv.AppendFloat(x.B, value, 'g', -1, 64), '\n')
}

// single is a metric that is one number.
func (x exposition) single(name, kind, help string, value float64) {
	x.family(name, kind, help)
	x.sample(name, value)
}

// histogram writes the samples of a histogram, whose values are in so many to the metric's unit.
func (x exposition) histogram(name string, h *histogram, unit float64, labels ...string) {
	total := uint64(0)
	for i := range h.counts {
		bound := "+Inf"
		if total += h.counts[i].Load(); i < len(h.bounds) {
			bound = strconv.FormatFloat(float64(h.bounds[i])/unit, 'g', -1, 64)
		}
		x.sample(name+"_bucket", float64(total), slices.Concat(labels, []string{"le", bound})...)
	}
	x.sample(name+"_sum", float64(h.sum.Load())/unit, labels...)
	x.sample(name+"_count", float64(total), labels...)
}

// getMetrics answers GET /metrics (contract §3).
func (s *Server) getMetrics(w http.ResponseWriter, _ *http.Request) error {
	tickets, err := s.counts.recently.get(s.countTickets)
	if err != nil {
		return err
	}
	x := exposition{newWriter()}
	s.writeRequests(x)
	s.writeJournal(x)
	x.family("waybill_tickets", "gauge", "Tickets by phase, at most ten seconds ago.")
	for phase, n := range tickets {
		x.sample("waybill_tickets", float64(n), "phase", phaseNames[phase])
	}
	s.writeProcess(x)
	sendBody(w, http.StatusOK, metricsType, x.Writer)
	return nil
}

var metricsType = []string{"text/plain; version=0.0.4; charset=utf-8"}

func (s *Server) writeRequests(x exposition) {
	routes := slices.Sorted(maps.Keys(s.counts.routes))
	x.family("waybill_http_requests_total", "counter", "Requests answered, by route and status.")
	for _, route := range routes {
		for i := range s.counts.routes[route].statuses {
			if n := s.counts.routes[route].statuses[i].Load(); n > 0 {
				x.sample("waybill_http_requests_total", float64(n), "route", route, "status", strconv.Itoa(100+i))
			}
		}
	}
	x.family("waybill_http_request_duration_seconds", "histogram", "From a request's header to its whole answer.")
	for _, route := range routes {
		if took := s.counts.routes[route].took; took.sum.Load() > 0 {
			x.histogram("waybill_http_request_duration_seconds", took, float64(time.Second), "route", route)
		}
	}
	x.family("waybill_legacy_calls_total", "counter", "Calls of the legacy interface by partners for whom it is still there.")
	for _, route := range routes {
		if strings.Contains(route, "/rest/") {
			x.sample("waybill_legacy_calls_total", float64(s.legacyCalls[route].Load()), "route", route)
		}
	}
	if s.cfg.Connections != nil {
		x.single("waybill_open_connections", "gauge", "Connections that are open.", float64(s.cfg.Connections()))
	}
}

func (s *Server) writeJournal(x exposition) {
	c := s.counts
	x.single("waybill_journal_lines_total", "counter", "Lines written to the journal.", float64(c.lines.Load()))
	x.single("waybill_journal_bytes_total", "counter", "Bytes written to the journal.", float64(c.bytes.Load()))
	x.family("waybill_journal_sync_duration_seconds", "histogram", "How long a sync of the journal took.")
	x.histogram("waybill_journal_sync_duration_seconds", c.syncs, float64(time.Second))
	x.family("waybill_journal_batch_lines", "histogram", "Lines that one sync made durable.")
	x.histogram("waybill_journal_batch_lines", c.batches, 1)
	x.single("waybill_snapshots_total", "counter", "Snapshots written.", float64(c.snapshots.Load()))
	if at := c.snapshotted.Load(); at > 0 {
		x.single("waybill_snapshot_size_bytes", "gauge", "Size of the last snapshot written.", float64(c.snapshotSize.Load()))
		x.single("waybill_snapshot_timestamp_seconds", "gauge", "When the last snapshot was written.", float64(at)/1e3)
	}
}

var phaseNames = [...]string{booking.Unpaid: "unpaid", booking.Booked: "booked", booking.Paid: "paid",
	booking.Canceled: "canceled", booking.Refunded: "refunded", booking.Uncompleted: "uncompleted"}

type byPhase [len(phaseNames)]int

// ticketCounts keeps the last count of all tickets for a while: it takes a tenth of a second for a million.
type ticketCounts struct {
	mu   sync.Mutex
	at   time.Time
	last byPhase
}

func (c *ticketCounts) get(count func() (byPhase, error)) (n byPhase, err error) {
	const keep = 10 * time.Second
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.at) >= keep {
		if n, err = count(); err != nil {
			return n, err
		}
		c.at, c.last = now, n
	}
	return c.last, nil
}

// countTickets counts all tickets, as they are now. Bookings are immutable, so that no lock is held meanwhile.
func (s *Server) countTickets() (n byPhase, err error) {
	var all []*booking.Booking
	var now time.Time
	err = s.st.View(func(st *State, at time.Time) { all, now = st.Bookings.Freeze().Bookings, at })
	for _, b := range all {
		for i := 0; b != nil && i < len(b.Tickets); i++ {
			n[b.Tickets[i].PhaseAt(now)]++
		}
	}
	return n, err
}
