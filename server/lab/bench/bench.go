// Package bench is the room of testers: with it they bring about what can happen to a client of the service,
// and bring it about again (decision bench.faults).
//
// A [Bench] belongs to one server that was started with a test clock, and stands around its handler:
//
//	request → bench.Bench → server.Server → …, the answer held back → what it caused → client
//
// It moves the clock, or has it stand still. On a clock that stands still a request is answered once
// everything that it has caused has happened: messages are sent, reports are written. So a test has nothing
// to wait for, and the journal has the same lines in the same order each time.
//
// A server without a test clock has no such room in the way of its requests.
package bench

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/server/frame/web"
	"waybill/server/reach/outbox"
)

// Bench is the test bench of one server.
type Bench struct {
	*web.Core
	outbox     *outbox.Relay
	routes     []string     // of the interface, as rules name them
	clockMoved func() error // brings about what is due once a clock that ticks was moved
	moving     sync.Mutex   // the clock

	faults   faults
	requests requests
	sent     sent
}

// New returns the room. clockMoved brings about what is due once a clock that ticks was moved.
func New(core *web.Core, outbox *outbox.Relay, clockMoved func() error) *Bench {
	return &Bench{
		Core:       core,
		outbox:     outbox,
		clockMoved: clockMoved,
	}
}

// Around returns a handler that answers as next does, on the terms of the bench.
func (s *Bench) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		answer := &held{to: w}
		caller, now := s.caller(r)
		if s.Still.Load() {
			answer.Header().Set("Date", now.Format(http.TimeFormat))
		}
		_, route := s.Mux.Handler(r)
		var out outcome
		if rule := s.faults.choose(route, caller); rule != nil {
			out = s.strike(rule, route, answer, r, next)
		} else {
			next.ServeHTTP(answer, r)
		}
		defer web.KeepBusy(r)()
		if s.Still.Load() && !isSafe(r.Method) {
			s.RunDue()
		}
		if !slices.Contains(web.Unlimited, r.URL.Path) {
			s.remember(now, caller, answer, r, time.Since(start)+out.wait)
		}
		s.release(out, answer, r)
	})
}

// isSafe reports whether a request only reads: it causes nothing that would have to be waited for. So a peer
// who asks back while it is told something is answered, and a probe moves nothing.
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// release sends the answer, or what is left of it.
func (s *Bench) release(out outcome, answer *held, r *http.Request) {
	if out.wait > 0 {
		// A connection is written to for a minute, and this is beside that.
		until := time.Now().Add(out.wait + time.Minute)
		http.NewResponseController(answer).SetWriteDeadline(until) // a test's recorder has none
		select {
		case <-time.After(out.wait):
		case <-r.Context().Done():
		case <-s.Draining.Done():
		}
	}
	switch {
	case !out.hangUp:
		answer.release(r)
		return
	case out.started:
		answer.start(out.bytes)
	}
	panic(http.ErrAbortHandler) // ends the connection
}
