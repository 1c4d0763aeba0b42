package conform_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// newProxy serves what another server answers, with a breakage, and tells see of every exchange.
func newProxy(t *testing.T, base, key string, x *breakage,
	see func(*http.Request, *http.Response, []byte)) string {
	t.Helper()
	to, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return serveProxy(t, &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host // links in answers lead here
			if x.meets(r.In) {
				x.editRequest(r.Out, key)
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				return err
			}
			if see != nil {
				see(resp.Request, resp, body)
			}
			if x.meets(resp.Request) {
				body = x.editAnswer(resp, body)
			}
			answerWith(resp, body)
			return nil
		},
	})
}

// serveProxy serves a proxy until the test ends.
func serveProxy(t *testing.T, proxy http.Handler) string {
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// answerWith gives an answer another body. One to HEAD has none, whatever its length says.
func answerWith(resp *http.Response, body []byte) {
	resp.Body = io.NopCloser(bytes.NewReader(body))
	if resp.Request.Method == http.MethodHead {
		return
	}
	resp.ContentLength = int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
}

// broken is a control listener whose worlds all break a rule.
type broken struct {
	t     *testing.T
	b     *bench
	x     *breakage
	mutex sync.Mutex
	url   map[string]string // of the proxy before a world, by the world's own
}

// newControl serves the control listener of a bench, and shows proxies in the place of worlds.
func newControl(t *testing.T, b *bench, x *breakage) (control, base string) {
	t.Helper()
	c := &broken{t: t, b: b, x: x, url: map[string]string{}}
	to, err := url.Parse(b.control)
	if err != nil {
		t.Fatal(err)
	}
	control = serveProxy(t, &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: c.modify,
	})
	return control, c.before(b.base)
}

// before returns the address of the proxy before a world.
func (c *broken) before(world string) string {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.url[world] == "" {
		c.url[world] = newProxy(c.t, world, c.b.opt.Key, c.x, nil)
	}
	return c.url[world]
}

// modify puts proxies in the place of worlds.
func (c *broken) modify(resp *http.Response) error {
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	var shown struct {
		Data struct {
			World  struct{ BaseURL string }
			Worlds []struct{ BaseURL string }
		}
	}
	json.Unmarshal(body, &shown)
	worlds := append(shown.Data.Worlds, shown.Data.World)
	for _, w := range worlds {
		if w.BaseURL != "" {
			body = []byte(strings.ReplaceAll(string(body), `"`+w.BaseURL+`"`, `"`+c.before(w.BaseURL)+`"`))
		}
	}
	answerWith(resp, body)
	return nil
}
