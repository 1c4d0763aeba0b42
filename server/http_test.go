package server_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// Decision bodies.type: a body that is too large is 413, and the connection is of no more use.
func TestATooLargeBodyClosesTheConnection(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	srv := httptest.NewServer(s)
	defer srv.Close()
	for size, closes := range map[int]bool{2: false, web.MaxBody + 1: true} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(20 * time.Second))
		fmt.Fprintf(conn,
			"POST /v2/bookings HTTP/1.1\r\nHost: x\r\nx-api-key: %s\r\nContent-Length: %d\r\n\r\n{}%s", key,
			size, strings.Repeat(" ", size-2))
		in := bufio.NewReader(conn)
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		if resp.Close != closes || (resp.StatusCode == 413) != closes {
			t.Errorf("%d bytes: status %d, %v", size, resp.StatusCode, resp.Header)
		}
		if !resp.Close {
			continue
		}
		if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes: the connection is still open: %v", size, err)
		}
	}
}

// Decision probes.open: before it is open, and while it drains, a server answers 503 UNAVAILABLE with
// Retry-After, but is alive.
func TestAServerThatIsNotReadySaysWhenToComeBack(t *testing.T) {
	for target, status := range map[string]int{
		"/livez":       200,
		"/readyz":      503,
		"/healthz":     503,
		"/v2/cities":   503,
		"/v2/bookings": 503,
		"/nothing":     503,
	} {
		w := httptest.NewRecorder()
		server.Unavailable(server.Config{}).ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if w.Code != status {
			t.Errorf("%s: status %d, want %d", target, w.Code, status)
		}
		if status == 200 {
			continue
		}
		const body = `{"errors":[{"message":"the server is starting or stopping; try again","errorCode":"UNAVAILABLE"}]}`
		if after := w.Header().Get("Retry-After"); after != "1" || w.Body.String() != body+"\n" {
			t.Errorf("%s: Retry-After %q, %s", target, after, w.Body)
		}
	}
}

// Decision errors.codes: a handler that panics answers 500 INTERNAL in the envelope, unless it has answered
// already.
func TestAHandlerThatPanicsAnswersInTheEnvelope(t *testing.T) {
	s, key := rig.Demo(t, server.Config{})
	s.Mux.HandleFunc("GET /panics", func(w http.ResponseWriter, r *http.Request) { panic("the secret") })
	s.Mux.HandleFunc("GET /panics/late", s.Public(func(w http.ResponseWriter, r *http.Request) error {
		s.Mux.ServeHTTP(w, httptest.NewRequest("GET", "/livez", nil))
		panic("the secret")
	}))
	s.Mux.HandleFunc("GET /aborts", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	for target, want := range map[string]string{
		"/panics":      `500 {"errors":[{"message":"unexpected server error","errorCode":"INTERNAL"}]}`,
		"/panics/late": `200 {"data":{"status":"ok"}}`,
	} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("GET", target, nil))
		if got := fmt.Sprint(w.Code, " ", w.Body); got != want+"\n" {
			t.Errorf("%s: %s", target, got)
		}
		if h := w.Header(); h.Get("Content-Type") != "application/json" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", target, h)
		}
	}
	func() {
		defer func() {
			if p := recover(); p != http.ErrAbortHandler {
				t.Errorf("the panic that net/http knows came out as %v", p)
			}
		}()
		s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/aborts", nil))
	}()
	if a := rig.Call(t, s, key, "GET", "/v2/bookings", ""); a.Status != 200 {
		t.Errorf("after the panics: %+v", a)
	}
}
