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
	hops := elements(r, "X-Forwarded-For")
	for i := len(hops) - 1; i >= 0 && trusted(host); i-- {
		a, err := hop(hops[i])
		if err != nil {
			s.unread("X-Forwarded-For")
			break
		}
		host = a.String()
	}
	r.RemoteAddr = net.JoinHostPort(host, port)
	// The first proxy, which the client called, stands first.
	if protos := elements(r, "X-Forwarded-Proto"); len(protos) > 0 {
		proto := strings.ToLower(protos[0])
		r.Header["X-Forwarded-Proto"] = []string{proto}
		if proto != "http" && proto != "https" {
			s.unread("X-Forwarded-Proto")
		}
	}
}

// elements returns the elements of a header that is a list, without those that are empty.
func elements(r *http.Request, header string) (list []string) {
	for element := range strings.SplitSeq(strings.Join(r.Header[header], ","), ",") {
		if element = strings.TrimSpace(element); element != "" {
			list = append(list, element)
		}
	}
	return list
}

// hop reads an address as proxies write it: some add the client's port.
func hop(text string) (netip.Addr, error) {
	if at, err := netip.ParseAddrPort(text); err == nil {
		return at.Addr(), nil
	}
	return netip.ParseAddr(text)
}

// unread says once in the log that a header of a proxy is not understood. Its value may be somebody's
// address.
func (s *Core) unread(header string) {
	if _, told := s.told.LoadOrStore(header, true); !told {
		s.Log.Warn("a trusted proxy sends a header that cannot be read; all its clients may count as one, "+
			"or as without TLS", "header", header)
	}
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
