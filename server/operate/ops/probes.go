package ops

import (
	"net/http"

	"waybill/server/frame/web"
	"waybill/server/ledger/wire"
)

// GetLive answers the orchestrator, on /livez, /readyz and /healthz (decision probes.open). A server that is
// not ready answers only /livez.
func (s *Monitor) GetLive(w http.ResponseWriter, _ *http.Request) error {
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		w.String("status", "ok")
	})
}
