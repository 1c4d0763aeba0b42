// Package ops is for who watches a server: metrics and probes (decision probes.open).
package ops

import (
	"sync"
	"time"

	"waybill/server/frame/web"
)

// Monitor answers operators and testers.
type Monitor struct {
	*web.Core
	connections func() int // how many are open; nil where nobody counts
	refusals    Refusals

	counting sync.Mutex
	counted  time.Time            // when tickets were
	tickets  [len(PhaseNames)]int // as they were then
}

// Refusals calls show with the name of each witness, and how often it has refused to sign.
type Refusals func(show func(witness string, times uint64))

// New returns the room. connections counts those that are open, and may be nil.
func New(core *web.Core, connections func() int, refusals Refusals) *Monitor {
	return &Monitor{
		Core:        core,
		connections: connections,
		refusals:    refusals,
	}
}
