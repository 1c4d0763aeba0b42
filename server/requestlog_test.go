package server_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
	"waybill/server/ledger"
)

// loggedServer is a server of the demo network that logs into a buffer from a level on.
func loggedServer(t *testing.T, level slog.Level) (s *server.Server, key string, logged *bytes.Buffer) {
	logged = new(bytes.Buffer)
	s, key = rig.Demo(t,
		server.Config{Log: slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: level}))})
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
