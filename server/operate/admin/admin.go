// Package admin is what the command line's verbs do to a directory, through the running server's socket or by
// themselves (decision verbs.both).
package admin

import (
	"sync"

	"waybill/auth/oidc"
	"waybill/server/frame/web"
	"waybill/server/operate/carrier"
	"waybill/server/proof/witness"
	"waybill/server/reach/outbox"
	"waybill/server/reach/provider"
)

// Executor does administrative acts.
type Executor struct {
	*web.Core
	identity  *oidc.Trusted
	carrier   *carrier.Dispatcher
	outbox    *outbox.Relay
	provider  *provider.Confirmer
	witness   *witness.Collector
	reports   func() error // writes the reports that are queued; returns when they are there
	erasures  *web.Loop
	importing sync.Mutex // one import, key rotation, or erasure at a time
}

// Alone runs do while no import, no key rotation and no erasure runs.
func (s *Executor) Alone(do func() error) error {
	s.importing.Lock()
	defer s.importing.Unlock()
	return do()
}

// New returns the room.
func New(core *web.Core, identity *oidc.Trusted, reports func() error, carrier *carrier.Dispatcher,
	outbox *outbox.Relay, provider *provider.Confirmer, witness *witness.Collector) *Executor {
	s := &Executor{
		Core:     core,
		identity: identity,
		reports:  reports,
		carrier:  carrier,
		outbox:   outbox,
		provider: provider,
		witness:  witness,
	}
	s.erasures = core.NewLoop("an erasure is not complete", s.completeErasures)
	return s
}
