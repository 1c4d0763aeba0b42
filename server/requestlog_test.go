package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/store/durable"
)

var (
	personal = regexp.MustCompile(`"(?:firstName|lastName|email|phone|password|idToken|offerId)":\s*"([^"\\]{4,})"`)
	secretIn = regexp.MustCompile(`/v2/reports/files/([^/?\s]+)`)
)

// noteSecrets remembers what of a request is secret or personal: key, cookies, the token in a link, names,
// addresses.
func (p *player) noteSecrets(r *http.Request, body string) {
	for _, c := range r.Cookies() {
		p.secrets[c.Value] = true
	}
	p.secrets[r.Header.Get("x-api-key")] = true
	for _, m := range append(personal.FindAllStringSubmatch(body, -1),
		secretIn.FindAllStringSubmatch(r.URL.Path, -1)...) {
		p.secrets[m[1]] = true
	}
}

// checkLog sees that the log has a line for each request, and shows no secret and nobody's name.
func (p *player) checkLog() {
	for secret := range p.secrets {
		if len(secret) >= 4 && strings.Contains(p.logged.String(), secret) {
			p.fatal("the log shows %q", secret)
		}
	}
	if strings.Contains(p.logged.String(), "larger than they were weighed") {
		p.fatal("a line is larger than its weight: %s", &p.logged)
	}
	if strings.HasSuffix(p.file, ".txt") && p.resp != nil &&
		!strings.Contains(p.logged.String(), `"msg":"request"`) {
		p.fatal("the log has no request")
	}
}

// loggedServer is a server of the demo network that logs into a buffer from a level on.
func loggedServer(t *testing.T, level slog.Level) (s *Server, key string, logged *bytes.Buffer) {
	logged = new(bytes.Buffer)
	s, key = demoServer(t,
		Config{Log: slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: level}))})
	logged.Reset()
	return s, key, logged
}

// One line a request: its id, its route and not its path, the partner if there is one, status and duration.
func TestALogLinePerRequest(t *testing.T) {
	s, key, logged := loggedServer(t, slog.LevelInfo)
	var partner string
	s.Store.Glance(func(st ledger.State, _ time.Time) { partner = st.Partners.ByName("anna").ID.String() })
	for _, c := range []struct{ method, target, key, route, partner, status string }{
		{"GET", "/v2/cities/kyiv?secret=1", "", "GET /v2/cities/{slug}", "", "200"},
		{"GET", "/v2/tickets/secret", key, "GET /v2/tickets/{id}", partner, "404"},
		{"GET", "/v2/tickets/secret", "wb_wrong", "GET /v2/tickets/{id}", "", "401"},
		{"GET", "/rest/orders/secret", key, "GET /rest/orders/{id}", partner, "404"},
		{"DELETE", "/secret", "", "/", "", "404"},
		{"GET", "/docs/migration", "", "GET /docs/migration", "", "200"},
	} {
		r := httptest.NewRequest(c.method, c.target, nil)
		r.Header.Set("x-request-id", "r-1")
		r.Header.Set("x-api-key", c.key)
		s.ServeHTTP(httptest.NewRecorder(), r)
		var line map[string]any
		if err := json.Unmarshal(logged.Bytes(), &line); err != nil {
			t.Fatalf("%v: %s", err, logged)
		}
		took, _ := line["took"].(float64)
		got := fmt.Sprintln(line["level"], line["msg"], line["request"], line["route"], line["partner"],
			line["status"], len(line))
		want := fmt.Sprintln("INFO", "request", "r-1", c.route, any(c.partner), c.status, 8)
		if c.partner == "" {
			want = fmt.Sprintln("INFO", "request", "r-1", c.route, nil, c.status, 7)
		}
		if got != want || took <= 0 || strings.Contains(logged.String(), "secret") {
			t.Errorf("%s, want %s\n%s", got, want, logged)
		}
		logged.Reset()
	}
}

// From the level warn on no request is logged, and nothing is prepared for it.
func TestTheLevelWarnTurnsRequestsOff(t *testing.T) {
	s, _, logged := loggedServer(t, slog.LevelWarn)
	r := httptest.NewRequest("GET", "/livez", nil)
	s.ServeHTTP(httptest.NewRecorder(), r)
	if logged.Len() > 0 {
		t.Errorf("%s", logged)
	}
	rec := &web.Recorder{ResponseWriter: httptest.NewRecorder(), Status: 200, Partner: new(auth.Partner)}
	if n := testing.AllocsPerRun(100, func() { s.LogRequest(rec, r, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// loggedOn is a server of the demo network on a file system, that logs warnings into a buffer.
func loggedOn(t *testing.T, fsys *crowded) (s *Server, logged *bytes.Buffer) {
	logged = new(bytes.Buffer)
	log := slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelWarn}))
	s, _ = demoServer(t, Config{Dir: string(fsys.FS.(durable.Dir)), FS: fsys, Log: log})
	return s, logged
}
