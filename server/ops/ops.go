// Package ops is for who watches a server and who tests with it: metrics, probes, and the test clock
// (contract §2, §3).
package ops

import (
	"sync"
	"time"

	"waybill/server/web"
)

// Service answers operators and testers.
type Service struct {
	*web.Core
	connections func() int   // how many are open; nil where nobody counts
	clockMoved  func() error // brings about what is due once the test clock was moved

	counting sync.Mutex
	counted  time.Time            // when tickets were
	tickets  [len(PhaseNames)]int // as they were then
}

// New returns the room. connections counts those that are open, and may be nil; clockMoved brings about what
// is due once the test clock was moved.
func New(core *web.Core, connections func() int, clockMoved func() error) *Service {
	return &Service{Core: core, connections: connections, clockMoved: clockMoved}
}
