package bench

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// requestsKept is how many requests a world remembers.
const requestsKept = 200

// Request is what is remembered of a request.
type Request struct {
	At        time.Time // by the world's clock, when it came
	Method    string
	Path      string
	Status    int    // of the answer that was made, also where the client never saw it; 0 is none
	ErrorCode string // "" is none
	ID        string // "" is none: it was cut off before it had one
	Partner   string // its name; "" is none
	Took      time.Duration
}

// requests remembers the last ones.
type requests struct {
	mu   sync.Mutex
	list []Request // the oldest first
}

// add remembers one more, and forgets the oldest where there are enough.
func (x *requests) add(r Request) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == requestsKept {
		x.list = x.list[1:]
	}
	x.list = append(x.list, r)
}

// all returns what is remembered.
func (x *requests) all() []Request {
	x.mu.Lock()
	defer x.mu.Unlock()
	return append([]Request(nil), x.list...)
}

// LastRequests returns the last requests of the world, the oldest first.
func (s *Bench) LastRequests() []Request {
	return s.requests.all()
}

// GetRequests answers with the last requests of the world, the oldest first.
func (s *Bench) GetRequests(w http.ResponseWriter, _ *http.Request) error {
	return web.Reply(w, http.StatusOK, func(w *wire.Writer) {
		wire.Each(w, "requests", s.requests.all(), func(r Request) {
			w.Object("")
			w.Time("at", r.At)
			w.String("method", r.Method)
			w.String("path", r.Path)
			w.Int("status", int64(r.Status))
			w.OptionalString("errorCode", r.ErrorCode)
			w.OptionalString("requestId", r.ID)
			w.OptionalString("partner", r.Partner)
			w.String("took", r.Took.String())
			w.EndObject()
		})
	})
}

// remember keeps a request that was answered.
func (s *Bench) remember(at time.Time, caller *auth.Partner, answer *heldAnswer, r *http.Request,
	took time.Duration) {
	kept := Request{
		At:     at,
		Method: r.Method,
		Path:   shownPath(r.URL.Path),
		Status: answer.status,
		ID:     cmp.Or(answer.Header().Get("X-Request-Id"), shownID(r)),
		Took:   took,
	}
	if caller != nil {
		kept.Partner = caller.Name
	}
	if answer.status >= http.StatusBadRequest {
		var envelope struct{ Errors []struct{ ErrorCode string } }
		if json.Unmarshal(answer.bytes(), &envelope) == nil && len(envelope.Errors) > 0 {
			kept.ErrorCode = envelope.Errors[0].ErrorCode
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
func (s *Bench) caller(r *http.Request) (caller *auth.Partner, now time.Time) {
	key := auth.HashOf(web.APIKey(r))
	s.Store.Glance(func(st ledger.State, at time.Time) {
		now = at
		caller = web.ByKey(st, key, at)
	})
	return caller, now
}
