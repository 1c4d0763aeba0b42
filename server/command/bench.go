package command

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/server"
	"waybill/server/admin"
	"waybill/server/web"
)

// bench is a load on a server of this process, over TCP, as partners put it on.
type bench struct {
	*call
	addr, key    string
	offers, sold []struct{ ID string }
}

// bench measures sales on this machine, in a directory of its own.
func (c *call) bench() (int, error) {
	want := c.get("bookings").(int)
	window := time.Duration(c.get("seconds").(float64) * float64(time.Second))
	// Offers are searched for once a window, so that it must end before they do.
	good := want > 0 && 0 < window && window <= 15*time.Minute // an offer lives longer
	var conns []int
	for text := range strings.SplitSeq(c.text("conns"), ",") {
		n, err := strconv.Atoi(text)
		conns = append(conns, n)
		good = good && err == nil && n > 0
	}
	if !good {
		return exitUsage, errors.New("-conns is a list as in 1,64, -bookings at least 1, -seconds more than 0, at most 900")
	}
	cfg := server.Config{
		Dir: c.dir,
		Log: c.logger(c.Stderr, slog.LevelWarn),
	}
	s, err := server.Open(cfg)
	if err == nil {
		err = errors.Join(c.benchOn(s, newWeb(s, cfg.Log), want, conns, window), s.Close())
	}
	// How long a start takes with what was sold, from the snapshot that the close has written.
	if start := time.Now(); err == nil {
		if s, err = server.Open(cfg); err == nil {
			fmt.Fprintf(c.Stdout, "start: %d ms\n", time.Since(start).Milliseconds())
			err = s.Close()
		}
	}
	return exitCode(err), err
}

// benchOn fills the directory of a server and prints how fast it is then.
func (c *call) benchOn(s *server.Server, front *http.Server, want int, conns []int,
	window time.Duration) error {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	// Over TCP and through all of the server, as partners come.
	go front.Serve(web.Listener(ln, maxConnections(), nil))
	defer front.Close() // by then every request has its answer
	b := &bench{
		call: c,
		addr: ln.Addr().String(),
	}
	if err = b.adopt(s); err == nil {
		err = b.fill(want)
	}
	if err != nil {
		return err
	}
	fmt.Fprint(c.Stdout, "| work | connections | requests/s | p50 ms | p99 ms |\n|---|---|---|---|---|\n")
	for _, n := range conns {
		for _, work := range []string{"W1 create a booking for two", "W2 read a booking",
			"W3 schedule, 14 days, 50 rows"} {
			took, rate, err := b.load(n, window, 1<<62, work)
			if err != nil {
				return err
			}
			p50 := took[len(took)/2].Seconds() * 1e3
			p99 := took[len(took)*99/100].Seconds() * 1e3
			fmt.Fprintf(c.Stdout, "| %s | %d | %.0f | %.2f | %.2f |\n", work, n, rate, p50, p99)
		}
	}
	// The memory of the process: server, load and all.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	total, _, err := b.get("GET /v2/bookings?take=1")
	files, noFiles := os.ReadDir(filepath.Join(c.dir, "journal"))
	size := int64(0)
	for _, f := range files {
		if info, err := f.Info(); err == nil {
			size += info.Size()
		}
	}
	fmt.Fprintf(c.Stdout, "\nbookings: %d\njournal: %d bytes a booking\n", total, size/int64(max(1, total)))
	fmt.Fprintf(c.Stdout, "memory: %d MB\n", (m.Sys-m.HeapReleased)>>20)
	return cmp.Or(err, noFiles)
}

// fill sells until there are as many bookings as wanted, and notes some of each age.
func (b *bench) fill(want int) error {
	have, _, err := b.get("GET /v2/bookings?take=1")
	for err == nil && have < want {
		// Many connections fill fastest: their sales share syncs.
		took, rate, failed := b.load(64, 2*time.Second, int64(want-have), "W1")
		have = have + len(took)
		err = failed
		fmt.Fprintf(b.Stderr, "%d of %d bookings, %.0f a second\n", have, want, rate)
	}
	for i := 0; err == nil && i < 20; i++ {
		_, page, failed := b.get(fmt.Sprintf("GET /v2/bookings?take=50&skip=%d", have*i/20))
		b.sold = append(b.sold, page...)
		err = failed
	}
	return err
}

// load makes requests over so many connections for a while, but not more than most. It returns how long they
// took, the shortest first, and how many were answered in a second.
func (b *bench) load(conns int, window time.Duration, most int64,
	work string) ([]time.Duration, float64, error) {
	b.offers = nil // they expire
	for range benchCities {
		line, _ := b.request("W3")
		_, found, err := b.get(line)
		if err != nil {
			return nil, 0, err
		}
		b.offers = append(b.offers, found...)
	}
	// A list for each connection, so that they share nothing while they are timed.
	took := make([][]time.Duration, conns)
	errs := make([]error, conns)
	var begun atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for i := range conns {
		wg.Go(func() {
			conn, err := net.Dial("tcp", b.addr)
			// Each has a connection of its own, which it keeps.
			for err == nil && begun.Add(1) <= most && len(b.offers) > 0 && time.Since(start) < window {
				var text []byte
				line, body := b.request(work)
				at := time.Now()
				// A bus that is full is no answer that counts, and no error.
				if text, err = b.send(conn, line, body); text != nil {
					took[i] = append(took[i], time.Since(at))
				}
				select {
				case <-b.Stop:
					err = errors.New("stopped before it was done")
				default:
				}
			}
			errs[i] = err
			if conn != nil {
				conn.Close()
			}
		})
	}
	wg.Wait()
	all := slices.Concat(took...)
	err := cmp.Or(errs...)
	if err == nil && len(all) == 0 {
		err = errors.New("nothing was done in time, or every bus is full")
	}
	slices.Sort(all)
	return all, float64(len(all)) / time.Since(start).Seconds(), err
}

const benchCities = 60 // from each a line runs to the 7th, 14th … 49th after it

// request makes up a request for a work.
func (b *bench) request(work string) (line, body string) {
	const find = "GET /v2/offers/schedule?departureCitySlug=bench-%d&arrivalCitySlug=bench-%d&date=%s&days=14&take=50"
	const two = `{"offerId":"%s","currency":"UAH","passengers":[
{"firstName":"Lesia","lastName":"Ukrainka","email":"lesia@example.com","phones":[{"phone":"+380441234567"}]},
{"firstName":"Ivan","lastName":"Franko","email":"ivan@example.com","phones":[{"phone":"+380501234567"}]}]}`
	switch work[:2] {
	case "W1":
		return "POST /v2/bookings", fmt.Sprintf(two, b.offers[rand.IntN(len(b.offers))].ID)
	case "W2":
		return "GET /v2/bookings/" + b.sold[rand.IntN(len(b.sold))].ID, ""
	}
	// To a city that lies so far ahead that every line has it.
	from := rand.IntN(benchCities)
	day := time.Now().AddDate(0, 0, 1+rand.IntN(45))
	return fmt.Sprintf(find, from, (from+49)%benchCities, day.Format(time.DateOnly)), ""
}

// send makes a request, with less work than a client of net/http has. There is no answer where a bus is full.
func (b *bench) send(conn net.Conn, line, body string) ([]byte, error) {
	const head = "%s HTTP/1.1\r\nHost: bench\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n%s"
	// Written by hand: the load shares the machine with what it measures.
	fmt.Fprintf(conn, head, line, b.key, len(body), body)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if full := body != "" && resp.StatusCode == http.StatusConflict; full || err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		return nil, fmt.Errorf("%s: %s: %s", line, resp.Status, text)
	}
	return text, nil
}

// get reads a list: how many there are in all, and those it shows.
func (b *bench) get(line string) (total int, shown []struct{ ID string }, err error) {
	conn, err := net.Dial("tcp", b.addr)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	var list struct {
		Data struct {
			Total                int
			Departures, Bookings []struct{ ID string }
		}
	}
	text, err := b.send(conn, line, "")
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	return list.Data.Total, append(list.Data.Departures, list.Data.Bookings...), err
}

// adopt puts a new directory, or one that bench made, on a feed of the next 60 days.
func (b *bench) adopt(s *server.Server) error {
	if _, _, err := b.get("GET /v2/cities/bench-0"); err != nil && !s.Fresh() {
		return fmt.Errorf("%s is neither new nor made by bench: %w", b.dir, err)
	}
	day := func(n int) string {
		return time.Now().AddDate(0, 0, n).Format("20060102")
	}
	feed := map[string]string{
		"agency": "agency_id,agency_name,agency_url,agency_timezone\nbench,Bench,https://bench.example.com,Europe/Kyiv\n",
		"calendar": "service_id,start_date,end_date,monday,tuesday,wednesday,thursday,friday,saturday,sunday\n" +
			"daily," + day(0) + "," + day(59) + ",1,1,1,1,1,1,1\n",
		"waybill_buses":   "bus_id,agency_id,seats\nbus,bench,1000\n",
		"fare_attributes": "fare_id,price,currency_type\nfare,350.00,UAH\n",
		"stops":           "stop_id,stop_name,stop_lat,stop_lon\n",
		"routes":          "route_id,agency_id,route_long_name,route_type\n",
		"trips":           "trip_id,route_id,service_id,waybill_bus_id\n",
		"frequencies":     "trip_id,start_time,end_time,headway_secs\n",
		"stop_times":      "trip_id,stop_sequence,stop_id,arrival_time,departure_time\n",
	}
	for i := range benchCities {
		feed["stops"] += fmt.Sprintf("%d,Bench %d,%d,%d\n", i, i, 44+i%10, 22+i/10)
		feed["routes"] += fmt.Sprintf("%d,bench,Line %d,3\n", i, i)
		feed["trips"] += fmt.Sprintf("%d,%d,daily,bus\n", i, i)
		feed["frequencies"] += fmt.Sprintf("%d,06:00:00,12:00:00,3600\n", i)
		for k := range 8 {
			feed["stop_times"] += fmt.Sprintf("%d,%d,%d,%02d:00:00,%02d:05:00\n", i, k, (i+7*k)%benchCities,
				k, k)
		}
	}
	dir, err := os.MkdirTemp("", "waybill-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range feed {
		err = cmp.Or(err, os.WriteFile(filepath.Join(dir, name+".txt"), []byte(text), 0o600))
	}
	if err == nil {
		err = s.Admin.Import(os.DirFS(dir), "bench", admin.ImportOptions{Strict: true}, io.Discard)
	}
	if err == nil {
		b.key, err = s.Admin.AddPartner("bench", nil)
	}
	return err
}
