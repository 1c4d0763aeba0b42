//go:build !lean

package command

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// ready asks once, or until the server is ready within the time that it waits.
func TestReadyWaits(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" || asked.Add(1) < 3 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer s.Close()
	asks(t, 1, "is not ready: 503", "ready", "-addr", s.URL)
	if n := asked.Swap(0); n != 1 {
		t.Errorf("asked %d times without -wait", n)
	}
	asks(t, 1, "is not ready: 503", "ready", "-addr", s.URL, "-wait", "1ns")
	asked.Store(0)
	asks(t, 0, "^$", "ready", "-addr", s.URL, "-wait", "1m")
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times until it was ready", n)
	}
	// Who stops it need not wait.
	s.Close()
	stop := make(chan struct{})
	close(stop)
	var said strings.Builder
	code := Main(&Process{
		Args:   []string{"ready", "-addr", s.URL, "-wait", "1h"},
		Stdout: &said,
		Stderr: &said,
		Stop:   stop,
		Env:    func(string) (string, bool) { return "", false },
	})
	if code != 1 || !strings.Contains(said.String(), "connect") {
		t.Errorf("exit %d: %s", code, &said)
	}
}
