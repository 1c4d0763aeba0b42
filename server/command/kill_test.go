package command

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/server/lab/rig"
)

// process is the binary, serving; it can be killed.
type process struct {
	cmd  *exec.Cmd
	base string
	key  string     // of the partner that calls; "" is nobody
	once string     // the Idempotency-Key of its calls; "" is none
	said *lastWords // the end of its log
	http.Client
}

// lastWords keeps the end of what is written.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (w *lastWords) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text...)
	w.text = w.text[max(0, len(w.text)-3000):]
	return len(text), nil
}

func (w *lastWords) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.text)
}

// tags returns the build tags of the binary that these tests are of.
func tags() string {
	if isLean {
		return "lean"
	}
	return ""
}

// build returns the binary, and a data directory that is not there yet.
func build(t *testing.T) (bin, dir string) {
	t.Helper()
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return bin, filepath.Join(t.TempDir(), "data")
}

// program has it once for all tests, in programDir. The go command keeps what it runs, not what it builds, so
// that it is linked only where something has changed.
var program = sync.OnceValues(func() (string, error) {
	bin := filepath.Join(programDir, "waybill")
	out, err := exec.Command("go", "run", "-tags", tags(), "-exec", "cp", "waybill", bin).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
})

// startProcess starts the binary on a directory. One that is not there yet is made a copy of a demo.
func startProcess(t *testing.T, bin, dir string, flags ...string) *process {
	t.Helper()
	copyDemo(t, dir)
	return startCommand(t, exec.Command(bin,
		append([]string{"serve", "-addr", "127.0.0.1:0", "-data", dir}, flags...)...))
}

// startCommand starts a command that serves, and returns once it does.
func startCommand(t *testing.T, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, said: new(lastWords)}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.cmd.Process.Kill() })
	log := bufio.NewScanner(io.TeeReader(stderr, p.said))
	for p.base == "" && log.Scan() {
		if m := servingAt.FindStringSubmatch(log.Text()); m != nil {
			p.base = "http://" + m[1]
		}
	}
	go io.Copy(p.said, stderr)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s ends its log with\n%s", p.base, p.said)
		}
	})
	p.Jar, _ = cookiejar.New(nil)
	return p
}

// call answers with the status and the body; 0 when the server is gone.
func (p *process) call(method, path, body string) (int, string) {
	status, said, _ := p.callFor(method, path, body)
	return status, said
}

// callFor is call, and answers with the header, too.
func (p *process) callFor(method, path, body string) (int, string, http.Header) {
	r, err := http.NewRequest(method, p.base+path, strings.NewReader(body))
	if err != nil {
		return 0, err.Error(), nil
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("x-api-key", p.key)
	if p.once != "" {
		r.Header.Set("Idempotency-Key", p.once)
	}
	resp, err := p.Do(r)
	if err != nil {
		return 0, err.Error(), nil
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error(), nil
	}
	return resp.StatusCode, string(b), resp.Header
}

// orderUntilKilled orders reports from several clients, kills the server under them, and returns the ids
// acknowledged.
func (p *process) orderUntilKilled(t *testing.T, enough int) (ids []string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				var status int
				var body string
				rig.Eventually(t, "one of the reports that may wait is written", func() bool {
					status, body = p.call("POST", "/v2/reports/company/orders",
						`{"startDate":"2026-01-01T00:00:00Z","endDate":"2026-12-31T00:00:00Z"}`)
					return status != http.StatusTooManyRequests
				})
				if status != http.StatusAccepted {
					return
				}
				var answer struct {
					Data struct{ Report struct{ ID string } }
				}
				if err := json.Unmarshal([]byte(body), &answer); err != nil {
					t.Error(err)
				}
				mu.Lock()
				if ids = append(ids, answer.Data.Report.ID); len(ids) == enough {
					p.cmd.Process.Kill()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	p.cmd.Wait()
	return ids
}

// Decision reports.life: a report that was acknowledged is written, once and whole, however often the server
// is killed.
func TestKilledServersLoseNoReport(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	var ordered []string
	for round := range 4 {
		p := startProcess(t, bin, dir)
		token := strings.TrimSpace(want(t, 0, "^ey", "idtoken", "-data", dir, "-email", "demo@example.com"))
		status, body := p.call("POST", "/v2/auth/idp/login", `{"idToken":"`+token+`"}`)
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
		ordered = append(ordered, p.orderUntilKilled(t, 7*(round+1))...)
	}
	p := startProcess(t, bin, dir)
	files := map[string][]byte{}
	var journal []byte
	rig.Eventually(t, "each report that was ordered is completed", func() (is bool) {
		var err error
		if journal, err = os.ReadFile(filepath.Join(dir, "journal/000000000001.jsonl")); err != nil {
			t.Fatal(err)
		}
		n := bytes.Count(journal, []byte(`"type":"report.ordered"`))
		return bytes.Count(journal, []byte(`"type":"report.completed"`)) == n
	})
	for _, id := range ordered {
		lines := regexp.MustCompile(`"report.completed","data":{"report":"`+id+
			`","rows":\d+,"personal":"\w+"},"personal":{"salt":"[^"]+","sha256":"(\w+)"}`).FindAllSubmatch(journal, -1)
		file, err := os.ReadFile(filepath.Join(dir, "reports", id+".csv"))
		if err != nil || len(lines) != 1 || fmt.Sprintf("%x", sha256.Sum256(file)) != string(lines[0][1]) {
			t.Errorf("report %s: completed %d times, %v", id, len(lines), err)
		}
		files[id] = file
	}
	if len(files) != len(ordered) || len(ordered) < 28 {
		t.Errorf("%d reports, %d ids", len(files), len(ordered))
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	want(t, 0, "^sound", "verify", "-data", dir)
}

// bookUntilKilled books from several clients, kills the server under them, and returns the ids acknowledged.
func (p *process) bookUntilKilled(t *testing.T, enough int) (ids []string) {
	order := offer(t, p)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				status, body := p.call("POST", "/v2/bookings", order)
				if status != http.StatusCreated {
					return
				}
				mu.Lock()
				ids = append(ids,
					regexp.MustCompile(`"booking":{"id":"([^"]+)"`).FindStringSubmatch(body)[1])
				if len(ids) == enough {
					p.cmd.Process.Kill()
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	p.cmd.Wait()
	return ids
}

// Decision journal.durable: every booking that was acknowledged is there, however often the server is killed.
func TestKilledServersLoseNoBooking(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	var booked []string
	key := ""
	for range 3 {
		p := startProcess(t, bin, dir)
		if key == "" {
			key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
		}
		p.key = key
		booked = append(booked, p.bookUntilKilled(t, 12)...)
	}
	if len(booked) < 36 {
		t.Errorf("only %d bookings", len(booked))
	}
	p := startProcess(t, bin, dir)
	p.key = key
	for _, id := range booked {
		if status, body := p.call("GET", "/v2/bookings/"+id, ""); status != http.StatusOK {
			t.Errorf("booking %s was acknowledged, and is %d: %s", id, status, body)
		}
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	want(t, 0, "^sound", "verify", "-data", dir)
}

// offer returns the body of a booking for one.
func offer(t *testing.T, p *process) string {
	day := time.Now().AddDate(0, 0, 2).Format(time.DateOnly)
	_, body := p.call("GET", "/v2/offers?departureCitySlug=kyiv&arrivalCitySlug=warsaw&departureDate="+day,
		"")
	id := regexp.MustCompile(`"offers":\[{"id":"([^"]+)"`).FindStringSubmatch(body)
	if id == nil {
		t.Fatal(body)
	}
	return fmt.Sprintf(`{"offerId":%q,"currency":"EUR","passengers":[{"firstName":"Lesia","lastName":"Ukrainka"}]}`, id[1])
}

// Decision provider.unanswered: a server that is killed while the provider is asked asks again under the same
// id, one that is killed while a message is sent sends it again under the same id, and the request that was
// cut short goes on under its key.
func TestKilledServersAskAndTellAgain(t *testing.T) {
	t.Parallel()
	bin, dir := build(t)
	var mu sync.Mutex
	var p *process
	calls := map[string][]string{} // ids, by path
	killed := make(chan bool, 2)
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		io.Copy(io.Discard, r.Body)
		ids := append(calls[r.URL.Path], r.Header.Get("Idempotency-Key"))
		if calls[r.URL.Path] = ids; len(ids) == 1 {
			p.cmd.Process.Kill()
			p.cmd.Wait()
			killed <- true
		}
	}))
	defer peer.Close()
	start := func() {
		mu.Lock() // whom to kill is known before a call is taken
		defer mu.Unlock()
		next := startProcess(t, bin, dir, "-provider-url", peer.URL+"/provider", "-messenger-url",
			peer.URL+"/phone")
		if p != nil {
			next.key = p.key
			next.once = p.once
		}
		p = next
	}
	start()
	p.key = strings.TrimSpace(want(t, 0, "^wb_", "partner", "add", "-data", dir, "anna"))
	order := strings.Replace(offer(t, p), `"Ukrainka"`, `"Ukrainka","phones":[{"phone":"+380441234567"}]`, 1)
	status, body := p.call("POST", "/v2/bookings", order)
	if status != http.StatusCreated {
		t.Fatal(status, body)
	}
	p.once = "pay-1"
	pay := "/v2/bookings/" + regexp.MustCompile(`"booking":{"id":"([^"]+)"`).FindStringSubmatch(body)[1] +
		"/pay"
	if status, body := p.call("POST", pay, ""); status != 0 {
		t.Errorf("the killed server answers %d: %s", status, body)
	}
	<-killed
	start() // it asks again, is answered, tells the phone, and is killed
	<-killed
	start()
	status, body = p.call("POST", pay, "")
	again, same := p.call("POST", pay, "")
	if status != http.StatusOK || again != status || same != body ||
		!strings.Contains(body, `"paymentStatus":"Paid"`) {
		t.Errorf("%d %s\nthen %d %s", status, body, again, same)
	}
	for deadline := time.Now().Add(20 * time.Second); !strings.HasPrefix(want(t, 0, "", "outbox", "list",
		"-data", dir), "0 messages"); {
		if time.Now().After(deadline) {
			t.Fatal("the message is not sent")
		}
	}
	p.cmd.Process.Kill()
	p.cmd.Wait()
	for path, ids := range calls {
		if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" {
			t.Errorf("%s was called with the ids %q, want the same twice", path, ids)
		}
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal/000000000001.jsonl"))
	if err != nil || len(calls) != 2 || bytes.Count(journal, []byte(`"type":"ticket.paid"`)) != 1 {
		t.Errorf("%v: %v\n%s", err, calls, journal)
	}
	want(t, 0, "^sound", "verify", "-data", dir)
}
