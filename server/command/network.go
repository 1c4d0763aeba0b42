package command

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"waybill/server"
	"waybill/server/frame/web"
)

// network reads the flags that say who may call, and how often.
func (c *call) network(cfg *server.Config) error {
	for text := range strings.FieldsFuncSeq(c.text("trusted-proxy"), isComma) {
		text = strings.TrimSpace(text)
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return fmt.Errorf("-trusted-proxy %q is not a network as in 10.0.0.0/8", text)
		}
		cfg.TrustedProxies = append(cfg.TrustedProxies, p)
	}
	// Browsers send an origin in one form only, in lower case and without the scheme's own port. One that is
	// given in another would never match, and nobody would know why.
	for text := range strings.FieldsFuncSeq(c.text("cors-origin"), isComma) {
		text = strings.TrimSpace(text)
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
			return fmt.Errorf("-rate %q must have the form 50/s or 50/s:200", text)
		}
	}
	if (c.text("tls-cert") == "") != (c.text("tls-key") == "") {
		return errors.New("give -tls-cert and -tls-key together")
	}
	return nil
}

// isComma separates the elements of a flag that is a list.
func isComma(r rune) bool { return r == ',' }
