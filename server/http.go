package server

import (
	"cmp"
	"errors"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"waybill/auth"
	"waybill/booking"
	"waybill/server/ledger"
	"waybill/server/wire"
)

// routes is the interface's summary table: method, path, who may call, and what answers.
func (s *Server) routes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /v2/offers/schedule":                         s.public(s.getSchedule),
		"GET /v2/offers":                                  s.partner(s.getOffers),
		"POST /v2/bookings":                               s.partner(s.keyed(s.postBooking)),
		"GET /v2/bookings":                                s.partner(s.listBookings),
		"GET /v2/bookings/{id}":                           s.partner(s.getBooking),
		"GET /v2/bookings/{id}/refund-rules":              s.partner(s.getRefundRules),
		"POST /v2/bookings/{id}/pay":                      s.partner(s.keyed(s.act(booking.Pay))),
		"POST /v2/bookings/{id}/book":                     s.partner(s.keyed(s.act(booking.Book))),
		"POST /v2/bookings/{id}/cancel":                   s.partner(s.keyed(s.act(booking.Cancel))),
		"POST /v2/bookings/{id}/pay/preview":              s.partner(s.preview(booking.Pay)),
		"POST /v2/bookings/{id}/book/preview":             s.partner(s.preview(booking.Book)),
		"POST /v2/bookings/{id}/cancel/preview":           s.partner(s.preview(booking.Cancel)),
		"GET /v2/tickets/{id}":                            s.partner(s.getTicket),
		"GET /v2/events":                                  s.partner(s.getEvents),
		"GET /v2/cities":                                  s.public(s.listCities),
		"GET /v2/cities/{slug}":                           s.public(s.getCity),
		"GET /v2/stops/{id}":                              s.public(s.getStop),
		"POST /v2/auth/idp/login":                         s.public(s.postLogin),
		"POST /v2/auth/pre-login":                         s.public(s.postPreLogin),
		"POST /v2/auth/refresh":                           s.public(s.postRefresh),
		"POST /v2/auth/logout":                            s.public(s.postLogout),
		"GET /v2/auth/session":                            s.company(auth.None, s.getSession),
		"POST /v2/reports/company/orders":                 s.company(auth.Reports, s.postReport),
		"GET /v2/reports/company/orders":                  s.company(auth.Reports, s.listReports),
		"GET /v2/reports/company/orders/{id}/download":    s.company(auth.Reports, s.getDownload),
		"GET /v2/reports/files/{token}":                   s.public(s.getReportFile),
		"PATCH /v2/geolocation/fms-objects/{fmsObjectId}": s.company(auth.Geolocation, s.patchFMSObject),
		"GET /rest/offers":                                s.legacy(s.getLegacyOffers),
		"POST /rest/orders":                               s.legacy(s.postLegacyOrders),
		"GET /rest/orders":                                s.legacy(s.listLegacyOrders),
		"PATCH /rest/orders":                              s.legacy(s.patchLegacyOrders),
		"GET /rest/orders/{id}":                           s.legacy(s.getLegacyOrder),
		"GET /rest/orders/{id}/refund-rules":              s.legacy(s.getLegacyRefundRules),
		"/rest/offers":                                    s.legacy(s.noLegacyRoute),
		"/rest/offers/":                                   s.legacy(s.noLegacyRoute),
		"/rest/orders":                                    s.legacy(s.noLegacyRoute),
		"/rest/orders/":                                   s.legacy(s.noLegacyRoute),
		"GET /openapi.json":                               s.public(s.getOpenAPI),
		"GET /{$}":                                        s.public(s.getHome),
		"GET /docs":                                       s.reference("index"),
		"GET /docs/operations/{operationId}":              s.reference("operation"),
		"GET /docs/errors":                                s.reference("errors"),
		"GET /docs/errors/{code}":                         s.reference("error"),
		"GET /docs/demo":                                  s.reference("demo"),
		"GET /docs/objects":                               s.reference("objects"),
		"GET /docs/states":                                s.reference("states"),
		"GET /docs/silent":                                s.reference("silent"),
		"GET /docs/limits":                                s.reference("limits"),
		"GET /docs/migration":                             s.public(s.getMigrationGuide),
		"GET /metrics":                                    s.public(s.getMetrics),
		"GET /test/clock":                                 s.public(s.getClock),
		"POST /test/clock":                                s.public(s.postClock),
		"GET /livez":                                      s.public(s.getLive),
		"GET /readyz":                                     s.public(s.getLive),
		"GET /healthz":                                    s.public(s.getLive),
	}
}

// public wraps a handler that anybody may call.
func (s *Server) public(h func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		err := s.limit(r)
		if err == nil {
			err = h(w, r)
		}
		if err != nil {
			s.refuse(w, r, err)
		}
	}
}

// partner wraps a handler that takes the partner whose API key the request shows.
func (s *Server) partner(h func(http.ResponseWriter, *http.Request, *auth.Partner) error) http.HandlerFunc {
	return known(s, errUnauthorized, h, apiKey, byKey)
}

func apiKey(r *http.Request) string { return only(r.Header["X-Api-Key"]) }

func byKey(st *ledger.State, key auth.Hash, _ time.Time) *auth.Partner {
	return st.Partners.Caller(key)
}

// only gives the one element of a list; "" when it has none or several.
func only(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return ""
}

// known wraps a handler that takes who calls: whom find gives for the hash of the secret that the request
// shows; nil is nobody, who is answered with stranger. Reading and hashing are not done under the lock.
func known[P any](s *Server, stranger error, h func(http.ResponseWriter, *http.Request, *P) error, secret func(*http.Request) string, find func(*ledger.State, auth.Hash, time.Time) *P) http.HandlerFunc {
	return s.public(func(w http.ResponseWriter, r *http.Request) error {
		w.Header()["Cache-Control"] = noStore
		var caller *P
		hash := auth.HashOf(secret(r))
		settled, err := s.st.Glance(func(st *ledger.State, now time.Time) { caller = find(st, hash, now) })
		if err != nil {
			return err
		}
		if err = stranger; caller != nil {
			w.(*recorder).partner, _ = any(caller).(*auth.Partner)
			err = h(w, r, caller)
		}
		if err != nil {
			// Neither may a refusal show what a crash could undo: a key or session just made or ended.
			err = cmp.Or(settled(), err)
		}
		return err
	})
}

// newMux makes the handler of all routes. Nothing of ServeMux's own answers is ever seen.
func (s *Server) newMux() {
	s.mux = http.NewServeMux()
	routes := s.routes()
	s.counts = newCounts(routes)
	for pattern, h := range routes {
		s.mux.HandleFunc(pattern, h)
	}
	s.mux.HandleFunc("/", s.public(s.noRoute))
}

// noRoute answers what no route matches: 405 where another method would, else 404.
func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch, http.MethodPost, http.MethodPut} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(other); strings.Contains(pattern, " ") {
			allow = append(allow, method)
		}
	}
	if allow == nil || strings.HasPrefix(r.URL.Path, "/test/") && !s.cfg.TestClock {
		return errNotFound
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return fail(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", r.Method+" is not allowed here, but "+strings.Join(allow, ", "))
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	s.forwarded(r)
	h := w.Header()
	h["X-Content-Type-Options"] = noSniff
	id := r.Header["X-Request-Id"]
	if len(id) != 1 || !validRequestID(id[0]) {
		id = []string{s.newID().String()}
		r.Header["X-Request-Id"] = id
	}
	h["X-Request-Id"] = id
	rec := &recorder{ResponseWriter: w}
	rec.conn, _ = r.Context().Value(connKey{}).(connInfo)
	rec.conn.conn.busy()
	defer rec.conn.conn.idle()
	defer func() { // after the next one
		took := time.Since(start)
		rec.status = cmp.Or(rec.status, http.StatusOK)
		s.counts.add(r.Pattern, rec.status, took)
		s.logRequest(rec, r, took)
	}()
	defer func() {
		switch p := recover(); {
		case p == http.ErrAbortHandler:
			panic(p)
		case p != nil:
			s.log.Error("a handler panicked", "request", id[0], "route", r.Pattern, "panic", p)
			if rec.status == 0 {
				s.refuse(rec, r, errInternal)
			}
		}
	}()
	spare := rec.conn.conn != nil && rec.conn.conn.spare
	if r.ContentLength != 0 && (spare || slices.Contains(unlimited, r.URL.Path)) {
		// A probe has no body. Whoever announces one must not hold the place until it has come.
		rec.Header().Set("Connection", "close")
		http.NewResponseController(w).SetReadDeadline(time.Now()) // a test's recorder has none
	}
	switch p := r.URL.Path; {
	case s.unavailable && p != "/livez":
		s.refuse(rec, r, errUnavailable)
	case spare && !slices.Contains(unlimited, p):
		rec.Header().Set("Connection", "close")
		s.refuse(rec, r, errManyConnections)
	case s.allowOrigin(rec, r): // and has answered
	case (strings.HasPrefix(p, "/rest/offers/") || strings.HasPrefix(p, "/rest/orders/")) && path.Clean(p) != p:
		r.Pattern = p[:len("/rest/orders/")]
		s.legacy(func(http.ResponseWriter, *http.Request, *auth.Partner) error { return errNotFound })(rec, r)
	case p == "" || p[0] != '/' || path.Clean(p) != p || r.Method == http.MethodConnect || r.RequestURI == "*":
		s.refuse(rec, r, errNotFound)
	default:
		s.mux.ServeHTTP(rec, r)
	}
}

// logRequest writes the one line of a request. It has the route, not the path: a link to a report is as good
// as a key.
func (s *Server) logRequest(rec *recorder, r *http.Request, took time.Duration) {
	if !s.log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	attrs := [...]slog.Attr{slog.String("request", requestID(r)), slog.String("route", cmp.Or(r.Pattern, otherRoute)),
		slog.Int("status", rec.status), slog.Duration("took", took), {}}
	n := len(attrs) - 1 // as many as a record holds without an allocation
	if rec.partner != nil {
		attrs[n] = slog.String("partner", rec.partner.ID.String())
		n++
	}
	s.log.LogAttrs(r.Context(), slog.LevelInfo, "request", attrs[:n]...)
}

// recorder remembers the status, and who called, for the log.
type recorder struct {
	http.ResponseWriter
	status  int
	partner *auth.Partner // nil where none has
	conn    connInfo
}

func (r *recorder) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

var (
	noSniff     = []string{"nosniff"}
	noStore     = []string{"no-store"} // of all that may hold personal data
	contentType = []string{"application/json"}
)

func validRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	})
}

func requestID(r *http.Request) string { return r.Header["X-Request-Id"][0] }

var writers = sync.Pool{New: func() any { return new(wire.Writer) }}

// newWriter gives an empty writer; keepWriter takes it back, but for one that has grown large.
func newWriter() *wire.Writer { return writers.Get().(*wire.Writer) }

func keepWriter(w *wire.Writer) {
	const keep = 1 << 20
	if cap(w.B) <= keep {
		w.B = w.B[:0]
		writers.Put(w)
	}
}

// reply answers with {"data":{…}}, the members written by write.
func reply(w http.ResponseWriter, status int, write func(w *wire.Writer)) error {
	send(w, status, func(buf *wire.Writer) { writeReply(buf, write) })
	return nil
}

// writeReply writes {"data":{…}}.
func writeReply(buf *wire.Writer, write func(w *wire.Writer)) {
	buf.Object("")
	buf.Object("data")
	write(buf)
	buf.EndObject()
	buf.EndObject()
}

// send answers with the JSON that write writes, and a newline: a prompt comes after it, not behind it.
func send(w http.ResponseWriter, status int, write func(w *wire.Writer)) {
	buf := newWriter()
	write(buf)
	buf.B = append(buf.B, '\n')
	sendBody(w, status, contentType, buf)
}

// sendBody answers with a whole body, and gives its writer back.
func sendBody(w http.ResponseWriter, status int, contentType []string, body *wire.Writer) {
	h := w.Header()
	h["Content-Type"] = contentType
	h["Content-Length"] = []string{strconv.Itoa(len(body.B))}
	w.(*recorder).whole(status, body)
}

// wrote tells the number of the journal line a write ended in.
func wrote(w http.ResponseWriter, seq uint64) {
	w.Header()["Waybill-Seq"] = []string{strconv.FormatUint(seq, 10)}
}

// refuse answers with the error envelope.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := explain(err)
	if f.status >= http.StatusInternalServerError && f.status != http.StatusServiceUnavailable && f != errLegacyDate {
		s.log.Error("a request failed", "request", requestID(r), "route", r.Pattern, "err", err)
	}
	if f.retryAfter != "" {
		w.Header().Set("Retry-After", f.retryAfter)
	}
	if f == errTooLarge {
		w.Header().Set("Connection", "close")
	}
	linkHelp(w, f.entries[0].code)
	send(w, f.status, f.write)
}

// linkHelp names the page of an errorCode. The legacy interface has links of its own.
func linkHelp(w http.ResponseWriter, code string) {
	if h := w.Header(); h["Link"] == nil {
		h["Link"] = []string{"</docs/errors/" + code + `>; rel="help"; type="text/html"`}
	}
}

// body reads a request's body; nil when it is empty. Only JSON will do.
func body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if ct := r.Header["Content-Type"]; len(ct) > 1 || len(ct) == 1 && ct[0] != "application/json" && ct[0] != "" {
		media, _, err := mime.ParseMediaType(ct[0])
		if len(ct) > 1 || err != nil || media != "application/json" {
			return nil, errMediaType
		}
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, errTooLarge
	case err != nil:
		return nil, invalid(problem("body", "did not arrive whole"))
	}
	return b, nil
}

// document reads a request's body as JSON.
func document(w http.ResponseWriter, r *http.Request) (*wire.Reader, error) {
	b, err := body(w, r)
	return wire.NewReader(b), err
}

// finish reads the end of a body; its error lists what is wrong with it.
func finish(r *wire.Reader) error {
	r.End()
	wrong := complaintsOf(r)
	return wrong.err()
}

// getLive answers the orchestrator (contract §3). A server that is not ready answers only /livez.
func (s *Server) getLive(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, func(w *wire.Writer) { w.String("status", "ok") })
}

// Unavailable answers a request that comes before the server is open, or while it drains: alive, not ready.
func Unavailable(w http.ResponseWriter, r *http.Request) { unavailable().ServeHTTP(w, r) }

var unavailable = sync.OnceValue(func() *Server {
	s := newServer(Config{})
	s.unavailable = true
	return s
})
