package server_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server"
	"waybill/server/frame/web"
	"waybill/server/lab/rig"
)

// With -rate 2/s:4 a partner has four requests at once and two a second, wherever they come from; so has an
// address from which no valid key is shown. Then it is 429, in the envelope, and tells when to come again.
// Who watches is exempt.
func TestARateIsOfAPartnerOrOfAnAddress(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, anna := rig.Demo(t, server.Config{Dir: dir, Rate: web.Rate{
			PerSecond: 2,
			Burst:     4,
		}, Now: func() time.Time {
			return time.Now().Add(rig.Start.Sub(time.Unix(946684800, 0)))
		}})
		defer s.Close()
		boris, err := s.Admin.AddPartner("boris", nil)
		if err != nil {
			t.Fatal(err)
		}
		from := 0
		allowed := func(n int, target, key, address string) {
			t.Helper()
			for i := range n + 1 {
				from++
				at := address
				if at == "" {
					at = fmt.Sprintf("192.0.2.%d:1", from)
				}
				if w := rig.RequestFrom(s, at, "GET", target,
					"x-api-key: "+key); (w.Code == 429) != (i == n) {
					t.Fatalf("request %d of %d to %s: %d %s", i+1, n+1, target, w.Code, w.Body)
				}
			}
		}
		allowed(4, "/v2/bookings", anna, "")
		allowed(4, "/v2/cities", boris, "")
		allowed(4, "/v2/bookings", "wb_wrong", "198.51.100.1:1")
		allowed(0, "/v2/nowhere", "", "198.51.100.1:2")
		allowed(4, "/v2/cities", "", "198.51.100.2:1")
		w := rig.RequestFrom(s, "192.0.2.1:1", "GET", "/rest/orders", "x-api-key: "+anna)
		var a rig.Answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || w.Code != 429 ||
			a.Errors[0].ErrorCode != "TOO_MANY_REQUESTS" || w.Header().Get("Retry-After") != "1" ||
			w.Header().Get("Deprecation") == "" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		for _, path := range []string{"/livez", "/readyz", "/healthz", "/metrics"} {
			for range 6 {
				if w := rig.RequestFrom(s, "198.51.100.2:1", "GET", path); w.Code != 200 {
					t.Errorf("%s: %d", path, w.Code)
				}
			}
		}
		time.Sleep(500*time.Millisecond - 1)
		allowed(0, "/v2/bookings", anna, "")
		time.Sleep(time.Nanosecond)
		allowed(1, "/v2/bookings", anna, "")
		time.Sleep(time.Hour)
		allowed(4, "/v2/bookings", anna, "")
	})
}

// What a partner is sent counts too, by the real server: a large answer takes more of its allowance than a
// small one, and nothing of another partner's. On a clock that stands still nothing grows back.
func TestWhatAPartnerIsSentIsOfItsRate(t *testing.T) {
	s, anna := rig.Demo(t,
		server.Config{Lab: rig.StillClock(), Rate: web.Rate{PerSecond: 1, Burst: 20}})
	boris, err := s.Admin.AddPartner("boris", nil)
	if err != nil {
		t.Fatal(err)
	}
	large := rig.RequestFrom(s.Handler(), "192.0.2.1:1", "GET", "/openapi.json", "x-api-key: "+anna)
	cost := 1 + large.Body.Len()/web.BytesAsRequest
	if large.Code != 200 || cost < 3 {
		t.Fatalf("%d, %d bytes: none that shows it", large.Code, large.Body.Len())
	}
	for key, left := range map[string]int{anna: 20 - cost, boris: 20} {
		allowed := 0
		for rig.RequestFrom(s.Handler(), "192.0.2.1:1", "GET", "/v2/cities/kyiv",
			"x-api-key: "+key).Code == 200 {
			allowed++
		}
		if allowed != left {
			t.Errorf("%d requests more, want %d", allowed, left)
		}
	}
}

// X-Forwarded-For and -Proto count from trusted proxies only; of the addresses, the last that is not a
// proxy's.
func TestOnlyATrustedProxySaysWhereARequestComesFrom(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, c := range []struct {
		from, forwarded, proto, want string
		secure                       bool
	}{
		{"192.0.2.1:5", "198.51.100.1", "https", "192.0.2.1", false},
		{"10.0.0.1:5", "198.51.100.1", "https", "198.51.100.1", true},
		{"[::ffff:10.0.0.1]:5", "198.51.100.1", "https", "198.51.100.1", true},
		{"10.0.0.1:5", "203.0.113.9, 198.51.100.1, 10.1.1.1", "http", "198.51.100.1", false},
		{"10.0.0.1:5", "198.51.100.1,fd00::1", "", "198.51.100.1", false},
		{"10.0.0.1:5", "10.2.2.2", "https", "10.2.2.2", true},
		{"10.0.0.1:5", "198.51.100.1, nonsense", "https", "10.0.0.1", true},
		{"10.0.0.1:5", "", "https", "10.0.0.1", true},
		{"[fd00::2]:5", "2001:db8:1:2::7", "HTTPS", "2001:db8:1:2::/64", true},
	} {
		s := web.NewCore(web.Config{TrustedProxies: proxies})
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.from
		r.Header.Set("X-Forwarded-For", c.forwarded)
		r.Header.Set("X-Forwarded-Proto", c.proto)
		if s.Forwarded(r); web.Address(r) != c.want || s.Secure(r) != c.secure {
			t.Errorf("%+v: %s, secure %t", c, web.Address(r), s.Secure(r))
		}
		r.RemoteAddr = c.from
		s = web.NewCore(web.Config{})
		if s.Forwarded(r); strings.Contains(c.want, "198.") && web.Address(r) == c.want || s.Secure(r) {
			t.Errorf("%+v without a trusted proxy: %s, secure %t", c, web.Address(r), s.Secure(r))
		}
	}
}

// On a clock that stands still allowances grow by its moves alone: a move is never refused for want of one.
func TestTheClockIsMovedWhateverTheRate(t *testing.T) {
	s, _ := rig.Demo(t, server.Config{Lab: rig.StillClock(), Rate: web.Rate{PerSecond: 1, Burst: 1}})
	code := func(method, target string) int {
		r := httptest.NewRequest(method, target, strings.NewReader(`{"advance":"1s"}`))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	for range 3 {
		if code("GET", "/v2/cities") != 200 || code("GET", "/v2/cities") != 429 {
			t.Error("one request a second is not what is allowed")
		}
		if got := code("GET", "/test/clock"); got != 200 {
			t.Errorf("GET /test/clock: %d", got)
		}
		if got := code("POST", "/test/clock"); got != 200 {
			t.Errorf("POST /test/clock: %d", got)
		}
	}
}
