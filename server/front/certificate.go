package front

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificate is a key pair in two files, which are read again once they have changed: certificates are
// renewed while a server runs.
type Certificate struct {
	Cert, Key string // the files, in PEM
	Log       *slog.Logger

	mu      sync.Mutex
	written [2]time.Time // the files that were read last
	pair    *tls.Certificate
}

// Get returns the pair to a handshake: a new one once the files have changed, if they fit.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Two calls for a handshake, which is far more work. Files may be watched with less, and not everywhere.
	var written [2]time.Time
	for i, name := range []string{c.Cert, c.Key} {
		if info, err := os.Stat(name); err == nil {
			written[i] = info.ModTime()
		}
	}
	if c.pair != nil && written == c.written {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
	switch {
	case err == nil:
		c.pair = &pair
	case c.pair == nil:
		return nil, fmt.Errorf("-tls-cert, -tls-key: %w", err)
	default: // of two files that are being replaced, one may be new and the other not yet
		c.Log.Warn("the new certificate cannot be used; the previous one stays in use", "err", err)
	}
	c.written = written
	return c.pair, nil
}
