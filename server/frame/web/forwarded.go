package web

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

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

// addressOf returns the address in HOST:PORT, in the form of Address.
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
