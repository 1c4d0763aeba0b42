// Package load puts a server under load over TCP, as partners do, and measures what it bears.
package load

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/front"
	"waybill/store/durable"
)

// Load is a load on a server of this process.
type Load struct {
	Dir      string          // its data directory: a new one, or one of an earlier load
	Bookings int             // of two, that there are to be before anything is measured
	Conns    []int           // the numbers of connections to measure with
	Window   time.Duration   // how long each is measured
	Table    io.Writer       // is told what was measured, as a Markdown table
	Progress io.Writer       // is told how far the filling is
	Stop     <-chan struct{} // ends it early, with an error

	server       *server.Server
	addr         string // where it serves HTTP
	key          string // of the partner that all requests come from
	offers, sold []struct{ ID string }
}

// Set says what is to be measured: how many bookings there are to be before, the numbers of connections, with
// commas between, and how many seconds each is measured.
func (l *Load) Set(bookings int, conns string, seconds float64) error {
	// Offers are searched for once a window, and it must end before they do.
	const longest = 15 * time.Minute // an offer lives longer
	l.Bookings = bookings
	l.Window = time.Duration(seconds * float64(time.Second))
	good := l.Bookings > 0 && 0 < l.Window && l.Window <= longest
	for text := range strings.SplitSeq(conns, ",") {
		n, err := strconv.Atoi(text)
		good = good && err == nil && n > 0
		l.Conns = append(l.Conns, n)
	}
	if !good {
		return errors.New("-conns is a list as in 1,64, -bookings at least 1, " +
			"-seconds more than 0, at most 900")
	}
	return nil
}

// The works, as partners do them.
const (
	create = "W1 create a booking for two"
	read   = "W2 read a booking"
	search = "W3 schedule, 14 days, 50 rows"
)

// run fills the directory and writes how fast the server is then.
func (l *Load) run() error {
	if err := l.adopt(); err != nil {
		return err
	}
	if err := l.fill(); err != nil {
		return err
	}
	fmt.Fprint(l.Table, "| work | connections | requests/s | p50 ms | p99 ms |\n|---|---|---|---|---|\n")
	for _, n := range l.Conns {
		for _, work := range []string{create, read, search} {
			took, rate, err := l.measure(work, n, l.Window, math.MaxInt)
			if err != nil {
				return err
			}
			p50 := took[len(took)/2].Seconds() * 1e3
			p99 := took[len(took)*99/100].Seconds() * 1e3
			fmt.Fprintf(l.Table, "| %s | %d | %.0f | %.2f | %.2f |\n", work, n, rate, p50, p99)
		}
	}
	if err := l.tails(); err != nil {
		return err
	}
	return l.sizes()
}

// sizes writes what the bookings take, on disk and in memory.
func (l *Load) sizes() error {
	// The memory of the process: server, load and all. It is read before listing files takes more.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	total, _, err := l.get("GET /v2/bookings?take=1")
	if err != nil {
		return err
	}
	size, err := l.journalSize()
	if err != nil {
		return err
	}
	fmt.Fprintf(l.Table, "\nbookings: %d\njournal: %d bytes a booking\n", total, size/int64(max(1, total)))
	fmt.Fprintf(l.Table, "memory: %d MB\n", (m.Sys-m.HeapReleased)>>20)
	return nil
}

// journalSize returns how many bytes the journal has.
func (l *Load) journalSize() (size int64, err error) {
	dir := durable.Dir(l.Dir)
	files, err := dir.List("journal")
	for _, name := range files {
		if f, err := dir.Open("journal/" + name); err == nil { // else it is gone since
			have, _ := f.Size()
			size += have
			f.Close()
		}
	}
	return size, err
}

// sample makes a sale, and returns how many bytes it takes in the journal, and its answer.
func (l *Load) sample() (line int64, answer []byte, err error) {
	if err := l.find(); err != nil {
		return 0, nil, err
	}
	c, err := l.dial(l.addr)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	before, err := l.journalSize()
	for answer == nil && err == nil { // a bus may be full
		answer, err = c.send(l.request(create))
	}
	if err != nil {
		return 0, nil, err
	}
	after, err := l.journalSize()
	return after - before, answer, err
}

// fill sells until there are as many bookings as wanted, and keeps some of each age to be read.
func (l *Load) fill() error {
	// A directory of an earlier run has some already.
	have, _, err := l.get("GET /v2/bookings?take=1")
	if err != nil {
		return err
	}
	for have < l.Bookings {
		// Many connections fill fastest: their sales share syncs.
		sold, rate, err := l.measure(create, 64, 2*time.Second, l.Bookings-have)
		if err != nil {
			return err
		}
		have += len(sold)
		fmt.Fprintf(l.Progress, "%d of %d bookings, %.0f a second\n", have, l.Bookings, rate)
	}
	// Pages from all over the list: what was sold last may lie together in memory.
	const pages = 20
	for i := range pages {
		_, page, err := l.get(fmt.Sprintf("GET /v2/bookings?take=50&skip=%d", have*i/pages))
		if err != nil {
			return err
		}
		l.sold = append(l.sold, page...)
	}
	return nil
}

// measure does a work over so many connections for a while, but not more often than most. It returns how long
// each request took, the shortest first, and how many were answered in a second.
func (l *Load) measure(work string, conns int, window time.Duration, most int) (
	[]time.Duration, float64, error) {
	if err := l.find(); err != nil {
		return nil, 0, err
	}
	return l.press(l.addr, work, conns, window, most)
}

// find searches for offers, in place of those of before: they expire.
func (l *Load) find() error {
	l.offers = nil
	// As many searches as cities, each of some line: what is sold is spread over the whole network.
	for range cities {
		line, _ := l.request(search)
		_, found, err := l.get(line)
		if err != nil {
			return err
		}
		l.offers = append(l.offers, found...)
	}
	if len(l.offers) == 0 {
		return errNothing
	}
	return nil
}

// press does a work on the server at an address, as measure says.
func (l *Load) press(addr, work string, conns int, window time.Duration, most int) (
	[]time.Duration, float64, error) {
	// A list for each connection, so that they share nothing while they are timed.
	took := make([][]time.Duration, conns)
	errs := make([]error, conns)
	var begun atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	more := func() bool {
		n := begun.Add(1) // the first is made however slow the machine is
		return n <= int64(most) && (n == 1 || time.Since(start) < window)
	}
	for i := range conns {
		wg.Go(func() {
			took[i], errs[i] = l.connection(addr, work, more)
		})
	}
	wg.Wait()
	seconds := time.Since(start).Seconds()
	if err := cmp.Or(errs...); err != nil {
		return nil, 0, err
	}
	all := slices.Concat(took...)
	if len(all) == 0 {
		return nil, 0, errNothing
	}
	slices.Sort(all)
	return all, float64(len(all)) / seconds, nil
}

var errNothing = errors.New("nothing was done in time, or every bus is full")

// connection does a work over one connection, request by request, as long as there is to be more, and returns
// how long each took.
func (l *Load) connection(addr, work string, more func() bool) (took []time.Duration, err error) {
	c, err := l.dial(addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for more() {
		select {
		case <-l.Stop:
			return nil, errors.New("stopped before it was done")
		default:
		}
		// Making up a request is the load's own work, and is not timed.
		line, body := l.request(work)
		at := time.Now()
		text, err := c.send(line, body)
		if err != nil {
			return nil, err
		}
		if text != nil { // a bus that is full is no answer that counts, and no error
			took = append(took, time.Since(at))
		}
	}
	return took, nil
}

// request makes up a request for a work.
func (l *Load) request(work string) (line, body string) {
	const find = "GET /v2/offers/schedule?departureCitySlug=bench-%d&arrivalCitySlug=bench-%d&date=%s&days=14&take=50"
	const two = `{"offerId":"%s","currency":"UAH","passengers":[
{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]},
{"firstName":"Ivan","lastName":"Franko","email":"ivan@example.com","phones":[{"phone":"+380501234567"}]}]}`
	switch work {
	case create:
		return "POST /v2/bookings", fmt.Sprintf(two, l.offers[rand.IntN(len(l.offers))].ID)
	case read:
		return "GET /v2/bookings/" + l.sold[rand.IntN(len(l.sold))].ID, ""
	}
	// To a city that lies so far ahead that every line has it.
	from := rand.IntN(cities)
	day := time.Now().AddDate(0, 0, 1+rand.IntN(45))
	return fmt.Sprintf(find, from, (from+49)%cities, day.Format(time.DateOnly)), ""
}

// client is a connection that requests are made over, one after the other, with less work than a client of
// net/http has: the load shares the machine with what it measures.
type client struct {
	net.Conn
	answers *bufio.Reader
	key     string
}

// dial opens a connection to a server.
func (l *Load) dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReader(conn), l.key}, nil
}

// send makes a request and returns the answer; nil where a bus is full.
func (c *client) send(line, body string) ([]byte, error) {
	const head = "%s HTTP/1.1\r\nHost: bench\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n%s"
	fmt.Fprintf(c, head, line, c.key, len(body), body)
	resp, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if body != "" && resp.StatusCode == http.StatusConflict {
		return nil, nil
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s: %s: %s", line, resp.Status, text)
	}
	return text, nil
}

// get reads a list: how many there are in all, and those it shows.
func (l *Load) get(line string) (total int, shown []struct{ ID string }, err error) {
	c, err := l.dial(l.addr)
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	text, err := c.send(line, "")
	if err != nil {
		return 0, nil, err
	}
	var list struct {
		Data struct {
			Total                int
			Departures, Bookings []struct{ ID string }
		}
	}
	err = json.Unmarshal(text, &list)
	return list.Data.Total, append(list.Data.Departures, list.Data.Bookings...), err
}

// Over opens a directory and puts the load on all of the server, over TCP, as partners come.
func (l *Load) Over(cfg server.Config) error {
	if err := l.mayUse(); err != nil {
		return err
	}
	s, err := server.Open(cfg)
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return errors.Join(err, s.Close())
	}
	clients := front.NewServer(s, cfg.Log)
	go clients.Serve(web.Listener(ln, front.MaxConnections(), nil, web.NewBacklog(web.Backlogs)))
	l.server = s
	l.addr = ln.Addr().String()
	err = l.run()
	clients.Close() // by then every request has its answer
	return errors.Join(err, s.Close())
}
