package bench

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/ledger"
	"waybill/server/web"
	"waybill/server/wire"
)

// requestsKept is how many requests a world remembers.
const requestsKept = 200

// request is what is remembered of a request.
type request struct {
	at        time.Time // by the world's clock, when it came
	method    string
	path      string
	status    int    // of the answer that was made, also where the client never saw it; 0 is none
	errorCode string // "" is none
	id        string // "" is none: it was cut off before it had one
	partner   string // its name; "" is none
	took      time.Duration
}

// requests remembers the last ones.
type requests struct {
	mu   sync.Mutex
	list []request // the oldest first
}

// add remembers one more, and forgets the oldest where there are enough.
func (x *requests) add(r request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == requestsKept {
		x.list = x.list[1:]
	}
	x.list = append(x.list, r)
}

// all returns what is remembered.
func (x *requests) all() []request {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]request(nil), x.list...)
}

// GetRequests answers with the last requests of the world, the oldest first.
func (s *Service) GetRequests(w http.ResponseWriter, _ *http.Request) error {
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		wire.Each(w, "requests", s.requests.all(), func(r request) {
			w.Object("")
			w.Time("at", r.at)
			w.String("method", r.method)
			w.String("path", r.path)
			w.Int("status", int64(r.status))
			w.OptionalString("errorCode", r.errorCode)
			w.OptionalString("requestId", r.id)
			w.OptionalString("partner", r.partner)
			w.String("took", r.took.String())
			w.EndObject()
		})
	})
}

// remember keeps a request that was answered.
func (s *Service) remember(at time.Time, caller *auth.Partner, answer *held, r *http.Request,
	took time.Duration) {
	kept := request{
		at:     at,
		method: r.Method,
		path:   shownPath(r.URL.Path),
		status: answer.status,
		id:     cmp.Or(answer.Header().Get("X-Request-Id"), shownID(r)),
		took:   took,
	}
	if caller != nil {
		kept.partner = caller.Name
	}
	if answer.status >= http.StatusBadRequest {
		var envelope struct{ Errors []struct{ ErrorCode string } }
		if json.Unmarshal(answer.body.Bytes(), &envelope) == nil && len(envelope.Errors) > 0 {
			kept.errorCode = envelope.Errors[0].ErrorCode
		}
	}
	s.requests.add(kept)
}

// shownID returns the id that a client has given its request, if it is one that the server would take.
func shownID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) > web.MaxRequestID {
		return ""
	}
	return id
}

// maxPath is how many bytes of a path are remembered.
const maxPath = 500

// shownPath returns a path without what is as good as a key: a link to a report's file.
func shownPath(path string) string {
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "…"
	}
	const files = "/v2/reports/files/"
	if strings.HasPrefix(path, files) {
		return files + "…"
	}
	return path
}

// caller returns the instant, and the partner whose key a request shows; nil is nobody.
func (s *Service) caller(r *http.Request) (caller *auth.Partner, now time.Time) {
	key := auth.HashOf(web.APIKey(r))
	s.Store.Glance(func(st *ledger.State, at time.Time) {
		now = at
		caller = web.ByKey(st, key, at)
	})
	return caller, now
}
