package front

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"waybill/auth"
)

// Certificate is a key pair in two files, which are read again at each handshake: certificates are renewed
// while a server runs.
type Certificate struct {
	Cert, Key string // the files, in PEM
	Log       *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	used    string    // what the files had when pair was made of them
	refused string    // what the log has said last of files that cannot be used
	warned  time.Time // when the log has last said that the certificate ends
}

// Get returns the pair to a handshake: a new one once the files have changed, if they fit. What cannot be
// used is tried again at the next one. What is in the files counts, which is far less work than a handshake:
// their times may be the same, as those of a file that a tool has restored.
func (c *Certificate) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cert, err := auth.ReadFile(c.Cert)
	key, failed := auth.ReadFile(c.Key)
	err = cmp.Or(err, failed)
	if read := string(cert) + string(key); err != nil || read != c.used {
		pair, wrong := tls.X509KeyPair(cert, key)
		err = cmp.Or(err, wrong)
		switch {
		case err == nil:
			c.pair, c.used, c.refused = &pair, read, ""
		case c.pair == nil:
			return nil, fmt.Errorf("-tls-cert, -tls-key: %w", err)
		case c.refused != err.Error():
			// Of two files that are being replaced, one may be new and the other not yet.
			c.refused = err.Error()
			c.Log.Warn("the new certificate cannot be used; the previous one stays in use", "err", err)
		}
	}
	c.warnOfEnd(time.Now())
	return c.pair, nil
}

const (
	day      = 24 * time.Hour
	endsSoon = 14 * day
)

// warnOfEnd says once a day that the certificate in use ends soon, or has ended.
func (c *Certificate) warnOfEnd(now time.Time) {
	end := c.pair.Leaf.NotAfter
	if now.Add(endsSoon).Before(end) || now.Sub(c.warned) < day {
		return
	}
	c.warned = now
	c.Log.Warn("the certificate ends; it is to be renewed", "file", c.Cert, "ends", end)
}
