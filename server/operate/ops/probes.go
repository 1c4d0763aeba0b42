package ops

import (
	"net/http"

	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// GetLive answers the orchestrator, on /livez, /readyz and /healthz (decision probes.open). A server that is
// not ready, or whose keeper is silent (decision keep.silent), answers only /livez.
func (s *Monitor) GetLive(w http.ResponseWriter, r *http.Request) error {
	if r.URL.Path != "/livez" {
		if s.Store.Err() != nil {
			return web.ErrUnavailable
		}
		if s.Store.Silent() {
			return web.ErrSilent
		}
	}
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		w.String("status", "ok")
	})
}
