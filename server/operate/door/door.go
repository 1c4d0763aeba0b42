// Package door lets a browser on this machine in to the desk (decision desk.entry), which is served on the
// directory's socket and on nothing else.
//
//	err := door.Open("127.0.0.1:8082", socket, stop, func(link string) {
//		fmt.Println(link) // that works once
//	})
//
// Whoever may open the directory's socket may open the door. The link that it prints has a token; the browser
// that shows it first gets a cookie in its place, and nobody else gets in until the process ends. A page from
// elsewhere that makes the browser call is turned away: by its Origin, by the Host that it has to name, and
// because the cookie does not come with what another site asks for. Ports are no sites to a browser: another
// user's server on this machine may get to see the cookie, and so it is good for nobody but the door's own
// user, whom the kernel knows. [ConnContext] asks it as a connection comes.
package door

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"waybill/server/frame/web"
	"waybill/server/operate/desk"
)

// Door passes on what the operator's browser asks for.
type Door struct {
	addr   string // where it listens
	port   string
	origin *http.CrossOriginProtection
	proxy  *httputil.ReverseProxy

	mu      sync.Mutex
	token   string // "" once it was used
	session string
}

// New returns a door that listens at an address, and leads to a directory's socket.
func New(addr, socket string) *Door {
	_, port, _ := net.SplitHostPort(addr)
	d := &Door{
		addr:    addr,
		port:    port,
		origin:  http.NewCrossOriginProtection(),
		token:   rand.Text(),
		session: rand.Text(),
	}
	// The host says nothing: there is one server at the end of a socket.
	to := &url.URL{
		Scheme: "http",
		Host:   "waybill",
		Path:   desk.Prefix,
	}
	d.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Cookie") // it is between the browser and the door
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return web.DialSocket(ctx, socket)
			},
		},
		ErrorHandler: closed,
	}
	return d
}

// Open listens at an address, tells the link that lets a browser in, and keeps the door open until it is to
// stop.
func Open(addr, socket string, stop <-chan struct{}, tell func(link string)) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	d := New(ln.Addr().String(), socket)
	tell(d.Link())
	browsers := &http.Server{
		Handler:           d,
		ConnContext:       ConnContext,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // and none of the answer: to verify all may take long
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    12 << 10,
	}
	conns := web.Listener(ln, maxConnections, 1, nil, web.NewBacklog(web.Backlogs))
	ended := make(chan error, 1)
	go func() { ended <- browsers.Serve(conns) }()
	select {
	case err := <-ended:
		return err
	case <-stop:
		// What is under way goes on in the directory's server, whether somebody reads the page or not.
		return browsers.Close()
	}
}

// operatorKey is the key under which a connection's context says whether the operator has its other end.
type operatorKey struct{}

// ConnContext is for http.Server.ConnContext of a server that a [Door] answers: it asks the kernel who has
// the other end of a connection, once, as it comes. With each request that would be too late: a connection
// that its user has closed is listed as root's, and one that was reset is not listed at all.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(web.ConnContext(ctx, c), operatorKey{}, mayCome(c))
}

// isOperators reports whether a request came on a connection of the operator's.
func isOperators(r *http.Request) bool {
	may, asked := r.Context().Value(operatorKey{}).(bool)
	return asked && may
}

// maxConnections is how many there are at most: a browser has a few.
const maxConnections = 256

// Link returns the address that lets a browser in, once.
func (d *Door) Link() string {
	return "http://" + d.addr + "/?token=" + d.token
}

// cookie is the name of the cookie. Cookies do not tell ports apart, so that the name does: there may be a
// desk for each of several directories.
func (d *Door) cookie() string {
	return "waybill-desk-" + d.port
}

// ServeHTTP turns away whoever is not the operator's browser, and passes on all else.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	// Not no-referrer: a browser then does not say, either, that a form is the desk's own.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	switch {
	case r.Host != d.addr && r.Host != "localhost:"+d.port:
		turnAway(w, "This is the desk of a Waybill directory. Open it at http://"+d.addr+" only.")
	case !d.isOwn(r):
		turnAway(w, "Another page sent this request. The desk accepts requests only from its own pages.")
	case !isOperators(r):
		turnAway(w, "Another user of this machine sent this request. The desk works only for the user "+
			"who started it.")
	case r.Method == http.MethodGet && r.URL.Query().Has("token"):
		d.letIn(w, r)
	case !d.isIn(r):
		turnAway(w, "Open the link that waybill desk printed. It works once, in one browser; for "+
			"another browser, start the desk again.")
	case !slices.Contains(methods, r.Method):
		h.Set("Allow", strings.Join(methods, ", "))
		refuse(w, http.StatusMethodNotAllowed, "Use GET for pages and POST for forms.")
	case path.Clean(r.URL.Path) != r.URL.Path:
		refuse(w, http.StatusNotFound, "There is no such page.")
	default:
		d.proxy.ServeHTTP(w, r)
	}
}

// methods are those of pages and forms.
var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost}

// isOwn reports whether a request comes from a page of the desk, or from nowhere: a link, or what was typed.
// Also of those that only read: who has read a waybill stands in the journal. A form comes from a page of the
// desk, which a browser always says.
func (d *Door) isOwn(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" && origin != "http://"+r.Host {
		return false
	}
	site := r.Header.Get("Sec-Fetch-Site")
	if r.Method == http.MethodPost && origin == "" && site != "same-origin" {
		return false
	}
	switch site {
	case "", "none", "same-origin":
		return d.origin.Check(r) == nil
	}
	return false
}

// letIn gives a browser the cookie, if it shows the token and is the first to.
func (d *Door) letIn(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header()["Cache-Control"] = web.NoStore
	if d.isIn(r) { // who is in already may follow the link again
		http.Redirect(w, r, "/", http.StatusSeeOther)
		return
	}
	if d.token == "" || !same(r.URL.Query().Get("token"), d.token) {
		turnAway(w, "This link is not valid or was used before. Start the desk again for a new one.")
		return
	}
	d.token = ""
	http.SetCookie(w, &http.Cookie{
		Name:     d.cookie(),
		Value:    d.session,
		Path:     "/",
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// isIn reports whether a browser has the cookie. Others may have set one of the same name.
func (d *Door) isIn(r *http.Request) bool {
	return slices.ContainsFunc(r.CookiesNamed(d.cookie()), func(c *http.Cookie) bool {
		return same(c.Value, d.session)
	})
}

// same compares secrets in a time that does not depend on them.
func same(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}

// turnAway says why somebody gets nothing.
func turnAway(w http.ResponseWriter, why string) {
	w.Header().Set("Connection", "close") // without waiting for the rest of what was asked
	refuse(w, http.StatusForbidden, why)
}

// refuse says why there is no page. No cache keeps that.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header()["Cache-Control"] = web.NoStore
	http.Error(w, why, status)
}

// closed answers where nobody is at the other end of the socket.
func closed(w http.ResponseWriter, _ *http.Request, err error) {
	why := "The directory's server could not answer: " + err.Error()
	if errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED) {
		why = "No server has the directory open. Start one and try again; the desk waits."
	}
	refuse(w, http.StatusBadGateway, why)
}
