package web

import (
	"cmp"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"waybill/server/ledger"
)

// Counts is what the server counts of itself for GET /metrics, since its start. Requests only add to numbers:
// no lock, and nothing is allocated.
type Counts struct {
	Routes                    map[string]*routeCounts // by pattern; none comes to it later
	Lines, Bytes              atomic.Uint64           // of the journal
	Syncs, Batches            *Histogram
	Keeps                     *Histogram // how long lines took to be kept elsewhere, in nanoseconds
	Snapshots                 atomic.Uint64
	Failed                    [ledger.Lanes]atomic.Uint64 // attempts to send one, by peer
	SnapshotSize, Snapshotted atomic.Int64                // bytes, and Unix milliseconds, of the last
}

// routeCounts is what came by one route.
type routeCounts struct {
	Statuses [500]atomic.Uint64 // from 100 on
	Took     *Histogram
	Legacy   atomic.Uint64 // calls of the legacy interface by partners for whom it is still there
}

// otherRoute is the pattern of what no route matches.
const otherRoute = "/"

// Add counts an answer.
func (c *Counts) Add(route string, status int, took time.Duration) {
	r := cmp.Or(c.Routes[route], c.Routes[otherRoute])
	r.Statuses[min(max(status, 100), 599)-100].Add(1)
	r.Took.Observe(int64(took))
}

// Histogram counts values by their size.
type Histogram struct {
	Bounds []int64         // rising; each is the largest value of its bucket
	Counts []atomic.Uint64 // one more: of what is larger than all
	Sum    atomic.Int64
}

// NewHistogram returns a histogram of buckets whose largest values are bounds.
func NewHistogram(bounds []int64) *Histogram {
	return &Histogram{
		Bounds: bounds,
		Counts: make([]atomic.Uint64, len(bounds)+1),
	}
}

// Observe counts a value.
func (h *Histogram) Observe(v int64) {
	i, _ := slices.BinarySearch(h.Bounds, v)
	h.Counts[i].Add(1)
	h.Sum.Add(v)
}

// Ms is a millisecond in the unit of the histograms of durations, nanoseconds.
const Ms = int64(time.Millisecond)

var (
	// The last ones are for requests that wait: for events (30 s at most), or for a provider that is asked
	// again.
	Latencies = []int64{Ms / 4, Ms / 2, Ms, 2 * Ms, 5 * Ms, 10 * Ms, 25 * Ms, 50 * Ms, 100 * Ms, 250 * Ms,
		500 * Ms,
		1000 * Ms, 2500 * Ms, 5000 * Ms, 10_000 * Ms, 20_000 * Ms, 30_000 * Ms, 60_000 * Ms}
	batchSizes = []int64{1, 2, 4, 8, 16, 32, 64, 128, 256, 1024}
)

// NewCounts makes the table of the routes.
func NewCounts(patterns map[string]http.HandlerFunc) *Counts {
	c := &Counts{Routes: map[string]*routeCounts{otherRoute: {Took: NewHistogram(Latencies)}}}
	for pattern := range patterns {
		c.Routes[pattern] = &routeCounts{Took: NewHistogram(Latencies)}
	}
	c.Syncs = NewHistogram(Latencies)
	c.Keeps = NewHistogram(Latencies)
	c.Batches = NewHistogram(batchSizes)
	return c
}

// Wrote counts a write of the journal.
func (c *Counts) Wrote(lines, bytes int, sync time.Duration) {
	c.Lines.Add(uint64(lines))
	c.Bytes.Add(uint64(bytes))
	c.Batches.Observe(int64(lines))
	c.Syncs.Observe(int64(sync))
}

// Kept counts lines that were kept elsewhere, by how long that took.
func (c *Counts) Kept(took time.Duration) { c.Keeps.Observe(int64(took)) }

// Snapshot counts a snapshot.
func (c *Counts) Snapshot(bytes int64) {
	c.Snapshots.Add(1)
	c.SnapshotSize.Store(bytes)
	c.Snapshotted.Store(time.Now().UnixMilli())
}

// CountLegacy counts a call of the legacy interface by a partner for whom it is still there.
func (c *Counts) CountLegacy(route string) {
	c.Routes[route].Legacy.Add(1)
}
