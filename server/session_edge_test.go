package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
)

// Contract §9: of two cookies of a name neither counts, whichever comes first.
func TestTwoCookiesOfANameAreNone(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(t, dir)
		for _, c := range []struct {
			method, target, name string
			want                 int
		}{
			{"GET", "/v2/auth/session", accessCookie, 200},
			{"POST", "/v2/auth/refresh", refreshCookie, 200},
		} {
			for _, twice := range []bool{true, false} {
				r := httptest.NewRequest(c.method, c.target, nil)
				for _, have := range o.cookies["office"] {
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
				if o.s.ServeHTTP(w, r); w.Code != want {
					t.Errorf("%s, twice %v: %d, want %d", c.target, twice, w.Code, want)
				}
			}
		}
		o.finish()
	})
}
