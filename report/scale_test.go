package report

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
	"unsafe"

	"waybill/booking"
	"waybill/schedule/ids"
)

// many are bookings of ten tickets each, so many tickets in all, created in any order, several at the same
// instant.
func many(n int, created func(i int) time.Duration) (list []*booking.Booking) {
	r := run("north", "R", 6, 0, "A", "B")
	ids := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for i := 0; i < n; i += 10 {
		var tickets []booking.Ticket
		for k := i; k < min(i+10, n); k++ {
			tickets = append(tickets, ticket(ids[k], created(k), leg(r, 1, 100)))
		}
		list = append(list, bookingOf(i, tickets...))
	}
	return list
}

// scattered returns instants in no order.
func scattered(seed uint64, within int) func(int) time.Duration {
	random := rand.New(rand.NewPCG(seed, 3))
	return func(int) time.Duration { return time.Duration(random.IntN(within)) * time.Millisecond }
}

// large are bookings of so many tickets, made once.
var large = sync.OnceValue(func() []*booking.Booking { return many(rows, scattered(6, rows/2)) })

const rows = 100_000

// few are the rows of a round in these tests: more than are sorted at a time.
const few = sorted + sorted/8

// roundsOf are rounds of few rows.
func roundsOf(r *Report, list []*booking.Booking, few int) *rounds {
	x := newRounds(r, made(list))
	x.room = few
	return x
}

// plain returns the ids of all tickets as a plain sort of all has them.
func plain(list []*booking.Booking) (ids []ids.ID) {
	var all []*booking.Ticket
	for _, b := range list {
		for i := range b.Tickets {
			all = append(all, &b.Tickets[i])
		}
	}
	slices.SortFunc(all, func(a, b *booking.Ticket) int {
		if a.Created != b.Created {
			return int(a.Created - b.Created)
		}
		return bytes.Compare(a.ID[:], b.ID[:])
	})
	for _, t := range all {
		ids = append(ids, t.ID)
	}
	return ids
}

// Decision reports.rows: rows that are sorted a part at a time come in the order of a plain sort of all, none
// twice and none left out.
func TestRoundsAreInTheOrderOfAPlainSort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows    int
		created func(int) time.Duration
	}{
		"none":                 {0, scattered(1, 1)},
		"one":                  {1, scattered(1, 1)},
		"as many as a round":   {few, scattered(2, 1e6)},
		"falling":              {2 * few, func(i int) time.Duration { return -time.Duration(i) * time.Millisecond }},
		"rising":               {2 * few, func(i int) time.Duration { return time.Duration(i) * time.Millisecond }},
		"scattered over three": {3 * few, scattered(9, few)},
		"of few instants, also of 1926": {2*few + 1, func(i int) time.Duration {
			return -time.Duration(i%3) * 50 * 365 * 24 * time.Hour
		}},
	} {
		list := many(c.rows, c.created)
		r := always("north", CreatedAt)
		r.Start = day0.AddDate(-200, 0, 0)
		x := roundsOf(r, list, few)
		var got []ids.ID
		for x.advance() {
			if n := len(x.rows); n > few || x.more && n < few {
				t.Errorf("%s: a round of %d", name, n)
			}
			for _, r := range x.rows {
				got = append(got, r.id)
			}
		}
		if !slices.Equal(got, plain(list)) {
			t.Errorf("%s: %d rows of %d, or not in order", name, len(got), c.rows)
		}
	}
}

// watched reads lines as they are written, and now and then how much memory is in use.
type watched struct {
	want   []string // the first cells, in order, the header's first
	rows   int
	wrong  int
	rest   []byte
	writes int
	peak   uint64
}

func (w *watched) Write(b []byte) (int, error) {
	w.rest = append(w.rest, b...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\r\n"))
		if !whole {
			break
		}
		cell, _, _ := bytes.Cut(line, []byte(","))
		if w.rows >= len(w.want) || string(cell) != w.want[w.rows] {
			w.wrong++
		}
		w.rows++
		w.rest = rest
	}
	w.rest = slices.Clone(w.rest)
	if w.writes++; w.writes%250 == 10 {
		w.peak = max(w.peak, inUse())
	}
	return len(b), nil
}

// inUse returns how many bytes are live.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Decision reports.rows: a large report takes the memory of some rounds, not of its rows, and is in the order
// of a plain sort.
func TestAReportOfManyRowsIsWrittenInRounds(t *testing.T) {
	list := large()
	w := &watched{want: []string{"orderId"}}
	for _, id := range plain(list) {
		w.want = append(w.want, id.String())
	}
	before := inUse()
	out := writing{
		out:     csv.NewWriter(w),
		rounds:  roundsOf(always("north", CreatedAt), list, few),
		now:     day0,
		partner: partners,
	}
	err := out.all(t.Context())
	n := out.rows
	if err != nil || n != rows || w.rows != rows+1 || w.wrong != 0 || len(w.rest) != 0 {
		t.Errorf("%d rows are counted, %d lines written, %d wrong: %v", n, w.rows, w.wrong, err)
	}
	const kept = (few + 2*sorted) * uint64(unsafe.Sizeof(row{}))
	if used := w.peak - before; w.peak == 0 || used > kept+kept/4+1<<18 {
		t.Errorf("%d bytes are in use while it is written, of which %d are for rows; all rows would be %d",
			used, kept, rows*unsafe.Sizeof(row{}))
	}
	runtime.KeepAlive(list)
}

// Decision reports.rows: what a round takes does not grow with the rows, and what a row takes neither.
func TestMemoryDoesNotGrowWithTheRows(t *testing.T) {
	list := large()[:4*few/10]
	r := always("north", CreatedAt)
	took := func(list []*booking.Booking) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		roundsOf(r, list, few).advance()
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	once := took(list)
	often := took(slices.Repeat(list, 2))
	if often > once+once/5 {
		t.Errorf("a round takes %d bytes, of twice the rows %d", once, often)
	}
	allocs := func(n int) float64 {
		part := list[:n/10]
		return testing.AllocsPerRun(1, func() {
			rows, err := Write(context.Background(), io.Discard, r, made(part), day0, partners)
			if err != nil || rows != n {
				t.Errorf("%d rows, %v", rows, err)
			}
		}) / float64(n)
	}
	if few, more := allocs(500), allocs(5000); more > few*1.1 {
		t.Errorf("a row takes %.1f allocations among 500 and %.1f among 5,000", few, more)
	}
}

// stopping cancels a context at the first write.
type stopping struct {
	bytes.Buffer
	stop func()
}

func (w *stopping) Write(b []byte) (int, error) {
	w.stop()
	return w.Buffer.Write(b)
}

// Package report: a report that is stopped, or cannot be written, is an error and not a shorter report.
func TestAReportThatIsStoppedIsAnError(t *testing.T) {
	t.Parallel()
	const size = 20_000
	list := many(size, scattered(8, 1e6))
	r := always("north", CreatedAt)
	r.OrderBy = DepartureDate
	ctx, cancel := context.WithCancel(t.Context())
	w := &stopping{stop: cancel}
	n, err := Write(ctx, w, r, made(list), day0, partners)
	if !errors.Is(err, context.Canceled) || n > size/10 {
		t.Errorf("stopped at the first write: %d rows, %v", n, err)
	}
	if _, err := Write(ctx, io.Discard, r, made(list[:1]), day0, partners); !errors.Is(
		err,
		context.Canceled,
	) {
		t.Errorf("stopped before: %v", err)
	}
	full := errors.New("no room on the disk")
	for _, bookings := range []int{1, len(list)} { // less and more than what is written at a time
		in, out := io.Pipe()
		in.CloseWithError(full)
		n, err := Write(t.Context(), out, r, made(list[:bookings]), day0, partners)
		if !errors.Is(err, full) || n > size/10 {
			t.Errorf("the disk is full: %d rows, %v", n, err)
		}
	}
}
