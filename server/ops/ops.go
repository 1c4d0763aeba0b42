// Package ops is for who watches a server: metrics and probes (contract §3).
package ops

import (
	"sync"
	"time"

	"waybill/server/web"
)

// Service answers operators and testers.
type Service struct {
	*web.Core
	connections func() int // how many are open; nil where nobody counts

	counting sync.Mutex
	counted  time.Time            // when tickets were
	tickets  [len(PhaseNames)]int // as they were then
}

// New returns the room. connections counts those that are open, and may be nil.
func New(core *web.Core, connections func() int) *Service {
	return &Service{Core: core, connections: connections}
}
