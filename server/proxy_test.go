package server_test

import (
	"bytes"
	"log/slog"
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
	// Decision limits.rate: with the client's port, too, and in a list that has gaps.
	for _, forwarded := range []string{"198.51.100.1:5123", "192.0.2.1, ,198.51.100.1 , 10.0.0.2:80,"} {
		if got := login("10.0.0.1:1", forwarded); got != 429 {
			t.Errorf("%s: %d", forwarded, got)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("X-Forwarded-Proto", "https")
	if s.CompanyRoom().SetCookie(w, r, company.AccessCookie, "x",
		time.Minute); !strings.Contains(w.Header().Get("Set-Cookie"), "Secure") {
		t.Error(w.Header())
	}
}

// Decision limits.rate: what a proxy says in another form is read, and of what cannot be read one line of the
// log names the header, and not whose address stands there.
func TestWhatAProxySaysIsReadOrTold(t *testing.T) {
	var logged bytes.Buffer
	s := web.NewCore(web.Config{
		Log:            slog.New(slog.NewTextHandler(&logged, nil)),
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
	})
	for _, c := range []struct {
		forwarded, proto []string
		from             string
		secure           bool
		told             int // headers that are told by then
	}{
		{nil, nil, "10.0.0.1", false, 0},
		{[]string{""}, []string{""}, "10.0.0.1", false, 0},
		{[]string{"203.0.113.7:5123"}, []string{"HTTPS"}, "203.0.113.7", true, 0},
		{[]string{"[2001:db8::7]:5123"}, []string{"https, http"}, "2001:db8::/64", true, 0},
		{[]string{"2001:db8::7", "10.0.0.9"}, []string{"Https", "http"}, "2001:db8::/64", true, 0},
		{[]string{"203.0.113.7"}, []string{"http, https"}, "203.0.113.7", false, 0},
		{[]string{"unknown"}, []string{"https"}, "10.0.0.1", true, 1},
		{[]string{"198.51.100.9, 203.0.113.7.8"}, nil, "10.0.0.1", false, 1},
		{[]string{"203.0.113.7"}, []string{"tls"}, "203.0.113.7", false, 2},
		{[]string{"x"}, []string{"x"}, "10.0.0.1", false, 2},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = "10.0.0.1:1"
		r.Header["X-Forwarded-For"] = c.forwarded
		r.Header["X-Forwarded-Proto"] = c.proto
		s.Forwarded(r)
		told := strings.Count(logged.String(), "level=WARN")
		if web.Address(r) != c.from || s.Secure(r) != c.secure || told != c.told {
			t.Errorf("%q, %q: from %s, secure %v\n%s", c.forwarded, c.proto, web.Address(r), s.Secure(r),
				&logged)
		}
	}
	if strings.Contains(logged.String(), "203.0.113") {
		t.Error(logged.String())
	}
}
