package conform_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/front"
	testbench "waybill/server/lab/bench"
	"waybill/server/lab/conform"
	"waybill/server/lab/rig"
	"waybill/server/lab/worlds"
	"waybill/server/operate/admin"
)

// bench is a demo on a clock that stands still, with a control listener.
type bench struct {
	t       *testing.T
	base    string
	control string
	opt     conform.Options // all that a run can be given but -control
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return startBench(t, testbench.Settings{
		TestClock: true,
		StartAt:   time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC),
		Frozen:    true,
		Watch:     true,
	})
}

// startBench is newBench with settings.
func startBench(t *testing.T, set testbench.Settings) *bench {
	t.Helper()
	return startBenchOf(t, set, func(s *server.Server) { rig.ImportDemo(t, s) })
}

// startBenchOf is startBench with a timetable.
func startBenchOf(t *testing.T, set testbench.Settings, importInto func(*server.Server)) *bench {
	t.Helper()
	lab := testbench.New(set)
	dir := filepath.Join(t.TempDir(), "d")
	cfg := server.Config{
		Dir:          dir,
		FS:           rig.Unsynced(dir),
		Log:          slog.New(slog.DiscardHandler),
		Lab:          lab.Lab(),
		MaxTransfers: 1,
	}
	f, err := front.Listen(cfg, "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Open(); err != nil {
		t.Fatal(err)
	}
	s := f.Server
	importInto(s)
	b := &bench{t: t, base: f.URL}
	b.opt.Write = true
	if b.opt.Key, err = s.Admin.AddPartner("anna", nil); err != nil {
		t.Fatal(err)
	}
	if b.opt.Key2, err = s.Admin.AddPartner("bohdan", nil); err != nil {
		t.Fatal(err)
	}
	person := auth.Person{Email: "olena@example.com", FirstName: "Olena", LastName: "Pchilka"}
	b.opt.Email = person.Email
	b.opt.Password = "correct horse"
	b.opt.FMSObject = "fms-zor-01"
	rig.AddUser(t, s, admin.Self(), person, b.opt.Password, "zorevia-lines", "ADMIN")
	token := new(bytes.Buffer)
	mint := &admin.Act{By: admin.Self(), Form: url.Values{"email": {person.Email}}, Out: token}
	if err := s.Admin.Do("idtoken", mint); err != nil {
		t.Fatal(err)
	}
	b.opt.IDToken = strings.TrimSpace(token.String())
	f.Serve()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := worlds.Listen(ln, f, lab)
	b.control = c.URL()
	t.Cleanup(func() {
		c.Close()
		f.Stop()
		f.Close()
	})
	return b
}

// world makes a world of a name, and returns its address.
func (b *bench) world(name string) string {
	b.t.Helper()
	body := strings.NewReader(fmt.Sprintf(`{"name":%q}`, name))
	resp, err := http.Post(b.control+"/worlds", "application/json", body)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	var made struct {
		Data struct{ World struct{ BaseURL string } }
	}
	text, _ := io.ReadAll(resp.Body)
	if err := json.Unmarshal(text, &made); err != nil || resp.StatusCode != 201 {
		b.t.Fatalf("%s: %s %s", name, resp.Status, text)
	}
	return made.Data.World.BaseURL
}

// drop removes a world.
func (b *bench) drop(name string) {
	b.t.Helper()
	r, err := http.NewRequest("DELETE", b.control+"/worlds/"+name, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil || resp.StatusCode != 204 {
		b.t.Error(resp, err)
		return
	}
	resp.Body.Close()
}

// Every rule holds for this server, and at the end no seat is taken.
func TestThisServerKeepsEveryRule(t *testing.T) {
	b := newBench(t)
	opt := b.opt
	opt.BaseURL = b.base
	opt.ControlURL = b.control
	opt.Beyond = true
	opt.Strict = true
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	if err != nil {
		t.Fatal(err)
	}
	if sum.Failed > 0 || sum.NotShown > 0 || sum.Passed < 300 || sum.Left != nil {
		t.Error(out.String())
	}
	last := fmt.Sprintf("\n%d passed, 0 failed (0 causes), 0 not shown\n", sum.Passed)
	if !strings.HasSuffix(out.String(), last) {
		t.Errorf("the last line is not that of the counts: %s", out.String())
	}
	for _, secret := range []string{opt.Key, opt.Key2, opt.IDToken} {
		if strings.Contains(out.String(), secret) {
			t.Error("it shows a secret")
		}
	}
	var report bytes.Buffer
	if err := sum.JUnit(&report); err != nil {
		t.Fatal(err)
	}
	var suites struct {
		Suites []struct {
			Tests int `xml:"tests,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(report.Bytes(), &suites); err != nil || len(suites.Suites) != 10 {
		t.Errorf("%v: %s", err, &report)
	}
}

// seatsHeld counts the tickets that live, by what answers show of bookings.
type seatsHeld struct {
	mutex sync.Mutex
	live  map[string]int // by booking
	all   int            // that were ever booked
	most  int            // at a time
}

// see looks at an answer.
func (h *seatsHeld) see(r *http.Request, resp *http.Response, body []byte) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	type ticket struct{ BookingID, Status string }
	var v2 struct {
		Data struct {
			Booking struct {
				ID      string
				Tickets []ticket
			}
		}
	}
	var legacy struct{ Data []ticket }
	json.Unmarshal(body, &v2)
	json.Unmarshal(body, &legacy)
	if h.live == nil {
		h.live = map[string]int{}
	}
	seen := map[string]int{}
	for _, t := range append(v2.Data.Booking.Tickets, legacy.Data...) {
		if seen[t.BookingID] += 0; t.Status != "Canceled" && t.Status != "Refund" {
			seen[t.BookingID]++
		}
		if r.Method == "POST" && (resp.StatusCode == 201 || r.URL.Path == "/rest/orders") {
			h.all++
		}
	}
	if r.URL.Path != "/rest/orders" || r.Method == "POST" { // a PATCH shows some of a booking's tickets
		maps.Copy(h.live, seen)
	}
	now := 0
	for _, n := range h.live {
		now += n
	}
	h.most = max(h.most, now)
}

// Decision conform.stages: without -write only GETs; with it at most so many seats at a time, all of them
// canceled.
func TestWhatARunDoesToAServer(t *testing.T) {
	b := newBench(t)
	for _, write := range []bool{false, true} {
		base := b.world("w" + strconv.FormatBool(write))
		var mu sync.Mutex
		methods := map[string]int{}
		var held seatsHeld
		proxy := newProxy(t, base, b.opt.Key, nil, func(r *http.Request, resp *http.Response, body []byte) {
			mu.Lock()
			defer mu.Unlock()
			methods[r.Method]++
			held.see(r, resp, body)
		})
		opt := b.opt
		opt.BaseURL = proxy
		opt.Write = write
		sum, err := conform.Run(opt, io.Discard)
		if err != nil || sum.Failed > 0 || sum.Passed < 80 {
			t.Errorf("write %v: %v, %d passed, %d failed", write, err, sum.Passed, sum.Failed)
		}
		if !write && len(methods) != 1 {
			t.Errorf("without -write: %v", methods)
		}
		if write && (held.all < 20 || held.most > conform.MaxSeats || sum.Left != nil) {
			t.Errorf("%d seats, %d at a time, left %v", held.all, held.most, sum.Left)
		}
		r, _ := http.NewRequest("GET", base+"/v2/bookings", nil)
		r.Header.Set("x-api-key", b.opt.Key)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if regexp.MustCompile(`"status":"(Processing|Confirmed|Uncompleted)"`).Match(body) {
			t.Errorf("write %v: a ticket is left: %s", write, body)
		}
	}
}

// A server that gives no seat back is not booked beyond the limit either.
func TestASeatLimitThatAServerTempts(t *testing.T) {
	b := newBench(t)
	base := b.world("tempts")
	x := &breakage{
		method: "POST",
		path:   regexp.MustCompile("/cancel$"),
		edit:   "path /cancel$ => /no-cancel",
	}
	var held seatsHeld
	opt := b.opt
	opt.BaseURL = newProxy(t, base, b.opt.Key, x, held.see)
	var out strings.Builder
	sum, err := conform.Run(opt, &out)
	if err != nil || held.most > conform.MaxSeats || len(sum.Kept) < 10 {
		t.Errorf("%v: %d seats, kept %v", err, held.most, sum.Kept)
	}
	says := fmt.Sprintf("a run has at most %d seats at a time", conform.MaxSeats)
	if !strings.Contains(out.String(), says) {
		t.Errorf("it does not say that %s: %s", says, out.String())
	}
}
