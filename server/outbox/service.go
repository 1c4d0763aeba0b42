// Package outbox tells passengers of their tickets, by e-mail and by texts to phones (contract §7).
package outbox

import (
	"waybill/server/outbound"
	"waybill/server/web"
)

// Service sends what is in the outbox.
type Service struct {
	*web.Core
	mail      outbound.MailConfig // without Addr e-mails become files
	mailer    *outbound.Mailer    // nil: they do
	messenger *outbound.Peer      // nil: phones get nothing
	tries     tries
}

// New returns the room.
func New(core *web.Core) *Service {
	return &Service{Core: core}
}
