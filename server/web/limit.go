package web

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/ledger"
)

// Rate is how many requests a second a partner may make, or an address from which no valid key is shown, and
// how many at once after a pause. The zero Rate is no limit.
type Rate struct{ PerSecond, Burst int }

// Unlimited are the paths that whoever watches a server calls.
var Unlimited = []string{"/livez", "/readyz", "/healthz", "/metrics"}

// limit takes a token of who calls; its error is a 429.
func (s *Core) limit(r *http.Request) error {
	if s.Config.Rate == (Rate{}) || slices.Contains(Unlimited, r.URL.Path) {
		return nil
	}
	var p *auth.Partner
	if key := APIKey(r); key != "" {
		hash := auth.HashOf(key)
		s.Store.Glance(func(st *ledger.State, now time.Time) {
			p = ByKey(st, hash, now)
		})
	}
	l := s.addresses
	who := Address(r)
	if p != nil {
		l = s.partners
		who = string(p.ID[:])
	}
	wait := l.take(who, s.Config.Now())
	if wait > 0 {
		return TooMany(wait)
	}
	return nil
}

// Limiter is a bucket of tokens for each who calls, kept in memory only.
type Limiter struct {
	every, most time.Duration // until there is one token, and until an empty bucket is full

	mu    sync.Mutex
	full  map[string]time.Time // when the bucket is full; one that is not there is
	swept time.Time
}

// manyCallers is how many buckets are remembered; who comes beyond shares one.
const manyCallers = 1 << 16

// NewLimiter returns a limiter that nobody has called.
func NewLimiter(r Rate) *Limiter {
	every := time.Second / time.Duration(max(r.PerSecond, 1))
	return &Limiter{
		every: every,
		most:  every * time.Duration(r.Burst),
		full:  map[string]time.Time{},
	}
}

// take takes a token, or returns how long it is until there is one.
func (l *Limiter) take(who string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.full[who]
	if !known && len(l.full) >= manyCallers {
		if now.Sub(l.swept) >= time.Second { // looking through all of them takes a millisecond
			l.swept = now
			maps.DeleteFunc(l.full, func(_ string, full time.Time) bool {
				return !full.After(now)
			})
		}
		if len(l.full) >= manyCallers {
			who = ""
		}
	}
	after := l.every
	if full := l.full[who]; full.After(now) {
		after += full.Sub(now)
	}
	if after > l.most {
		return after - l.most
	}
	l.full[who] = now.Add(after)
	return 0
}

// Forwarded makes of a request that trusted proxies have forwarded the one they were sent: the nearest
// address that is not theirs counts. What anybody else says of that is dropped, so that [Core.Secure] can
// rely on what is left.
func (s *Core) Forwarded(r *http.Request) {
	trusted := func(host string) bool {
		a, err := netip.ParseAddr(host)
		return err == nil && slices.ContainsFunc(s.Config.TrustedProxies, func(p netip.Prefix) bool {
			return p.Contains(a.Unmap())
		})
	}
	host, port, _ := net.SplitHostPort(r.RemoteAddr)
	if s.Config.TrustedProxies == nil || !trusted(host) {
		delete(r.Header, "X-Forwarded-Proto")
		return
	}
	hops := strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")
	for i := len(hops) - 1; i >= 0 && trusted(host); i-- {
		a, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		host = a.String()
	}
	r.RemoteAddr = net.JoinHostPort(host, port)
}

// Secure reports whether the client speaks TLS, to the server or to a proxy before it.
func (s *Core) Secure(r *http.Request) bool {
	return s.Config.SecureCookies || r.TLS != nil || Single(r.Header["X-Forwarded-Proto"]) == "https"
}

// Address is where a request comes from; of IPv6, the network that one customer has.
func Address(r *http.Request) string {
	return addressOf(r.RemoteAddr)
}

// addressOf does so for HOST:PORT.
func addressOf(remote string) string {
	host, _, _ := net.SplitHostPort(remote)
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	a = a.Unmap()
	if a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.String()
	}
	return a.String()
}

// TooMany is a 429 that says when to try again.
func TooMany(wait time.Duration) *Failure {
	return FailLater(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "too many attempts", wait)
}
