// Package outbox sends passengers e-mails and texts about their tickets (decision messages.sending).
//
// The line that changes a ticket names the messages to send, so that none is lost and none is sent of a
// change that was not committed. Another line says that a message was sent or parked. Package ledger
// remembers the messages between the two, and a [Relay] sends them: at least once, after a crash maybe again,
// under the same id.
package outbox

import (
	"sync"
	"time"

	"waybill/server/frame/web"
	"waybill/server/ledger"
	"waybill/server/reach/outbound"
)

// Relay sends the messages of the outbox. Each goes to the mail server or the messenger by a lane of its
// peer; without a mail server an e-mail becomes a file.
type Relay struct {
	*web.Core
	mail      outbound.MailConfig // without Addr e-mails become files
	mailer    *outbound.Mailer    // nil: e-mails become files
	messenger *outbound.Peer      // nil: no texts are sent
	observer  *Observer           // nil: there is none
	tries     tries
	filed     filed // e-mails that became files

	// Only the loop uses these.
	lanes [ledger.Lanes]lane
	known uint64    // how many of the messages that have come into the outbox the lanes have
	sent  []gone    // not journalled yet
	flush time.Time // from when on sent is journalled

	attempts sync.WaitGroup // that are under way
	results  struct {       // of attempts that have ended
		mu   sync.Mutex
		list []result
	}
}

// HasMailServer reports whether e-mails are sent; otherwise they become files.
func (s *Relay) HasMailServer() bool {
	return s.mailer != nil
}

// New returns the room.
func New(core *web.Core) *Relay {
	s := &Relay{
		Core:  core,
		filed: filed{unsynced: map[string]string{}},
	}
	s.Outgoing = core.NewLoop("messages could not be sent", s.sendMessages)
	core.NewLoop("old letters could not be removed", func() (time.Duration, error) {
		return web.Rarely, s.RemoveOldLetters()
	})
	return s
}
