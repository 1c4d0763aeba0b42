package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
)

// getMetrics answers GET /metrics in the text format of Prometheus (contract §3).
func (s *Server) getMetrics(w http.ResponseWriter, _ *http.Request) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	fmt.Fprint(w, "# HELP waybill_legacy_calls_total Calls of the legacy interface by partners for whom it is still there.\n# TYPE waybill_legacy_calls_total counter\n")
	for _, route := range slices.Sorted(maps.Keys(s.legacyCalls)) {
		fmt.Fprintf(w, "waybill_legacy_calls_total{route=%q} %d\n", route, s.legacyCalls[route].Load())
	}
	return nil
}
