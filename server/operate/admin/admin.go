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
	identity *oidc.Trusted
	carrier  *carrier.Dispatcher
	outbox   *outbox.Relay
	provider *provider.Confirmer
	witness  *witness.Collector
	erasures *web.Loop
	acting   sync.Mutex // see Alone

	// finishReports writes the reports that are queued, removes what is of no report, and returns then.
	finishReports func() error
}

// Alone runs do while no other act runs that may take long: an import, a change of a run, a rotation of keys,
// an erasure, a fork of a world.
func (s *Executor) Alone(do func() error) error {
	s.acting.Lock()
	defer s.acting.Unlock()
	return do()
}

// New returns the room.
func New(core *web.Core, identity *oidc.Trusted, finishReports func() error, carrier *carrier.Dispatcher,
	outbox *outbox.Relay, provider *provider.Confirmer, witness *witness.Collector) *Executor {
	s := &Executor{
		Core:     core,
		identity: identity,
		carrier:  carrier,
		outbox:   outbox,
		provider: provider,
		witness:  witness,

		finishReports: finishReports,
	}
	s.erasures = core.NewLoop("an erasure is not complete", s.completeErasures)
	return s
}
