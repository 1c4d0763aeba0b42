package web

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
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
	if asked := r.Header["Access-Control-Request-Headers"]; asked != nil {
		h["Access-Control-Allow-Headers"] = asked // tracing adds some of its own, and none does harm
	}
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// CheckOrigin returns [ErrForbidden] for an unsafe request that a page from elsewhere has a browser make
// (decision origin.refused). All that asks for no API key needs it: a browser sends cookies by itself, and
// reaches what listens to its own machine only. Pages that may call with a key (CORS) are from elsewhere,
// too.
func (s *Core) CheckOrigin(r *http.Request) error {
	if s.origin.Check(r) != nil {
		return ErrForbidden
	}
	return nil
}

// IsLoopback reports whether a host names this machine to itself.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// CookieSuffix returns what the names of cookies end in at a request's host. A browser sends a host's cookies
// to all of its ports, and there may be several servers on the machine that it runs on.
func CookieSuffix(r *http.Request) string {
	host, port, err := net.SplitHostPort(r.Host)
	_, noPort := strconv.ParseUint(port, 10, 16)
	// To a browser, but not to everybody, all names of localhost are this machine (RFC 6761, §6.3).
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if err != nil || noPort != nil || !IsLoopback(host) && !strings.HasSuffix(host, ".localhost") {
		return ""
	}
	return "_" + port
}

// IsOrigin reports whether a text is an origin as browsers send it.
func IsOrigin(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || strings.ToLower(u.Scheme+"://"+u.Host) != text {
		return false
	}
	// Names beyond ASCII are sent as punycode, and there are no patterns.
	foreign := strings.ContainsFunc(text, func(c rune) bool {
		return c == '*' || c > '~'
	})
	switch u.Scheme {
	case "http":
		return !foreign && u.Port() != "80"
	case "https":
		return !foreign && u.Port() != "443"
	}
	return false
}
