package web

import (
	"cmp"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"waybill/auth"
	"waybill/schedule/ids"
	"waybill/server/ledger"
	"waybill/store/live"
)

// Handler answers a request that anybody may make, or returns the error to answer with, see [Core.Refuse].
type Handler func(http.ResponseWriter, *http.Request) error

// PartnerHandler answers a request of a partner.
type PartnerHandler func(http.ResponseWriter, *http.Request, *auth.Partner) error

// Public wraps a handler that anybody may call.
func (s *Core) Public(h Handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		allowed, err := s.limit(r)
		if err == nil {
			defer s.charge(allowed, w.(*Recorder)) // also where the client breaks the answer off
			err = h(w, r)
		}
		if err != nil {
			s.Refuse(w, r, err)
		}
	}
}

// Partner wraps a handler that takes the partner whose API key the request shows.
func (s *Core) Partner(h PartnerHandler) http.HandlerFunc {
	return Identified(s, ErrUnauthorized, h, APIKey, ByKey, nil)
}

// APIKey returns the API key that a request shows; "" is none, or several.
func APIKey(r *http.Request) string {
	return Single(r.Header["X-Api-Key"])
}

// ByKey finds the partner of an API key; nil is nobody.
func ByKey(st ledger.State, key auth.Hash, _ time.Time) *auth.Partner {
	return st.Partners.Caller(key)
}

// Single returns the one element of a list; "" when it has none or several.
func Single(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return ""
}

// Identified wraps a handler that takes the caller, whom find looks up by the hash of the secret that the
// request shows. Where find returns nil, the answer is stranger. The error of may, which is nil where every
// caller may, says that this one may not. The secret is read and hashed before the lock is taken.
func Identified[P any](s *Core, stranger error, h func(http.ResponseWriter, *http.Request, *P) error,
	secret func(*http.Request) string, find func(ledger.State, auth.Hash, time.Time) *P,
	may func(*P) error) http.HandlerFunc {
	allowed := func(caller *P) error {
		if caller == nil {
			return stranger
		}
		if may == nil {
			return nil
		}
		return may(caller)
	}
	return s.Public(func(w http.ResponseWriter, r *http.Request) error {
		w.Header()["Cache-Control"] = NoStore
		var caller *P
		hash := auth.HashOf(secret(r))
		durable, err := s.Store.Glance(func(st ledger.State, now time.Time) {
			caller = find(st, hash, now)
		})
		if err != nil {
			return err
		}
		rec := w.(*Recorder)
		rec.Partner, _ = any(caller).(*auth.Partner)
		err = allowed(caller)
		if err == nil {
			rec.again = func(st ledger.State, now time.Time) error { return allowed(find(st, hash, now)) }
			err = h(w, r, caller)
			// What is in the journal counts, or may come to count, whatever was found out later.
			if rec.changed && errors.Is(err, live.ErrSilent) {
				return live.ErrDoubt
			}
			if rec.changed {
				return err // it has waited
			}
		}
		if err == nil || errors.Is(err, live.ErrSilent) || err == ErrSilentAgain { // it has waited
			return err
		}
		// Neither may a refusal show what a crash could undo: a key or session just made or ended.
		if failed := durable(); failed != nil {
			return failed
		}
		return err
	})
}

// Again looks the caller of a request up again, as Update does, where an answer is made long after the
// request has begun. It is called under the lock with which the state is read for that answer.
func Again(w http.ResponseWriter, st ledger.State, now time.Time) error {
	return w.(*Recorder).again(st, now)
}

// Update journals what decide returns for a request of an identified caller, who is looked up again under
// the lock: the key may have been revoked, the session ended, or the role taken away, while the body was on
// its way.
func (s *Core) Update(w http.ResponseWriter,
	decide func(ledger.State, time.Time) ([]ledger.Entry, error),
	after func(ledger.State, time.Time)) (seq uint64, err error) {
	rec := w.(*Recorder)
	return s.Store.Update(func(st ledger.State, now time.Time) ([]ledger.Entry, error) {
		if err := rec.again(st, now); err != nil {
			return nil, err
		}
		return decide(st, now)
	}, func(st ledger.State, now time.Time) {
		rec.changed = true
		if after != nil {
			after(st, now)
		}
	})
}

// NotRouted answers what no route matches: 405 where the path has another method, else 404.
func (s *Core) NotRouted(w http.ResponseWriter, r *http.Request) error {
	var allow []string
	for _, method := range []string{http.MethodDelete, http.MethodGet, http.MethodHead, http.MethodPatch,
		http.MethodPost, http.MethodPut} {
		other := &http.Request{
			Method: method,
			URL:    r.URL,
			Host:   r.Host,
		}
		_, pattern := s.Mux.Handler(other)
		if strings.Contains(pattern, " ") {
			allow = append(allow, method)
		}
	}
	if allow == nil || strings.HasPrefix(r.URL.Path, "/test/") && !s.Config.TestClock {
		return ErrNotFound
	}
	w.Header().Set("Allow", strings.Join(allow, ", "))
	return Fail(http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED",
		r.Method+" is not allowed here; use "+strings.Join(allow, ", "))
}

// Frame answers a request with what answer does, and adds what all requests have: an id, a line in the log, a
// count, and an answer even where a handler panics.
func (s *Core) Frame(w http.ResponseWriter, r *http.Request, answer func(*Recorder, *http.Request)) {
	start := time.Now()
	s.Forwarded(r)
	h := w.Header()
	h["X-Content-Type-Options"] = noSniff
	id := r.Header["X-Request-Id"]
	if len(id) != 1 || !validRequestID(id[0]) {
		id = []string{ids.ID(s.Config.NewRequestID(r.URL.Path)).String()}
		r.Header["X-Request-Id"] = id
	}
	h["X-Request-Id"] = id
	rec := &Recorder{ResponseWriter: w}
	rec.Conn, _ = r.Context().Value(connKey{}).(connInfo)
	rec.Conn.Conn.serves(r)
	rec.Conn.Conn.Busy()
	defer rec.Conn.Conn.Idle()
	defer func() { // after the next one
		took := time.Since(start)
		rec.Status = cmp.Or(rec.Status, http.StatusOK)
		s.Counts.Add(r.Pattern, rec.Status, took)
		s.LogRequest(rec, r, took)
	}()
	defer s.recovered(rec, r)
	if r.ContentLength != 0 && (rec.Spare() || slices.Contains(Unlimited, r.URL.Path)) {
		// A probe has no body. One that announces a body must not hold the place until that has come.
		rec.Header().Set("Connection", "close")
		http.NewResponseController(w).SetReadDeadline(time.Now()) // a test's recorder has none
	}
	answer(rec, r)
}

// recovered answers a request whose handler panicked, unless that was to break off the answer.
func (s *Core) recovered(rec *Recorder, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler {
		panic(p)
	}
	s.Log.Error("a handler panicked", "request", RequestID(r), "route", r.Pattern, "panic", p)
	if rec.Status == 0 {
		s.Refuse(rec, r, ErrInternal)
	}
}

// Spare reports whether the request came on a connection that is only for probes.
func (r *Recorder) Spare() bool {
	return r.Conn.Conn != nil && r.Conn.Conn.spare
}

// LogRequest writes the one line of a request. It has the route, not the path: a link to a report is as good
// as a key.
func (s *Core) LogRequest(rec *Recorder, r *http.Request, took time.Duration) {
	if !s.Log.Enabled(r.Context(), slog.LevelInfo) {
		return
	}
	attrs := [...]slog.Attr{slog.String("request", RequestID(r)),
		slog.String("route", cmp.Or(r.Pattern, otherRoute)),
		slog.Int("status", rec.Status), slog.Duration("took", took), {}}
	n := len(attrs) - 1 // as many as a record holds without an allocation
	if rec.Partner != nil {
		attrs[n] = slog.String("partner", rec.Partner.ID.String())
		n++
	}
	// Not by a method of the Logger, which looks up the line of code that calls it: 0.3 µs for nothing.
	line := slog.NewRecord(time.Now(), slog.LevelInfo, "request", 0)
	line.AddAttrs(attrs[:n]...)
	s.Log.Handler().Handle(r.Context(), line)
}

// Recorder remembers of a request the status and who called, for the log, and how large the answer is.
type Recorder struct {
	http.ResponseWriter
	Status  int
	size    int           // bytes of the body
	Partner *auth.Partner // nil where none has
	Conn    connInfo

	// Of an identified caller:
	again   func(ledger.State, time.Time) error // looks the caller up again, and what the caller may do
	changed bool                                // a line of the request is in the journal
}

// WriteHeader remembers the status and passes it on.
func (r *Recorder) WriteHeader(status int) {
	r.Status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *Recorder) Unwrap() http.ResponseWriter {
	return r.ResponseWriter
}

var (
	noSniff     = []string{"nosniff"}
	NoStore     = []string{"no-store"} // of all that may hold personal data
	ContentType = []string{"application/json"}
)

func validRequestID(id string) bool {
	return id != "" && len(id) <= MaxRequestID && !strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' &&
			r != '-'
	})
}

// RequestID returns the id of a request, which the frame has given it.
func RequestID(r *http.Request) string {
	return r.Header["X-Request-Id"][0]
}
