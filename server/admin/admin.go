// Package admin is what the command line's verbs do to a directory, through the running server's socket or by
// themselves (contract §1).
package admin

import (
	"sync"

	"waybill/server/company"
	"waybill/server/outbox"
	"waybill/server/provider"
	"waybill/server/web"
)

// Service does administrative acts.
type Service struct {
	*web.Core
	company   *company.Service
	outbox    *outbox.Service
	provider  *provider.Service
	importing sync.Mutex // one import, key rotation, or erasure at a time
}

// New returns the room.
func New(core *web.Core, company *company.Service, outbox *outbox.Service,
	provider *provider.Service) *Service {
	return &Service{
		Core:     core,
		company:  company,
		outbox:   outbox,
		provider: provider,
	}
}
