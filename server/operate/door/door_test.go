package door_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"waybill/server/operate/door"
)

// house is a door, and what is behind it, which answers with what it was asked for.
type house struct {
	*testing.T
	*httptest.Server
	link   string
	socket string
}

// newHouse opens a door.
func newHouse(t *testing.T) *house {
	h := &house{T: t, socket: filepath.Join(t.TempDir(), "s")}
	inside, err := net.Listen("unix", h.socket)
	if err != nil {
		t.Fatal(err)
	}
	behind := &httptest.Server{
		Listener: inside,
		Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "inside "+r.Method+" "+r.URL.String()+" "+r.Header.Get("Cookie"))
		})},
	}
	behind.Start()
	t.Cleanup(behind.Close)
	h.Server = httptest.NewUnstartedServer(nil)
	d := door.New(h.Listener.Addr().String(), h.socket)
	h.Config.Handler = d
	h.Config.ConnContext = door.ConnContext
	h.Start()
	t.Cleanup(h.Server.Close)
	h.link = d.Link()
	return h
}

// ask asks at the door, with headers, and returns the answer.
func (h *house) ask(method, target string, header ...string) (*http.Response, string) {
	h.Helper()
	r, err := http.NewRequest(method, target, nil)
	if err != nil {
		h.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		h.Fatal(err)
	}
	// No cache keeps why somebody got nothing: it is of this instant, or of who has asked.
	if got := resp.Header.Get("Cache-Control"); resp.StatusCode >= 300 && got != "no-store" {
		h.Errorf("%s %s: %d, Cache-Control %q", method, target, resp.StatusCode, got)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Fatal(err)
	}
	return resp, string(body)
}

// enter goes in by the link, and returns the cookie.
func (h *house) enter() string {
	h.Helper()
	resp, body := h.ask("GET", h.link)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" {
		h.Fatal(resp.Status, body)
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
		h.Errorf("the cookie is %v", c)
	}
	return c.Name + "=" + c.Value
}

// Decision desk.entry: the link lets one browser in, once; what is asked for inside comes without the cookie.
func TestTheLinkIsGoodOnce(t *testing.T) {
	h := newHouse(t)
	if resp, body := h.ask("GET", h.URL+"/run?trip=a%2Fb"); resp.StatusCode != 403 {
		t.Errorf("without the link: %d %s", resp.StatusCode, body)
	}
	if resp, body := h.ask("GET", h.URL+"/?token=wrong"); resp.StatusCode != 403 {
		t.Errorf("with a wrong token: %d %s", resp.StatusCode, body)
	}
	if resp, body := h.ask("GET", h.URL+"/?token="); resp.StatusCode != 403 {
		t.Errorf("with an empty token: %d %s", resp.StatusCode, body)
	}
	if resp, _ := h.ask("HEAD", h.link); resp.StatusCode != 403 {
		t.Errorf("HEAD uses the link up: %d", resp.StatusCode)
	}
	cookie := h.enter()
	if resp, _ := h.ask("GET", h.link, "Cookie", cookie); resp.StatusCode != 303 || len(resp.Cookies()) > 0 {
		t.Errorf("who is in already, by the link: %d", resp.StatusCode)
	}
	for _, token := range []string{h.link, h.URL + "/?token="} {
		if resp, body := h.ask("GET", token); resp.StatusCode != 403 || len(resp.Cookies()) > 0 {
			t.Errorf("a second time: %d %s", resp.StatusCode, body)
		}
	}
	resp, body := h.ask("GET", h.URL+"/run?trip=a%2Fb", "Cookie", cookie)
	if resp.StatusCode != 200 || body != "inside GET /desk/run?trip=a%2Fb " {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	name, _, _ := strings.Cut(cookie, "=")
	for _, bad := range []string{"", name + "=", name + "=x", cookie + "x", "x" + cookie} {
		if resp, body := h.ask("GET", h.URL+"/", "Cookie", bad); resp.StatusCode != 403 {
			t.Errorf("with the cookie %q: %d %s", bad, resp.StatusCode, body)
		}
	}
}

// Decision desk.entry: the desk is refused to another Host or Origin, whatever cookie comes with it.
func TestOthersAreTurnedAway(t *testing.T) {
	h := newHouse(t)
	cookie := h.enter()
	u, err := url.Parse(h.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range [][]string{
		{"Host", "example.com"},
		{"Host", "example.com:" + u.Port()},
		{"Host", "127.0.0.1"},
		{"Host", "127.0.0.1:1"},
		{"Host", "desk.localhost:" + u.Port()},
		{"Origin", "https://example.com"},
		{"Origin", "null"},
		{"Origin", "http://127.0.0.1:1"},
		{"Origin", "https://" + u.Host},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site"},
	} {
		resp, body := h.ask("POST", h.URL+"/act/run-cancel", append(bad, "Cookie", cookie)...)
		if resp.StatusCode != 403 || strings.Contains(body, "inside") {
			t.Errorf("%v: %d %s", bad, resp.StatusCode, body)
		}
		resp, body = h.ask("GET", h.URL+"/", append(bad, "Cookie", cookie)...)
		if resp.StatusCode != 403 || strings.Contains(body, "inside") {
			t.Errorf("GET with %v: %d %s", bad, resp.StatusCode, body)
		}
	}
	for _, good := range [][]string{
		{"Origin", h.URL, "Sec-Fetch-Site", "same-origin"},
		{"Host", "localhost:" + u.Port(), "Origin", "http://localhost:" + u.Port()},
		{"Sec-Fetch-Site", "same-origin"},
	} {
		resp, body := h.ask("POST", h.URL+"/act/run-cancel", append(good, "Cookie", cookie)...)
		if resp.StatusCode != 200 || body != "inside POST /desk/act/run-cancel " {
			t.Errorf("%v: %d %s", good, resp.StatusCode, body)
		}
	}
}

// Decision desk.entry: a form comes from a page of the desk, which browsers always say; a page may be asked
// for by a link or by what was typed.
func TestAFormFromNowhereIsRefused(t *testing.T) {
	h := newHouse(t)
	cookie := h.enter()
	for _, nowhere := range [][]string{{"Cookie", cookie}, {"Cookie", cookie, "Sec-Fetch-Site", "none"}} {
		resp, body := h.ask("POST", h.URL+"/act/run-cancel", nowhere...)
		if resp.StatusCode != 403 || strings.Contains(body, "inside") {
			t.Errorf("POST with %v: %d %s", nowhere, resp.StatusCode, body)
		}
		if resp, body = h.ask("GET", h.URL+"/", nowhere...); resp.StatusCode != 200 {
			t.Errorf("GET with %v: %d %s", nowhere, resp.StatusCode, body)
		}
	}
}

// Pages are read and forms are sent, by the paths that there are; others do not get as far as the server.
func TestOddRequestsStayOutside(t *testing.T) {
	h := newHouse(t)
	cookie := h.enter()
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"PUT", "/runs", 405}, {"OPTIONS", "/", 405}, {"TRACE", "/", 405},
		{"GET", "//partners", 404}, {"GET", "/runs//", 404}, {"GET", "/./runs", 404}, {"GET", "/a/../runs", 404},
		{"GET", "/%2e%2e/partner-add", 404}, {"GET", "/runs/", 404},
	} {
		resp, body := h.ask(c.method, h.URL+c.path, "Cookie", cookie)
		if resp.StatusCode != c.status || strings.Contains(body, "inside") {
			t.Errorf("%s %s: %d %s", c.method, c.path, resp.StatusCode, body)
		}
	}
}

// Where no server has the directory open, the door says so.
func TestNobodyIsInside(t *testing.T) {
	h := newHouse(t)
	d := httptest.NewUnstartedServer(nil)
	defer d.Close()
	nobody := door.New(d.Listener.Addr().String(), h.socket+"x")
	d.Config.Handler = nobody
	d.Config.ConnContext = door.ConnContext
	d.Start()
	h.link = nobody.Link()
	cookie := h.enter()
	resp, body := h.ask("GET", d.URL+"/", "Cookie", cookie)
	if resp.StatusCode != http.StatusBadGateway ||
		!strings.Contains(body, "No server has the directory open") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
