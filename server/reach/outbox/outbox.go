// Package outbox tells passengers of their tickets, by e-mail and by texts to phones (decision
// messages.sending).
//
// The ticket's line says what is to be sent, so that nothing is lost and nothing is sent that was not
// committed; another line says how it ended. Package ledger remembers what is in between, and this package
// sends it: at least once, after a crash maybe again, under the same id.
package outbox

import (
	"waybill/server/frame/web"
	"waybill/server/reach/outbound"
)

// Relay sends what is in the outbox.
type Relay struct {
	*web.Core
	mail      outbound.MailConfig // without Addr e-mails become files
	mailer    *outbound.Mailer    // nil: they do
	messenger *outbound.Peer      // nil: phones get nothing
	observer  *Observer           // nil: nobody watches
	tries     tries
	filed     filed // what became files
	sending   web.Loop
	tidying   web.Loop // of old letters
}

// New returns the room.
func New(core *web.Core) *Relay {
	return &Relay{
		Core:    core,
		filed:   filed{unsynced: map[string]string{}},
		sending: core.NewLoop(),
		tidying: core.NewLoop(),
	}
}
