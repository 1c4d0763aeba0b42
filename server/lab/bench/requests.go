package bench

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"waybill/auth"
	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/ledger/wire"
)

// requestsKept is how many requests a world remembers.
const requestsKept = 200

// Request is a request as testers see it (decision bench.kept).
type Request struct {
	At        time.Time // by the world's clock, when it came
	Method    string
	Path      string
	Query     string      // as it came, without the question mark
	Headers   http.Header // without keys, tokens and cookies
	Body      *string     // its first web.MaxBodyKept bytes; nil: it is not kept
	Status    int         // of the answer that was made, also where no client saw it; 0 is none
	ErrorCode string      // "" is none
	RequestID string      // "" is none: it was cut off before it had one
	Partner   string      // its name; "" is none
	// Took is how long it took until the answer was made, and the delay of a rule. It is 0 on a clock that
	// stands still.
	Took time.Duration
}

// routed is a request with its route.
type routed struct {
	Request
	route string // as in the table of the interface; "" is none
}

// requests remembers the last ones.
type requests struct {
	mu   sync.Mutex
	list []routed // the oldest first
}

// add remembers one more, and forgets the oldest where there are enough.
func (x *requests) add(r routed) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == requestsKept {
		x.list = slices.Delete(x.list, 0, 1)
	}
	x.list = append(x.list, r)
}

// all returns what is remembered.
func (x *requests) all() []routed {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.list)
}

// forget forgets all of them.
func (x *requests) forget() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.list = nil
}

// LastRequests returns the last requests of the world, the oldest first.
func (s *Bench) LastRequests() []Request {
	var list []Request
	for _, x := range s.requests.all() {
		list = append(list, x.Request)
	}
	return list
}

// GetRequests answers with the last requests of the world, the oldest first: those that the query selects.
func (s *Bench) GetRequests(w http.ResponseWriter, r *http.Request) error {
	wanted, err := readSelection(r)
	list := slices.DeleteFunc(s.requests.all(), func(x routed) bool {
		return !wanted.has(&x)
	})
	return web.Show(w, err, func(w *wire.Writer) {
		wire.Each(w, "requests", list, func(x routed) {
			x.write(w)
		})
	})
}

// write writes a request as an element of an array.
func (x *Request) write(w *wire.Writer) {
	w.Object("")
	w.Time("at", x.At)
	w.Texts("method", x.Method, "path", x.Path, "query", x.Query)
	w.Object("headers")
	for _, name := range slices.Sorted(maps.Keys(x.Headers)) {
		w.Strings(name, x.Headers[name])
	}
	w.EndObject()
	if x.Body == nil {
		w.Null("body")
	} else {
		w.String("body", *x.Body)
	}
	w.Int("status", int64(x.Status))
	w.OptionalString("errorCode", x.ErrorCode)
	w.OptionalString("requestId", x.RequestID)
	w.OptionalString("partner", x.Partner)
	w.String("took", x.Took.String())
	w.EndObject()
}

// DeleteRequests forgets the requests of the world.
func (s *Bench) DeleteRequests(w http.ResponseWriter, _ *http.Request) error {
	s.requests.forget()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// selection says which requests somebody asks for. What is "" selects all.
type selection struct {
	method  string
	path    string // also that of a route, or a whole route as rules name it
	partner string
}

// readSelection reads a selection from a query.
func readSelection(r *http.Request) (selection, error) {
	q := web.NewQuery(r)
	wanted := selection{
		method:  q.Text("method"),
		path:    shownPath(q.Text("path")),
		partner: q.Text("partner"),
	}
	return wanted, q.Err()
}

// has reports whether a request is one of those that are asked for.
func (s selection) has(x *routed) bool {
	_, ofRoute, _ := strings.Cut(x.route, " ")
	samePath := s.path == "" || s.path == x.Path || s.path == ofRoute || s.path == x.route
	return samePath && cmp.Or(s.method, x.Method) == x.Method && cmp.Or(s.partner, x.Partner) == x.Partner
}

// taken is a request that is under way. It was copied before the server reads its body or changes its path.
type taken struct {
	routed
	body *bodyKept // nil: it is not kept
}

// take copies a request before the server answers it.
func (s *Bench) take(r *http.Request, route string, caller *auth.Partner, at time.Time) *taken {
	x := &taken{routed: routed{route: route}}
	x.At = at
	x.Method = r.Method
	x.Path = shownPath(r.URL.Path)
	x.Query = r.URL.RawQuery
	x.Headers = shownHeaders(r.Header)
	if !strings.Contains(route, " ") { // of all methods: what no route of the interface is for
		x.route = ""
	}
	if caller != nil {
		x.Partner = caller.Name
	}
	if r.Body != nil && !holdsPassword(r.URL.Path) {
		x.body = &bodyKept{ReadCloser: r.Body}
		r.Body = x.body
	}
	return x
}

// giveBack returns to the request the body that it came with. By it net/http knows a body that was never
// asked for, and does not read it before it answers: a client that waits to be asked would wait until a
// timeout.
func (x *taken) giveBack(r *http.Request) {
	if x.body != nil {
		r.Body = x.body.ReadCloser
	}
}

// remember keeps a request that was answered.
func (s *Bench) remember(x *taken, answer *heldAnswer, r *http.Request, took time.Duration) {
	x.Body = x.body.text(r)
	x.Status = answer.status
	x.RequestID = cmp.Or(answer.Header().Get("X-Request-Id"), shownID(r))
	if !s.Still.Load() {
		x.Took = took
	}
	if answer.status >= http.StatusBadRequest {
		var envelope struct{ Errors []struct{ ErrorCode string } }
		if json.Unmarshal(answer.bytes(), &envelope) == nil && len(envelope.Errors) > 0 {
			x.ErrorCode = envelope.Errors[0].ErrorCode
		}
	}
	s.requests.add(x.routed)
}

// shownID returns the id that a client has given its request, if it is one that the server would take.
func shownID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	if len(id) > web.MaxRequestID {
		return ""
	}
	return id
}

// bodyKept is the body of a request, of which the first bytes are kept as they are read.
type bodyKept struct {
	io.ReadCloser
	first []byte // at most web.MaxBodyKept
	more  bool   // there were more
	err   error  // of the end
}

// Read reads on, and keeps those of the first bytes.
func (b *bodyKept) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	room := web.MaxBodyKept - len(b.first)
	b.first = append(b.first, p[:min(n, room)]...)
	b.more = b.more || n > room
	b.err = err
	return n, err
}

// text returns the first bytes of the body of a request that was answered; nil where they are no text, or
// nothing is kept. What nobody has read it reads, as the server would before it answers. A client that waits
// to be asked for its body is not asked.
func (b *bodyKept) text(r *http.Request) *string {
	if b == nil {
		return nil
	}
	if r.Header.Get("Expect") == "" {
		for rest := make([]byte, web.MaxBodyKept); b.err == nil && !b.more; {
			b.Read(rest)
		}
	}
	text := b.first
	if b.more {
		text = wholeCharacters(text)
	}
	if !utf8.Valid(text) {
		return nil
	}
	kept := string(text)
	return &kept
}

// wholeCharacters returns a text without the part of a character that it ends in.
func wholeCharacters(text []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		end := text[len(text)-n:]
		if utf8.RuneStart(end[0]) && !utf8.FullRune(end) {
			return text[:len(text)-n]
		}
	}
	return text
}

// holdsPassword reports whether the body of a request may have a password or an ID token, as that of a
// sign-in.
func holdsPassword(path string) bool {
	return strings.Contains(strings.ToLower(path)+"/", "/auth/")
}

// secretHeaders are words. A header whose name has one of them identifies the caller.
var secretHeaders = []string{"api-key", "apikey", "auth", "cookie", "password", "secret", "token"}

// shownHeaders returns a copy of headers without those that identify the caller.
func shownHeaders(h http.Header) http.Header {
	shown := http.Header{}
	for name, values := range h {
		plain := strings.ReplaceAll(strings.ToLower(name), "_", "-")
		secret := slices.ContainsFunc(secretHeaders, func(word string) bool {
			return strings.Contains(plain, word)
		})
		if !secret {
			shown[name] = slices.Clone(values)
		}
	}
	return shown
}

// maxPath is how many bytes of a path are remembered.
const maxPath = 500

// shownPath returns a path without the token of a link to a report's file, which is as good as a key.
func shownPath(path string) string {
	if len(path) > maxPath {
		path = strings.ToValidUTF8(path[:maxPath], "") + "…"
	}
	const files = "/reports/files/"
	if before, _, found := strings.Cut(path, files); found {
		return before + files + "…"
	}
	return path
}

// caller returns the instant, and the partner whose key a request shows; nil is nobody. A server that has
// stopped has no clock any more, and answers nobody: then the machine's is as good.
func (s *Bench) caller(r *http.Request) (caller *auth.Partner, now time.Time) {
	key := auth.HashOf(web.APIKey(r))
	_, err := s.Store.Glance(func(st ledger.State, at time.Time) {
		now = at
		caller = web.ByKey(st, key, at)
	})
	if err != nil {
		now = s.Config.Now()
	}
	return caller, now
}
