package ops_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/api/partner"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/reach/provider"
)

// scrape returns the page of metrics, and its samples by name and labels.
func scrape(t *testing.T, s http.Handler) (page string, values map[string]float64) {
	t.Helper()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if page = w.Body.String(); w.Code != 200 || !strings.HasSuffix(page, "\n") {
		t.Fatalf("%d %s", w.Code, page)
	}
	values = map[string]float64{}
	for line := range strings.Lines(page) {
		if i := strings.LastIndexByte(line, ' '); line[0] != '#' {
			v, err := strconv.ParseFloat(strings.TrimSpace(line[i:]), 64)
			if _, twice := values[line[:i]]; err != nil || twice {
				t.Errorf("%q: %v, twice: %t", line, err, twice)
			}
			values[line[:i]] = v
		}
	}
	return page, values
}

// Decision probes.open: /metrics has the text format of Prometheus, in which every sample follows its
// metric's help and type.
func TestMetricsAreInPrometheusFormat(t *testing.T) {
	s, key := rig.Demo(t, server.Config{Connections: func() int { return 3 }})
	offer := rig.Offer(t, s, key, rig.Bukovel)
	rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 1))
	if err := s.Store.Snapshot(); err != nil {
		t.Fatal(err)
	}
	page, values := scrape(t, s)
	family := ""
	seen := map[string]bool{}
	for line := range strings.Lines(page) {
		if help, ok := strings.CutPrefix(line, "# HELP "); ok {
			if family, _, _ = strings.Cut(help, " "); seen[family] {
				t.Errorf("%s comes twice", family)
			}
			seen[family] = true
		} else if !regexp.MustCompile(`^(# TYPE ` + family + ` (counter|gauge|histogram|summary)|` + family +
			`(_bucket|_sum|_count)?(\{.*\})? \S+)\n$`).MatchString(line) {
			t.Errorf("%q after the help of %s", line, family)
		}
	}
	for name := range strings.FieldsSeq(`waybill_open_connections waybill_snapshots_total waybill_snapshot_size_bytes
		waybill_snapshot_timestamp_seconds go_goroutines go_threads go_memstats_alloc_bytes go_memstats_sys_bytes
		go_memstats_next_gc_bytes go_sched_gomaxprocs_threads go_gc_gogc_percent process_resident_memory_bytes
		process_virtual_memory_bytes process_open_fds process_cpu_seconds_total process_start_time_seconds`) {
		if values[name] <= 0 {
			t.Errorf("%s is %v", name, values[name])
		}
	}
	if !regexp.MustCompile(`\nwaybill_build_info\{version="[^"]+",goversion="go[^"]+"\} 1\n`).MatchString(page) {
		t.Error("no build info")
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Log("no promtool: only the format is checked")
		return
	}
	check := exec.Command(promtool, "check", "metrics")
	check.Stdin = strings.NewReader(page)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

// Requests are counted by route and status, also those that no route matches and those that end in a panic;
// nothing is allocated for it.
func TestRequestsAreCountedByRouteAndStatus(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	for path, n := range map[string]int{
		"/v2/cities/kyiv":    3,
		"/v2/cities/nowhere": 2,
		"/nowhere":           1,
		"/v2//cities":        1,
		"/v2/bookings":       1,
	} {
		for range n {
			rig.Call(t, s, key, "GET", path, "")
		}
	}
	rig.Call(t, s, "", "GET", "/v2/bookings", "")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("GET", "/docs/migration", nil))
	s.Mux.HandleFunc("GET /panics", s.Public(func(http.ResponseWriter, *http.Request) error {
		panic("a test")
	}))
	s.Mux.HandleFunc("GET /aborts", s.Public(func(w http.ResponseWriter, _ *http.Request) error {
		w.WriteHeader(http.StatusOK)
		panic(http.ErrAbortHandler)
	}))
	rig.Call(t, s, "", "GET", "/panics", "")
	func() {
		defer func() { recover() }()
		s.ServeHTTP(w, httptest.NewRequest("GET", "/aborts", nil))
	}()
	_, values := scrape(t, s)
	for labels, want := range map[string]float64{
		`route="GET /v2/cities/{slug}",status="200"`: 3,
		`route="GET /v2/cities/{slug}",status="404"`: 2,
		`route="/",status="404"`:                     2,
		`route="/",status="500"`:                     1,
		`route="/",status="200"`:                     1,
		`route="GET /v2/bookings",status="200"`:      1,
		`route="GET /v2/bookings",status="401"`:      1,
		`route="GET /docs/migration",status="200"`:   1,
	} {
		if got := values["waybill_http_requests_total{"+labels+"}"]; got != want {
			t.Errorf("%s: %v, want %v", labels, got, want)
		}
	}
	if n := values[`waybill_http_request_duration_seconds_count{route="GET /v2/cities/{slug}",}`]; n != 5 {
		t.Errorf("%v durations", n)
	}
	n := testing.AllocsPerRun(100, func() {
		s.Counts.Add("GET /v2/cities", 200, time.Millisecond)
	})
	if n != 0 {
		t.Errorf("%v allocations to count a request", n)
	}
}

// The requests that wait have buckets of their own: a long poll of 30 s is told from a provider that takes
// longer.
func TestWaitingRequestsHaveBuckets(t *testing.T) {
	for _, seconds := range []int64{5, 10, 20, 30, 60} {
		if !slices.Contains(web.Latencies, seconds*1000*web.Ms) {
			t.Errorf("no bucket ends at %d s", seconds)
		}
	}
	last := web.Latencies[len(web.Latencies)-1]
	if last < int64(partner.MaxWait)*1000*web.Ms || last < int64(provider.ConfirmTime) {
		t.Errorf("the last bucket ends at %v", time.Duration(last))
	}
}

// The journal's lines and bytes are those of its files; each line is in one batch, and each batch had its
// sync.
func TestJournalMetricsAreWhatTheFilesHold(t *testing.T) {
	dir := t.TempDir()
	s, key := rig.Demo(t, server.Config{Dir: dir})
	offer := rig.Offer(t, s, key, rig.Bukovel)
	sold := rig.Call(t, s, key, "POST", "/v2/bookings", rig.BookingBody(offer, 2)).Data.Booking
	rig.Call(t, s, key, "POST", "/v2/bookings/"+sold.ID+"/pay", "") // two lines, one sync
	text, err := os.ReadFile(filepath.Join(dir, "journal/000000000001.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	journal := strings.TrimRight(string(text), "\x00")
	_, values := scrape(t, s)
	lines := values["waybill_journal_lines_total"]
	if lines != float64(strings.Count(journal, "\n")) ||
		values["waybill_journal_bytes_total"] != float64(len(journal)) {
		t.Errorf("%v lines, %v bytes; %d in the file", lines, values["waybill_journal_bytes_total"],
			len(journal))
	}
	batches := values["waybill_journal_batch_lines_count{}"]
	syncs := values["waybill_journal_sync_duration_seconds_count{}"]
	if values["waybill_journal_batch_lines_sum{}"] != lines || batches != syncs || batches < 3 {
		t.Errorf("%v batches of %v lines, %v syncs", batches, values["waybill_journal_batch_lines_sum"],
			values["waybill_journal_sync_duration_seconds_count"])
	}
}

// Tickets by phase are what the tickets show, also those that time alone has changed, and after a start from
// a snapshot. For ten seconds an answer is the same.
func TestTicketsAreCountedByPhase(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		cfg := server.Config{Dir: dir, Now: func() time.Time {
			return time.Now().Add(rig.Start.Sub(time.Unix(946684800, 0)))
		}}
		s, key := rig.Demo(t, cfg)
		book := func() string {
			offer := rig.Offer(t, s, key, "departureCitySlug=kyiv&arrivalCitySlug=lviv")
			return "/v2/bookings/" + rig.Call(t, s, key, "POST", "/v2/bookings",
				rig.BookingBody(offer, 2)).Data.Booking.ID
		}
		for _, actions := range []string{"", "", "book", "pay", "book pay", "cancel", "pay cancel",
			"book cancel"} {
			id := book()
			for action := range strings.FieldsSeq(actions) {
				if a := rig.Call(t, s, key, "POST", id+"/"+action, ""); a.Status != 200 {
					t.Fatalf("%+v", a)
				}
			}
		}
		time.Sleep(21 * time.Minute)
		book()
		compare := func() {
			t.Helper()
			counted := map[string]float64{}
			for _, b := range statuses(t, s, key) {
				counted[b]++
			}
			_, values := scrape(t, s)
			want := map[string]float64{
				"unpaid":      2,
				"booked":      2,
				"paid":        4,
				"canceled":    4,
				"refunded":    2,
				"uncompleted": 4,
			}
			shown := map[string]string{
				"unpaid":      "Processing/Unpaid",
				"booked":      "Confirmed/Booked",
				"paid":        "Confirmed/Paid",
				"refunded":    "Refund/Paid",
				"uncompleted": "Uncompleted/Unpaid",
			}
			for phase, n := range want {
				got := values[fmt.Sprintf("waybill_tickets{phase=%q}", phase)]
				if got != n || shown[phase] != "" && counted[shown[phase]] != n {
					t.Errorf("%v tickets are %s, want %v; shown: %v", got, phase, n, counted)
				}
			}
		}
		compare()
		before, _ := scrape(t, s)
		book()
		after, _ := scrape(t, s)
		phases := regexp.MustCompile(`(?m)^waybill_tickets\{.*$`)
		if fmt.Sprint(phases.FindAllString(before, -1)) != fmt.Sprint(phases.FindAllString(after, -1)) {
			t.Error("the tickets were counted again at once")
		}
		time.Sleep(10 * time.Second)
		if _, values := scrape(t, s); values[`waybill_tickets{phase="unpaid"}`] != 4 {
			t.Error("the tickets were not counted again after ten seconds")
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if s, key = rig.Demo(t, cfg); s.Fresh() {
			t.Fatal("another directory")
		}
		_, values := scrape(t, s)
		if values[`waybill_tickets{phase="unpaid"}`] != 4 ||
			values[`waybill_tickets{phase="refunded"}`] != 2 {
			t.Errorf("after a start: %v", values)
		}
		s.Close()
	})
}

// statuses returns status and paymentStatus of all of a partner's tickets.
func statuses(t *testing.T, s *server.Server, key string) (all []string) {
	r := httptest.NewRequest("GET", "/v2/bookings", nil)
	r.Header.Set("x-api-key", key)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	body, _ := io.ReadAll(w.Body)
	status := regexp.MustCompile(`"status":"(\w+)","paymentStatus":"(\w+)"`)
	for _, m := range status.FindAllStringSubmatch(string(body), -1) {
		all = append(all, m[1]+"/"+m[2])
	}
	return all
}
