package command

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"waybill/server"
	"waybill/server/web"
)

// network reads the flags that say who may call, and how often.
func (c *call) network(cfg *server.Config) error {
	for text := range strings.FieldsFuncSeq(c.text("trusted-proxy"), isComma) {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("-trusted-proxy %q is not a network as in 10.0.0.0/8", text)
		}
		cfg.TrustedProxies = append(cfg.TrustedProxies, p)
	}
	// Browsers send an origin in one form only, in lower case and without the scheme's own port. One that is
	// given in another would never match, and nobody would know why.
	for text := range strings.FieldsFuncSeq(c.text("cors-origin"), isComma) {
		if !web.IsOrigin(text) {
			return fmt.Errorf("-cors-origin %q is not an origin as in https://shop.example.com", text)
		}
		cfg.Origins = append(cfg.Origins, text)
	}
	if text := c.text("rate"); text != "" {
		const most = 1_000_000
		r := &cfg.Rate
		// Sscanf is lenient: what it has read must come out the same when it is written.
		fmt.Sscanf(text, "%d/s:%d", &r.PerSecond, &r.Burst)
		r.Burst = cmp.Or(r.Burst, r.PerSecond)
		same := text == fmt.Sprintf("%d/s", r.PerSecond) ||
			text == fmt.Sprintf("%d/s:%d", r.PerSecond, r.Burst)
		if !same || min(r.PerSecond, r.Burst) < 1 || max(r.PerSecond, r.Burst) > most {
			return fmt.Errorf("-rate %q is not as in 50/s or 50/s:200", text)
		}
	}
	if (c.text("tls-cert") == "") != (c.text("tls-key") == "") {
		return errors.New("-tls-cert and -tls-key go together")
	}
	return nil
}

// isComma separates the elements of a flag that is a list.
func isComma(r rune) bool { return r == ',' }

// maxConnections is how many connections may be open at a time: each may need a file besides, and so does the
// rest.
func maxConnections() int {
	var files syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files) != nil {
		return web.MaxConnections
	}
	return int(min(web.MaxConnections, uint64(files.Cur)/2))
}

// certificate is a key pair in two files.
type certificate struct {
	cert, key string
	log       *slog.Logger

	mu      sync.Mutex
	written [2]time.Time // the files that were read last
	pair    *tls.Certificate
}

// get returns the pair to a handshake: a new one once the files have changed, if they fit.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// Two calls for a handshake, which is far more work. Files may be watched with less, and not everywhere.
	var written [2]time.Time
	for i, name := range []string{c.cert, c.key} {
		if info, err := os.Stat(name); err == nil {
			written[i] = info.ModTime()
		}
	}
	if c.pair != nil && written == c.written {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	switch {
	case err == nil:
		c.pair = &pair
	case c.pair == nil:
		return nil, fmt.Errorf("-tls-cert, -tls-key: %w", err)
	default: // of two files that are being replaced, one may be new and the other not yet
		c.log.Warn("the new certificate cannot be used; the former one stays", "err", err)
	}
	c.written = written
	return c.pair, nil
}
