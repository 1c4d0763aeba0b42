package outbox

import (
	"fmt"
	"sync"
	"time"

	"waybill/server/frame/words"
	"waybill/server/ledger"
)

// tries remembers, until a restart, the attempts to send messages that wait.
type tries struct {
	mu   sync.Mutex
	byID map[string]tried
}

// tried holds the attempts of one message.
type tried struct {
	attempts int
	err      error     // of the last
	next     time.Time // when it is tried again
}

// failed remembers that an attempt failed, and when the next one is.
func (t *tries) failed(id string, err error, next time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byID == nil {
		t.byID = map[string]tried{}
	}
	t.byID[id] = tried{t.byID[id].attempts + 1, err, next}
}

// forget drops a message that was sent, or is not tried any more.
func (t *tries) forget(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byID, id)
}

// Why returns in words why a message waits.
func (s *Relay) Why(m *ledger.Message) string {
	s.tries.mu.Lock()
	known, ok := s.tries.byID[m.ID]
	s.tries.mu.Unlock()
	switch {
	case ok:
		return fmt.Sprintf("%s failed, the last with %q; the next is at %s",
			words.Counted(known.attempts, "attempt"), known.err, known.next.UTC().Format(time.RFC3339))
	case s.Config.Verb:
		return "no server is running; the next start sends it"
	case m.Lane() == ledger.ToMessenger && s.messenger == nil && s.observer == nil:
		return "the server has no -messenger-url"
	}
	return "it is not tried yet"
}
