package server

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
)

// sendCookies adds the browser's cookies to a request, as a browser would:
// where their path fits, but whatever their age: that the server must judge itself.
func (p *player) sendCookies(r *http.Request) {
	jar, _ := cookiejar.New(nil)
	site := url.URL{Scheme: "http", Host: r.Host, Path: r.URL.Path}
	if p.browser != "nobody" {
		jar.SetCookies(&site, p.cookies[p.browser])
	}
	for _, c := range jar.Cookies(&site) {
		r.AddCookie(c)
	}
}
