package company_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"waybill/auth"
	"waybill/auth/oidc"
	"waybill/server"
	"waybill/server/lab/rig"
	"waybill/server/operate/admin"
)

// issuer is an identity provider on loopback, which publishes its key.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	key     *ecdsa.PrivateKey
	kid     string
	fetched int
}

func newIssuer(t *testing.T) *issuer {
	p := new(issuer)
	p.rotate(t, "first")
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetched++
		raw, err := p.key.PublicKey.Bytes()
		if err != nil {
			t.Error(err)
		}
		b64 := base64.RawURLEncoding.EncodeToString
		fmt.Fprintf(w,
			`{"keys":[{"kty":"EC","crv":"P-256","use":"sig","alg":"ES256","kid":%q,"x":%q,"y":%q}]}`, p.kid,
			b64(raw[1:33]), b64(raw[33:]))
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *issuer) rotate(t *testing.T, kid string) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
	p.kid = kid
}

// token signs the usual claims with others laid over them.
func (p *issuer) token(t *testing.T, now time.Time, more map[string]any) string {
	claims := map[string]any{
		"iss": "https://sso.example.com/",
		"aud": "waybill",
		"sub": "1",
		"iat": now.Unix(),
		"exp": now.Unix() + 300,
	}
	maps.Copy(claims, more)
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	signed := b64(fmt.Appendf(nil, `{"alg":"ES256","kid":%q}`, p.kid)) + "." + b64(text)
	sum := sha256.Sum256([]byte(signed))
	r, s, err := ecdsa.Sign(rand.Reader, p.key, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + b64(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

func addUsers(t *testing.T, s *server.Server, emails ...string) {
	t.Helper()
	for _, email := range emails {
		p := auth.Person{Email: email, FirstName: "A", LastName: "B"}
		rig.AddUser(t, s, admin.Self(), p, "correct horse", "zorevia-lines", "ADMIN")
	}
}

// linkByHand links a user to a subject, as waybill user add -idp-subject does.
func linkByHand(s *server.Server, email, subject string) error {
	form := map[string][]string{
		"email":       {email},
		"company":     {"zorevia-lines"},
		"role":        {"ADMIN"},
		"idp-subject": {subject},
	}
	return s.Admin.Do("user-add", &admin.Act{By: admin.Self(), Form: form, Out: new(bytes.Buffer)})
}

// Decision idtoken.checked: a real provider by its issuer, audience and key set; users are linked at first
// login.
func TestSignInWithAProvider(t *testing.T) {
	p := newIssuer(t)
	var logged bytes.Buffer
	log := slog.New(slog.NewTextHandler(&logged, nil))
	now := rig.Start
	client, err := oidc.New(oidc.Config{
		Provider: oidc.Provider{Issuer: "https://sso.example.com/", Audience: "waybill"},
		JWKS:     p.URL + "/keys", Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := server.Open(server.Config{Dir: t.TempDir(), IDP: client, SecureCookies: true, Log: log,
		Now: func() time.Time {
			return now
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	rig.ImportDemo(t, s)
	addUsers(t, s, "anna@example.com", "bohdan@example.com")
	login := func(name string, want int, more map[string]any) {
		t.Helper()
		w := httptest.NewRecorder()
		token := p.token(t, now, more)
		s.ServeHTTP(w, httptest.NewRequest("POST", "/v2/auth/idp/login",
			strings.NewReader(`{"idToken":"`+token+`"}`)))
		if w.Code != want {
			t.Errorf("%s: %d, want %d: %s", name, w.Code, want, w.Body)
		}
		cookies := fmt.Sprint(w.Header()["Set-Cookie"])
		if want == 200 && strings.Count(cookies, "; HttpOnly; Secure; SameSite=Lax") != 2 {
			t.Errorf("%s: cookies %s", name, cookies)
		}
		if strings.Contains(logged.String(), token[strings.LastIndex(token, "."):]) {
			t.Errorf("%s: the log shows the token", name)
		}
	}
	anna := map[string]any{"email": "anna@example.com", "email_verified": true}
	login("not linked, no e-mail", 401, nil)
	login("not verified", 401, map[string]any{"email": "anna@example.com", "email_verified": false})
	login("first login", 200, anna)
	login("linked, the e-mail is another's now", 200, map[string]any{
		"email":          "bohdan@example.com",
		"email_verified": true,
	})
	login("linked, no e-mail", 200, nil)
	login("another subject with a linked user's e-mail", 401, map[string]any{
		"sub":            "2",
		"email":          "anna@example.com",
		"email_verified": true,
	})
	login("a subject that nobody is linked to, without an e-mail", 401, map[string]any{"sub": "bohdan-1"})
	if err := linkByHand(s, "bohdan@example.com", "bohdan-1"); err != nil {
		t.Fatal(err)
	}
	login("linked by hand, without an e-mail", 200, map[string]any{"sub": "bohdan-1"})
	if err := linkByHand(s, "anna@example.com", "bohdan-1"); !errors.Is(err, auth.ErrLinked) {
		t.Errorf("a subject is linked to two users: %v", err)
	}
	if err := linkByHand(s, "bohdan@example.com", "bohdan-2"); err != nil {
		t.Fatal(err)
	}
	login("the former subject, once another is linked by hand", 401, map[string]any{"sub": "bohdan-1"})
	login("the latter", 200, map[string]any{"sub": "bohdan-2"})
	p.rotate(t, "second")
	login("rotated a moment after a fetch", 401, anna)
	now = now.Add(10 * time.Second)
	login("rotated", 200, anna)
	p.Close()
	now = now.Add(time.Hour)
	login("the provider is down", 200, anna)
	if p.fetched != 2 || !strings.Contains(logged.String(), "cannot be fetched") {
		t.Errorf("%d fetches; %s", p.fetched, &logged)
	}
	if err := s.Admin.Do("idtoken", &admin.Act{
		Form: map[string][]string{"email": {"anna@example.com"}},
		Out:  &logged,
	}); err == nil {
		t.Error("the development provider mints tokens beside another")
	}
}
