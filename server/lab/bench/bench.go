// Package bench is the room of testers: with it they bring about what can happen to a client of the service,
// and bring it about again (decision bench.faults).
//
// A [Bench] belongs to one server, and stands in the place that this has for it, by [Bench.Lab]. Where
// there is a test clock it stands around the server's handler:
//
//	request → bench.Bench → server.Server → …, the answer held back → what it caused → client
//
// It moves the clock, or has it stand still. On a clock that stands still a request is answered once
// everything that it has caused has happened: messages are sent, reports are written. So a test has nothing
// to wait for, and the journal has the same lines in the same order each time.
//
// A server without a test clock has no such room in the way of its requests. All that the bench does there is
// to give up a test clock that the directory had.
package bench

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/server/frame/web"
	"waybill/server/lab/seed"
	"waybill/server/ledger"
	"waybill/server/operate/stand"
	"waybill/server/reach/outbox"
)

// Settings say what a bench is to have. The zero value has no test clock.
type Settings struct {
	TestClock bool      // starts, or goes on with, a clock that can be moved (decision clock.test)
	StartAt   time.Time // where that starts in a directory that has none; zero is now
	Frozen    bool      // has it stand still (decision clock.frozen)
	// Seed is where what would be random comes from; nil: it is random, but in a directory that was made from
	// a seed.
	Seed *seed.Source
	// Busy refuses a directory that has lines: the demo is to be filled (decision demo.busy).
	Busy bool
	// Watch has what is sent kept for testers, texts too where no messenger takes them.
	Watch bool
	// Vary has what the interface leaves open vary in answers, by the seed, or by 1 where there is none.
	Vary bool
}

// Bench is the test bench of one server.
type Bench struct {
	*web.Core
	set    Settings
	forked *ledger.WorldForked // of a world, which goes on from another's seed; nil: it is none
	begun  begun

	outbox *outbox.Relay
	routes []string   // of the interface, as rules name them
	moving sync.Mutex // the clock

	faults   faults
	requests requests
	sent     sent
}

// New returns a bench.
func New(set Settings) *Bench {
	return &Bench{set: set}
}

// Lab returns the bench as the hall takes it. It is for one server at a time.
func (s *Bench) Lab() *stand.Lab {
	lab := &stand.Lab{
		Begin:      s.begin,
		Furnish:    s.furnish,
		Open:       s.open,
		StartClock: s.startClock,
		KeepSeed:   s.keepSeed,
		GetClock:   s.GetClock,
		PostClock:  s.PostClock,
	}
	if s.set.TestClock {
		lab.Around = s.Around
	}
	return lab
}

// furnish takes up the rooms of the server that the bench is of.
func (s *Bench) furnish(core *web.Core, letters *outbox.Relay) {
	s.Core = core
	s.outbox = letters
	s.routes = slices.Sorted(maps.Keys(core.Counts.Routes))
	s.routes = slices.DeleteFunc(s.routes, func(route string) bool { return !isInterface(route) })
	if s.set.Watch {
		letters.Observe(outbox.Observer{
			Before: s.Before,
			After:  s.After,
		})
	}
}

// Around returns a handler that answers as next does, on the terms of the bench.
func (s *Bench) Around(next http.Handler) http.Handler {
	if s.set.Vary {
		next = s.varied(next)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		answer := &heldAnswer{to: w}
		caller, now := s.caller(r)
		if s.Still.Load() {
			answer.Header().Set("Date", now.Format(http.TimeFormat))
		}
		_, route := s.Mux.Handler(r)
		came := s.take(r, route, caller, now)
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
			s.remember(came, answer, r, time.Since(start)+out.wait)
		}
		came.giveBack(r)
		s.release(out, answer, r)
	})
}

// isSafe reports whether a request only reads. It causes nothing that would have to be waited for, so that a
// peer can read while the server calls it, and a probe moves nothing.
func isSafe(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// release sends the answer, or what is left of it.
func (s *Bench) release(out outcome, answer *heldAnswer, r *http.Request) {
	if out.wait > 0 {
		s.pause(out.wait, answer, r)
	}
	switch {
	case out.every > 0:
		s.drip(out, answer, r)
		return
	case !out.hangUp:
		answer.release(r)
		return
	case out.started:
		answer.start(out.bytes)
	}
	panic(http.ErrAbortHandler) // ends the connection
}

// pause waits before more of an answer leaves: not for a client that is gone, nor while the server drains.
func (s *Bench) pause(length time.Duration, answer *heldAnswer, r *http.Request) {
	// A connection is written to for a minute, and this is beside that.
	until := time.Now().Add(length + time.Minute)
	http.NewResponseController(answer).SetWriteDeadline(until) // a test's recorder has none
	select {
	case <-time.After(length):
	case <-r.Context().Done():
	case <-s.Draining.Done():
	}
}

// drip sends the answer a few bytes at a time. What is left when the server drains it sends at once.
func (s *Bench) drip(out outcome, answer *heldAnswer, r *http.Request) {
	answer.startHeader()
	for rest := answer.bytes(); len(rest) > 0; {
		s.pause(out.every, answer, r)
		n := min(out.bytes, len(rest))
		if s.Draining.Err() != nil {
			n = len(rest)
		}
		if r.Context().Err() != nil || answer.send(rest[:n]) != nil {
			return
		}
		rest = rest[n:]
	}
}
