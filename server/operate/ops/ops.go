// Package ops is for who watches a server: metrics and probes (decision probes.open).
package ops

import (
	"sync"
	"time"

	"waybill/server/frame/web"
	"waybill/server/proof/witness"
)

// Monitor answers operators and testers.
type Monitor struct {
	*web.Core
	connections func() int // how many are open; nil where nobody counts
	witnesses   func() []witness.Known

	counting sync.Mutex
	counted  time.Time            // when tickets were
	tickets  [len(PhaseNames)]int // as they were then
}

// New returns the room. connections counts those that are open, and may be nil.
func New(core *web.Core, connections func() int, witnesses func() []witness.Known) *Monitor {
	return &Monitor{
		Core:        core,
		connections: connections,
		witnesses:   witnesses,
	}
}
