package server_test

import (
	"bytes"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"waybill/server"
	"waybill/server/api/company"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// Decision limits.rate behind a proxy: cookies are Secure, and a hundred failures are of the client's
// address, not of the proxy's.
func TestBehindAProxyTheClientCounts(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	s.CompanyRoom().Passwords.Reserve(map[string]int{"address 198.51.100.1": 1}, rig.Start)
	for range web.AddressFailures {
		s.CompanyRoom().Passwords.Reserve(map[string]int{"address 198.51.100.1": web.AddressFailures},
			rig.Start)
	}
	login := func(from, forwarded string) int {
		r := httptest.NewRequest("POST", "/v2/auth/pre-login",
			bytes.NewBufferString(`{"email":"a@example.com","password":"x"}`))
		r.RemoteAddr = from
		r.Header.Set("X-Forwarded-For", forwarded)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	if got := login("10.0.0.1:1", "198.51.100.1"); got != 429 {
		t.Errorf("the client that failed a hundred times: %d", got)
	}
	if got := login("10.0.0.1:1", "198.51.100.2"); got != 401 {
		t.Errorf("another client of the proxy: %d", got)
	}
	if got := login("192.0.2.1:1", "198.51.100.1"); got != 401 {
		t.Errorf("who only says so: %d", got)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	if s.CompanyRoom().SetCookie(w, r, company.AccessCookie, "/", "x",
		time.Minute); !strings.Contains(w.Header().Get("Set-Cookie"), "Secure") {
		t.Error(w.Header())
	}
}
