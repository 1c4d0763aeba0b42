package outbound

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// The environment names a proxy that is none: whoever heeds it, fails. It is read once in a process, so it is
// set first.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy",
		"all_proxy"} {
		os.Setenv(name, "http://127.0.0.1:9")
	}
	os.Unsetenv("NO_PROXY")
	os.Unsetenv("no_proxy")
	os.Exit(m.Run())
}

const (
	secret = "a secret of ours"
	query  = "?token=hush"
	call   = `{"ticket":"uF3bx_1-a","note":"Привіт <&>"}`
)

// asked is what a server was asked.
type asked struct {
	mu    sync.Mutex
	all   []*http.Request
	body  []string
	conns int
}

// serve returns the URL of a server that records what it is asked and then answers.
func serve(t testing.TB, answer http.HandlerFunc) (string, *asked) {
	t.Helper()
	a := &asked{}
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		a.mu.Lock()
		a.all, a.body = append(a.all, r), append(a.body, string(body))
		a.mu.Unlock()
		answer(w, r)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			a.mu.Lock()
			a.conns++
			a.mu.Unlock()
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s.URL, a
}

func (a *asked) times() (requests, conns int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.all), a.conns
}

func peer(t testing.TB, address string, timeout time.Duration) *Peer {
	t.Helper()
	p, err := NewPeer(address, []byte(secret), timeout)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.transport.CloseIdleConnections)
	return p
}

// wantPostError checks that an error is of the kind it must be, and tells nothing it must not.
func wantPostError(t testing.TB, what string, err error, refused bool, text string) {
	t.Helper()
	if err == nil || errors.Is(err, ErrRefused) != refused ||
		!strings.HasPrefix(err.Error(), "outbound: post to ") || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v; want refused %v, with %q", what, err, refused, text)
	}
	for _, private := range []string{"hush", "token", "secret", "ticket", "Привіт", "uF3bx"} {
		if err != nil && strings.Contains(err.Error(), private) {
			t.Errorf("%s: the error tells %q: %v", what, private, err)
		}
	}
}

func TestACallIsSigned(t *testing.T) {
	url, a := serve(t, func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) })
	key := []byte(secret)
	p, err := NewPeer(url+"/hook"+query, key, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.transport.CloseIdleConnections()
	clear(key) // it is the caller's
	if err := p.Post(t.Context(), "uF3bx_1-a", []byte(call)); err != nil {
		t.Fatal(err)
	}
	mac := hmac.New(sha256.New, []byte(secret))
	io.WriteString(mac, a.body[0])
	r := a.all[0]
	for name, want := range map[string]string{
		"Content-Type": "application/json", "User-Agent": "waybill", "Idempotency-Key": `"uF3bx_1-a"`,
		"Waybill-Signature": fmt.Sprintf("sha256=%x", mac.Sum(nil)),
	} {
		if got := r.Header[name]; len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if r.Method != http.MethodPost || r.RequestURI != "/hook"+query || a.body[0] != call ||
		r.ContentLength != int64(len(call)) {
		t.Errorf("%s %s %q", r.Method, r.RequestURI, a.body[0])
	}
	if err := p.Post(t.Context(), `"\`, nil); err != nil ||
		a.all[1].Header.Get("Idempotency-Key") != `"\"\\"` {
		t.Errorf("%v: %q", err, a.all[1].Header)
	}
}

func TestStatusesTellWhetherAskingAgainIsOfUse(t *testing.T) {
	for status, want := range map[int]string{
		200: "", 201: "", 202: "", 204: "", 299: "", 400: "refused", 401: "refused", 403: "refused",
		404: "refused", 409: "refused", 410: "refused", 413: "refused", 422: "refused", 499: "refused",
		304: "may pass", 408: "may pass", 425: "may pass", 429: "may pass", 500: "may pass", 501: "may pass",
		502: "may pass", 503: "may pass", 504: "may pass", 599: "may pass", 600: "may pass",
	} {
		url, a := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, call+secret+r.RequestURI)
		})
		err := peer(t, url+query, 0).Post(t.Context(), "uF3bx", []byte(call))
		if want != "" {
			wantPostError(t, fmt.Sprint(status), err, want == "refused", fmt.Sprint(": ", status))
		} else if err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if n, _ := a.times(); n != 1 {
			t.Errorf("%d: asked %d times", status, n)
		}
	}
}

// RFC 9110, §10.2.3: seconds, or an instant.
func TestAPeerMayAskToWait(t *testing.T) {
	for said, want := range map[string]time.Duration{
		"":                        0,
		"7":                       7 * time.Second,
		"-7":                      0,
		"soon":                    0,
		"2147483648":              math.MaxInt32 * time.Second, // no more than that is understood
		"99999999999999999999999": math.MaxInt32 * time.Second,
		time.Now().Add(time.Hour).UTC().Format(http.TimeFormat):  time.Hour,
		time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat): 0,
	} {
		url, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", said)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		got := RetryAfter(peer(t, url, 0).Post(t.Context(), "1", nil))
		if got.Round(time.Minute) != want.Round(time.Minute) || want < time.Minute && got != want {
			t.Errorf("%q: %s, want %s", said, got, want)
		}
	}
	if got := RetryAfter(errors.New("no answer")); got != 0 {
		t.Error(got)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		target, seen := serve(t, func(http.ResponseWriter, *http.Request) {})
		url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target+"/token", status)
		})
		wantPostError(t, "redirect", peer(t, url+query, 0).Post(t.Context(), "1", []byte(call)), false,
			fmt.Sprint(": ", status))
		if n, _ := seen.times(); n != 0 {
			t.Errorf("%d: the target was asked", status)
		}
	}
}

// The address 0.0.0.0 is this machine's, and none that a proxy would be spared for.
func TestTheEnvironmentsProxyIsIgnored(t *testing.T) {
	url, a := serve(t, func(http.ResponseWriter, *http.Request) {})
	url = strings.Replace(url, "127.0.0.1", "0.0.0.0", 1)
	proxy, err := http.ProxyFromEnvironment(httptest.NewRequest(http.MethodPost, url, nil))
	if proxy == nil || err != nil {
		t.Errorf("there is no proxy to ignore: %v", err)
	}
	if err := peer(t, url, 0).Post(t.Context(), "1", []byte(call)); err != nil || len(a.all) != 1 {
		t.Error(err)
	}
}

func TestAConnectionIsUsedAgain(t *testing.T) {
	for size, conns := range map[int]int{0: 1, 100: 1, maxAnswer: 1, 64 * maxAnswer: 4} {
		// what is larger is not read to its end
		for _, chunked := range []bool{false, true} {
			url, a := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if chunked {
					w.(http.Flusher).Flush()
				}
				w.Write(make([]byte, size))
			})
			p := peer(t, url, 0)
			for range 4 {
				if err := p.Post(t.Context(), "1", []byte(call)); err != nil {
					t.Error(err)
				}
			}
			if requests, n := a.times(); n != conns || requests != 4 {
				t.Errorf("%d calls by %d connections with answers of %d bytes, want 4 by %d", requests, n,
					size, conns)
			}
		}
	}
}

// An answer has come when its status has.
func TestAnAnswerCutOffIsAnAnswer(t *testing.T) {
	for status, want := range map[int]error{200: nil, 404: ErrRefused} {
		url, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5000")
			w.WriteHeader(status)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		if err := peer(t, url, 0).Post(t.Context(), "1", []byte(call)); !errors.Is(err, want) {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// hangUp ends a connection without an answer.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// A call that got no answer is not made again here: whoever counts attempts would be wrong.
func TestACallIsMadeOnce(t *testing.T) {
	url, a := serve(t, hangUp)
	wantPostError(t, "at first", peer(t, url+query, 0).Post(t.Context(), "1", []byte(call)), false,
		"no answer")
	if n, _ := a.times(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	good := true
	url, a = serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !good {
			hangUp(w, r)
		}
	})
	p := peer(t, url+query, 0)
	if err := p.Post(t.Context(), "1", []byte(call)); err != nil {
		t.Fatal(err)
	}
	good = false
	wantPostError(t, "by a connection used before", p.Post(t.Context(), "2", []byte(call)), false, "")
	if n, conns := a.times(); n != 2 || conns != 1 {
		t.Errorf("asked %d times by %d connections", n, conns)
	}
}

func TestAPeerThatNeverAnswersIsLeft(t *testing.T) {
	url, a := serve(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	err := peer(t, url+query, 20*time.Millisecond).Post(t.Context(), "1", []byte(call))
	if wantPostError(t, "timeout", err, false, "deadline exceeded"); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	url, _ = serve(t, func(w http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if err = peer(t, url+query, 0).Post(ctx, "1", []byte(call)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n, _ := a.times(); n > 1 {
		t.Errorf("asked %d times", n)
	}
}

// raw returns the URL of a server that reads a request and says what it is told, be it HTTP or not.
func raw(t testing.TB, answer string) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { ln.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
				body, _ := io.ReadAll(r.Body)
				io.WriteString(conn, strings.ReplaceAll(answer, "ECHO", string(body)))
				io.Copy(io.Discard, conn) // until the client goes
			}
			conn.Close()
		}
	})
	return "http://" + ln.Addr().String()
}

func TestWhatIsNoAnswerIsNotQuoted(t *testing.T) {
	long := strings.Repeat("X-Ticket: uF3bx\r\n", maxAnswer/10)
	for what, answer := range map[string]string{
		"echo":      "ECHO\r\n\r\n",
		"status":    "HTTP/1.1 ECHO hush\r\n\r\n",
		"header":    "HTTP/1.1 200 OK\r\nECHO hush\r\n\r\n",
		"length":    "HTTP/1.1 200 OK\r\nContent-Length: ECHO\r\n\r\n",
		"long":      "HTTP/1.1 200 OK\r\n" + long + "\r\n",
		"switching": "HTTP/1.1 101 ECHO\r\nConnection: upgrade\r\nUpgrade: token\r\n\r\nECHO",
	} {
		wantPostError(t, what, peer(t, raw(t, answer)+query, time.Minute).Post(t.Context(), "1",
			[]byte(call)), false, "")
	}
	wantPostError(t, "reason", peer(t, raw(t, "HTTP/1.1 404 ECHO hush\r\nContent-Length: 0\r\n\r\n")+query,
		0).Post(t.Context(), "1", []byte(call)), true, ": 404: ")
}

func TestAPeerThatCannotBeReached(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	wantPostError(t, "closed", peer(t, "http://"+ln.Addr().String()+query, 0).Post(t.Context(), "1",
		[]byte(call)), false, "connection refused")
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = nil
	s.StartTLS()
	defer s.Close()
	wantPostError(t, "unknown authority", peer(t, s.URL+query, 0).Post(t.Context(), "1", []byte(call)), false,
		"certificate")
	wantPostError(t, "no TLS", peer(t, strings.Replace(raw(t, ""), "http:", "https:", 1)+query,
		time.Second).Post(t.Context(), "1", []byte(call)), false, "")
}

func TestAnAddressIsChecked(t *testing.T) {
	for _, good := range []string{"http://example.com", "https://example.com:8443/a/b?c=d",
		"HTTPS://[::1]:8443/", "http://127.0.0.1:1/%20"} {
		if p, err := NewPeer(good, nil, 0); err != nil || p.timeout != 5*time.Second {
			t.Errorf("%s: %v", good, err)
		}
		if p, err := NewPeer(good, nil, 7*time.Second); err != nil || p.timeout != 7*time.Second {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{"", "example.com", "example.com:80/hush", "//example.com/hush", "/hush",
		"ftp://example.com/hush", "http:/hush", "http:hush", "http://", "http:///hush", "http://:80/hush",
		"http://user@example.com", "https://user:hush@example.com/", "https://@example.com/hush",
		"https://example.com/#", "https://example.com/#hush", "http://exa mple.com/hush",
		"http://example.com:port/hush", "http://example.com/hush\n", "http://[::1/hush"} {
		if p, err := NewPeer(bad, nil, 0); p != nil || err == nil ||
			!strings.HasPrefix(err.Error(), "outbound: address: must be an absolute http or https URL") ||
			strings.Contains(err.Error(), "hush") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
