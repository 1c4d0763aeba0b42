package oidc_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"waybill/auth"
	"waybill/auth/oidc"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// key is an Ed25519 key of the provider's, named by a letter, which decides it.
func key(name byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(name), ed25519.SeedSize)))
}

// keySet is what a provider publishes of keys.
func keySet(names string) string {
	var list []string
	for _, name := range []byte(names) {
		x := base64.RawURLEncoding.EncodeToString(key(name).Public().(ed25519.PublicKey))
		list = append(list, fmt.Sprintf(`{"kty":"OKP","crv":"Ed25519","kid":"%c","x":%q}`, name, x))
	}
	return `{"keys":[` + strings.Join(list, ",") + `]}`
}

// token signs a token by a key, good at noon and for a day; more are claims that are put after the others.
func token(name byte, more string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64(fmt.Appendf(nil, `{"alg":"EdDSA","kid":"%c"}`, name)) + "." +
		b64(fmt.Appendf(nil, `{"iss":"https://oidc.example","aud":"waybill","sub":"subject-1","exp":%d%s}`,
			noon.Add(24*time.Hour).Unix(), more))
	return signed + "." + b64(ed25519.Sign(key(name), []byte(signed)))
}

const anna = `,"email":"anna@example.com","email_verified":true`

// provider is an identity provider on the loopback address.
type provider struct {
	*httptest.Server
	mu    sync.Mutex
	keys  http.HandlerFunc // answers /keys
	asked []*http.Request  // in order
}

// answers returns a handler that answers the same to all.
func answers(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

func newProvider(t testing.TB, names string) *provider {
	t.Helper()
	p := &provider{keys: answers(200, keySet(names))}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.asked = append(p.asked, r)
		answer := map[string]http.HandlerFunc{"/keys": p.keys}[r.URL.Path]
		p.mu.Unlock()
		if answer == nil {
			answer = http.NotFound
		}
		answer(w, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// publishes changes what the provider answers for its keys.
func (p *provider) publishes(h http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = h
}

// count returns how many requests there were for a path.
func (p *provider) count(path string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.asked {
		if r.URL.Path == path {
			n++
		}
	}
	return n
}

// client makes a client of a provider; change may change its configuration.
func client(t testing.TB, p *provider, change func(*oidc.Config)) *oidc.Client {
	t.Helper()
	cfg := oidc.Config{
		Provider: oidc.Provider{Issuer: "https://oidc.example", Audience: "waybill"},
		Log:      slog.New(slog.DiscardHandler),
	}
	if p != nil {
		cfg.JWKS = p.URL + "/keys"
	}
	if change != nil {
		change(&cfg)
	}
	c, err := oidc.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// step is a token that is shown some time after noon.
type step struct {
	after   time.Duration
	key     byte
	good    bool
	fetches int // of the keys, by then
}

// walk shows tokens one after another.
func (p *provider) walk(t *testing.T, c *oidc.Client, when string, steps ...step) {
	t.Helper()
	for i, s := range steps {
		_, err := c.Verify(t.Context(), token(s.key, anna), noon.Add(s.after))
		if (err == nil) != s.good || err != nil && !errors.Is(err, auth.ErrCredentials) {
			t.Errorf("%s, step %d: %v", when, i+1, err)
		}
		if n := p.count("/keys"); n != s.fetches {
			t.Errorf("%s, step %d: %d fetches, want %d", when, i+1, n, s.fetches)
		}
	}
}

const ms = time.Millisecond

// Decision idtoken.checked, -idp-jwks: cached, refetched on rotation; not more often than every 10 s, and
// after 10 minutes anyway.
func TestKeysAreCachedAndFetchedAnewOnRotation(t *testing.T) {
	p := newProvider(t, "a")
	c := client(t, p, nil)
	if p.count("/keys") != 0 {
		t.Error("they are fetched before anybody signs in")
	}
	p.walk(t, c, "before the rotation", step{0, 'a', true, 1}, step{time.Second, 'a', true, 1},
		step{time.Minute, 'a', true, 1}, step{10*time.Minute - ms, 'a', true, 1},
		step{10 * time.Minute, 'a', true, 2}, step{10*time.Minute + ms, 'a', true, 2})
	p.publishes(answers(200, keySet("bc")))
	at := 10 * time.Minute
	p.walk(t, c, "after it", step{at + 10*time.Second - ms, 'b', false, 2},
		step{at + 10*time.Second - ms, 'a', true, 2}, step{at + 10*time.Second, 'b', true, 3},
		step{at + 11*time.Second, 'a', false, 3}, step{at + 11*time.Second, 'c', true, 3},
		step{at + 20*time.Second, 'a', false, 4}, step{at + 29*time.Second, 'z', false, 4},
		step{at + 30*time.Second, 'z', false, 5})
	if r := p.asked[0]; r.Method != http.MethodGet || r.Header.Get("Authorization") != "" {
		t.Errorf("%s with authorization %q", r.Method, r.Header.Get("Authorization"))
	}
}

// Decision idtoken.checked: a token whose signature or claims are bad makes nobody fetch anything.
func TestOnlyAnUnknownKeyMakesKeysBeFetched(t *testing.T) {
	p := newProvider(t, "a")
	c := client(t, p, nil)
	p.walk(t, c, "first", step{0, 'a', true, 1})
	good := token('a', anna)
	for name, bad := range map[string]string{
		"signature":  good[:len(good)-8] + "AAAAAAAA",
		"claims":     token('a', anna+`,"nbf":1e12`),
		"form":       "x",
		"nothing":    "",
		"alg":        "eyJhbGciOiJub25lIn0.e30.",
		"forged key": strings.Replace(good, ".", ".A", 1),
	} {
		_, err := c.Verify(t.Context(), bad, noon.Add(time.Minute))
		if !errors.Is(err, auth.ErrCredentials) || p.count("/keys") != 1 {
			t.Errorf("%s: %v, %d fetches", name, err, p.count("/keys"))
		}
	}
}

// Decision idtoken.checked: while the provider has no good answer, the last good keys stay.
func TestTheLastGoodKeysStayWhileTheProviderFails(t *testing.T) {
	large := strings.TrimSuffix(keySet("b"), "}") + `,"x":"` + strings.Repeat("x", 1<<20) + `"}`
	for name, h := range map[string]http.HandlerFunc{
		"500":            answers(500, keySet("b")),
		"404":            answers(404, keySet("b")),
		"201":            answers(201, keySet("b")),
		"garbage":        answers(200, "<html>maintenance</html>"),
		"nothing":        answers(200, ""),
		"no key":         answers(200, `{"keys":[]}`),
		"keys of no use": answers(200, `{"keys":[{"kty":"oct","kid":"b","k":"AAAA"}]}`),
		"too much":       answers(200, large),
		"cut off":        answers(200, keySet("b")[:40]),
		"two sets":       answers(200, keySet("b")+keySet("b")),
		"less than it says": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "5000")
			fmt.Fprint(w, keySet("b"))
		},
		"hanging up": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		p := newProvider(t, "a")
		c := client(t, p, nil)
		p.walk(t, c, name, step{0, 'a', true, 1})
		p.publishes(h)
		before := p.count("/keys")
		// What failed is tried again soon, not as late as if it had not; but not at each sign-in.
		for _, after := range []time.Duration{10 * time.Minute, 11 * time.Minute} {
			if _, err := c.Verify(t.Context(), token('a', anna), noon.Add(after)); err != nil {
				t.Errorf("%s, after %v: %v", name, after, err)
			}
			now := p.count("/keys")
			if now == before {
				t.Errorf("%s, after %v: no fetch", name, after)
			}
			p.walk(t, c, name, step{after + time.Minute - ms, 'a', true, now})
			before = now
		}
		for i, after := range []time.Duration{12 * time.Minute, 20 * time.Minute, 40 * time.Minute} {
			for _, k := range []byte("ab") {
				_, err := c.Verify(t.Context(), token(k, anna), noon.Add(after))
				if (err == nil) != (k == 'a') {
					t.Errorf("%s, after %v, key %c: %v", name, after, k, err)
				}
			}
			if p.count("/keys") == before {
				t.Errorf("%s: round %d asks no more", name, i+1)
			}
			before = p.count("/keys")
		}
		p.publishes(answers(200, keySet("b")))
		p.walk(t, c, name+", then good", step{time.Hour, 'b', true, before + 1},
			step{time.Hour, 'a', false, before + 1})
	}
}

// Decision idtoken.checked: without keys nobody signs in, and the provider is not asked more than every 10 s.
func TestWithoutKeysNobodySignsIn(t *testing.T) {
	p := newProvider(t, "a")
	p.publishes(answers(503, ""))
	c := client(t, p, nil)
	p.walk(t, c, "down", step{0, 'a', false, 1}, step{10*time.Second - ms, 'a', false, 1},
		step{10 * time.Second, 'a', false, 2})
	p.publishes(answers(200, keySet("a")))
	p.walk(t, c, "up", step{19 * time.Second, 'a', false, 2}, step{20 * time.Second, 'a', true, 3})
	p.Close()
	p.walk(t, c, "gone", step{time.Hour, 'a', true, 3}, step{time.Hour, 'b', false, 3})
}

// Decision idtoken.checked, -idp-jwks: an answer comes from the address that was given, or not at all.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		target := newProvider(t, "a")
		p := newProvider(t, "a")
		p.publishes(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, target.URL+"/keys", status)
		})
		c := client(t, p, func(*oidc.Config) {})
		p.walk(t, c, fmt.Sprint(status), step{0, 'a', false, 1})
		p.publishes(answers(200, keySet("a")))
		if _, err := c.Verify(t.Context(), token('a', ""), noon.Add(time.Minute)); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if len(target.asked) != 0 {
			t.Errorf("%d: the target saw %v", status, target.asked[0].URL)
		}
	}
}

// Decision idtoken.checked, -idp-jwks: a file does as well, and is read again on rotation.
func TestKeysMayBeInAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	c := client(t, nil, func(cfg *oidc.Config) { cfg.JWKS = file })
	show := func(when string, name byte, after time.Duration, good bool) {
		t.Helper()
		if _, err := c.Verify(t.Context(), token(name, anna), noon.Add(after)); (err == nil) != good {
			t.Errorf("%s: %c: %v", when, name, err)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	show("no file", 'a', 0, false)
	write(keySet("a"))
	show("the file, too soon", 'a', 9*time.Second, false)
	show("the file", 'a', 10*time.Second, true)
	write(keySet("b"))
	show("the new file, too soon", 'b', 19*time.Second, false)
	show("the new file", 'b', 20*time.Second, true)
	show("the key that is gone", 'a', 20*time.Second, false)
	write("{")
	show("a file of no use", 'b', time.Hour, true)
	write(keySet("c") + strings.Repeat(" ", 1<<20))
	show("a file too large", 'b', 2*time.Hour, true)
	show("a file too large", 'c', 2*time.Hour, false)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	show("the file removed", 'b', 3*time.Hour, true)
	write(keySet("b") + strings.Repeat(" ", 1<<20-len(keySet("b"))))
	show("a file of the most that is read", 'b', 4*time.Hour, true)
	if err := errors.Join(os.Remove(file), syscall.Mkfifo(file, 0o600)); err != nil {
		t.Fatal(err)
	}
	show("a pipe that nobody writes into", 'b', 5*time.Hour, true)
}

// Decision idtoken.checked: of logins at the same time one fetches the keys, and all have them.
func TestLoginsAtTheSameTimeFetchOnce(t *testing.T) {
	p := newProvider(t, "a")
	c := client(t, p, nil)
	for round, names := range []string{"a", "b", "c"} { // at first, and on each rotation
		p.publishes(answers(200, keySet(names)))
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				_, err := c.Verify(context.Background(), token(names[0], anna),
					noon.Add(time.Duration(round)*10*time.Second))
				if err != nil {
					t.Error(names, err)
				}
			})
		}
		wg.Wait()
		if n := p.count("/keys"); n != round+1 {
			t.Errorf("%d fetches by round %d", n, round+1)
		}
	}
}
