// Package bench is the room of testers: with it they bring about what can happen to a client of the service,
// and bring it about again (contract §13).
//
// A [Service] belongs to one server that was started with a test clock, and stands around its handler:
//
//	request → bench.Service → server.Server → … → the answer, held back → what it caused → the client
//
// It moves the clock, or has it stand still. On a clock that stands still a request is answered once
// everything that it has caused has happened: messages are sent, reports are written. So a test has nothing
// to wait for, and the journal has the same lines in the same order each time.
//
// A server without a test clock has no such room in the way of its requests.
package bench

import (
	"net/http"
	"sync"

	"waybill/server/web"
)

// Service is the test bench of one server.
type Service struct {
	*web.Core
	clockMoved func() error // brings about what is due once a clock that ticks was moved
	moving     sync.Mutex   // the clock
}

// New returns the room. clockMoved brings about what is due once a clock that ticks was moved.
func New(core *web.Core, clockMoved func() error) *Service {
	return &Service{
		Core:       core,
		clockMoved: clockMoved,
	}
}

// Around returns a handler that answers as next does, on the terms of the bench.
func (s *Service) Around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &held{to: w}
		if s.Still.Load() {
			now, err := s.Now()
			if err == nil {
				answer.Header().Set("Date", now.Format(http.TimeFormat))
			}
		}
		next.ServeHTTP(answer, r)
		if s.Still.Load() {
			if err := s.Settle(); err != nil {
				s.Log.Warn("not all that a request has caused could be done", "err", err)
			}
		}
		answer.release()
	})
}
