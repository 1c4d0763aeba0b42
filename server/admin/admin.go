// Package admin is what the command line's verbs do to a directory, through the running server's socket or by
// themselves (contract §1).
package admin

import (
	"sync"

	"waybill/server/carrier"
	"waybill/server/company"
	"waybill/server/outbox"
	"waybill/server/provider"
	"waybill/server/web"
	"waybill/server/witness"
)

// Service does administrative acts.
type Service struct {
	*web.Core
	company   *company.Service
	carrier   *carrier.Service
	outbox    *outbox.Service
	provider  *provider.Service
	witness   *witness.Service
	importing sync.Mutex // one import, key rotation, or erasure at a time
}

// Alone does something beside which there is no import, no key rotation and no erasure.
func (s *Service) Alone(do func() error) error {
	s.importing.Lock()
	defer s.importing.Unlock()
	return do()
}

// New returns the room.
func New(core *web.Core, company *company.Service, carrier *carrier.Service, outbox *outbox.Service,
	provider *provider.Service, witness *witness.Service) *Service {
	return &Service{
		Core:     core,
		company:  company,
		carrier:  carrier,
		outbox:   outbox,
		provider: provider,
		witness:  witness,
	}
}
