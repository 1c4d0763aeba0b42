package ops

import (
	"net/http"
	"time"

	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// GetLive answers the orchestrator, on /livez, /readyz and /healthz (decision probes.open). A server that is
// not ready (which the hall answers before it is open), whose keeper is silent (decision keep.silent), or
// whose clock has jumped or is behind its journal (decision clock.step), answers only /livez.
func (s *Monitor) GetLive(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path != "/livez" {
		if s.Store.Silent() {
			return web.ErrSilent
		}
		last, err := s.Store.Newest()
		behind := !s.Config.TestClock && last.Time.After(s.Config.Now().Add(time.Minute))
		if err != nil || behind || s.Step() != 0 {
			return web.ErrUnavailable
		}
	}
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		w.String("status", "ok")
	})
}
