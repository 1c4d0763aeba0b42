package web

import (
	"net/http"
	"slices"
)

// AllowOrigin lets pages of the configured origins call the server and read its answers, without cookies
// (CORS). It reports whether it has answered, which it does to a browser's question beforehand.
func (s *Core) AllowOrigin(w http.ResponseWriter, r *http.Request) bool {
	if s.Config.Origins == nil {
		return false
	}
	h := w.Header()
	origin := Single(r.Header["Origin"])
	h["Vary"] = []string{"Origin"}
	if !slices.Contains(s.Config.Origins, origin) {
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", "Waybill-Seq, X-Request-Id, Idempotent-Replayed, Retry-After, "+
		"Allow, ETag, Deprecation, Sunset, Link")
	if r.Method != http.MethodOptions || r.Header["Access-Control-Request-Method"] == nil {
		return false
	}
	h.Set("Access-Control-Allow-Methods", "GET, HEAD, PATCH, POST")
	h.Set("Access-Control-Allow-Headers",
		"x-api-key, content-type, idempotency-key, if-none-match, x-request-id")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}
