package company_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"waybill/server/api/company"
	"waybill/server/lab/rig"
)

// Decision origin.refused: of two cookies of a name neither counts, whichever comes first, and the 401 takes
// ours away.
func TestTwoCookiesOfANameAreNone(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		for _, c := range []struct {
			method, target, name string
			want                 int
		}{
			{"GET", "/v2/auth/session", company.AccessCookie, 200},
			{"POST", "/v2/auth/refresh", company.RefreshCookie, 200},
		} {
			for _, twice := range []bool{true, false} {
				r := httptest.NewRequest(c.method, c.target, nil)
				for _, have := range o.Cookies["office"] {
					if have.Name == c.name {
						r.AddCookie(&http.Cookie{Name: have.Name, Value: have.Value})
					}
				}
				want := c.want
				if twice {
					r.AddCookie(&http.Cookie{Name: c.name, Value: "x"})
					want = 401
				}
				w := httptest.NewRecorder()
				if o.S.ServeHTTP(w, r); w.Code != want {
					t.Errorf("%s, twice %v: %d, want %d", c.target, twice, w.Code, want)
				}
				gone := slices.ContainsFunc(w.Result().Cookies(), func(set *http.Cookie) bool {
					return set.Name == c.name && set.MaxAge < 0
				})
				if gone != twice {
					t.Errorf("%s, twice %v: %q", c.target, twice, w.Header()["Set-Cookie"])
				}
			}
		}
		o.Finish()
	})
}

// Decision sessions.cookies: on a host that is this machine the port is in the names of cookies, so that
// servers there do not take each other's away.
func TestServersOfOneMachineHaveTheirOwnCookies(t *testing.T) {
	v := rig.NewVisitor(t)
	for host, ending := range map[string]string{
		"127.0.0.1:8080":      "_8080",
		"localhost:8081":      "_8081",
		"LOCALHOST:8081":      "_8081",
		"localhost.:8081":     "_8081",
		"demo.Localhost:8081": "_8081",
		"notlocalhost:8081":   "",
		"localhost.org:8081":  "",
		"localhost:":          "",
		"localhost:abc":       "",
		"[::1]:8080":          "_8080",
		"127.0.0.1":           "",
		"example.com:8080":    "",
		"localhost.test:8080": "",
	} {
		body := strings.NewReader(v.Fill(`{"idToken":"$TOKEN"}`))
		r := httptest.NewRequest("POST", "/v2/auth/idp/login", body)
		r.Host = host
		w := httptest.NewRecorder()
		v.S.ServeHTTP(w, r)
		set := w.Result().Cookies()
		if len(set) != 2 || set[0].Name != company.AccessCookie+ending ||
			set[1].Name != company.RefreshCookie+ending {
			t.Fatalf("%s: %d %q", host, w.Code, w.Header()["Set-Cookie"])
		}
		for _, other := range []string{host, "127.0.0.1:9999"} {
			r := httptest.NewRequest("GET", "/v2/auth/session", nil)
			r.Host = other
			r.AddCookie(set[0])
			w := httptest.NewRecorder()
			if v.S.ServeHTTP(w, r); (w.Code == 200) != (other == host) {
				t.Errorf("a cookie of %s at %s: %d", host, other, w.Code)
			}
		}
	}
}

// Decision sessions.life: a session shows its companies as the timetable in force has them, in the order of
// their names.
func TestASessionShowsCompaniesByTheirPresentNames(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		o.Steps("admin user-add email=olena@zorevia.example.com company=carpadan-express role=VIEWER")
		rig.Import(t, o.S,
			rig.FeedWith(t,
				map[string][][2]string{"agency.txt": {{"zorevia,Zorevia Lines,", "zorevia,Aurora Lines,"}}}))
		o.Steps(`
GET /v2/auth/session
    200
    data.access.company.name == "Aurora Lines"
    data.availableAccesses[0].company.name == "Aurora Lines"
    data.availableAccesses[1].company.name == "Carpadan Express"
POST /v2/auth/idp/login {"idToken":"$token"}
    200
    data.access.company.name == "Aurora Lines"
    data.access.role == "ADMIN"`)
		o.Finish()
	})
}

// Decision sessions.cookies: over TLS the cookies are Secure, and only there.
func TestCookiesAreSecureOverTLS(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := rig.NewOffice(t, dir)
		for _, secure := range []bool{true, false} {
			r := httptest.NewRequest("POST", "/v2/auth/idp/login",
				strings.NewReader(`{"idToken":"`+o.Vars["token"]+`"}`))
			if secure {
				r.TLS = new(tls.ConnectionState)
			}
			w := httptest.NewRecorder()
			o.S.ServeHTTP(w, r)
			cookies := w.Result().Cookies()
			if len(cookies) != 2 || cookies[0].Secure != secure || cookies[1].Secure != secure {
				t.Errorf("TLS %v: %v", secure, cookies)
			}
		}
		o.Finish()
	})
}
