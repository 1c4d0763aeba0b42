package idp_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"waybill/auth"
	"waybill/server/idp"
)

// Contract §9: the provider is asked of a user only where the token has no e-mail, with that token, and what it says counts only of the same subject.
func TestUserInfoIsAskedOnlyWhereTheTokenHasNoEmail(t *testing.T) {
	for name, c := range map[string]struct {
		claims   string
		answer   http.HandlerFunc
		claim    string // that holds the e-mail
		email    string
		verified bool
		asked    int
	}{
		"the token has one":              {anna, answers(200, `{"sub":"subject-1","email":"boss@example.com","email_verified":true}`), "", "anna@example.com", true, 0},
		"the token's is not verified":    {`,"email":"anna@example.com"`, answers(200, `{"sub":"subject-1","email":"anna@example.com","email_verified":true}`), "", "anna@example.com", false, 0},
		"the token has none":             {"", answers(200, `{"sub":"subject-1","email":"anna@example.com","email_verified":true}`), "", "anna@example.com", true, 1},
		"the answer's is not verified":   {"", answers(200, `{"sub":"subject-1","email":"anna@example.com","email_verified":"true"}`), "", "anna@example.com", false, 1},
		"verified is the token's word":   {`,"email_verified":true`, answers(200, `{"sub":"subject-1","email":"anna@example.com"}`), "", "anna@example.com", false, 1},
		"another subject":                {"", answers(200, `{"sub":"subject-2","email":"anna@example.com","email_verified":true}`), "", "", false, 1},
		"no subject":                     {"", answers(200, `{"email":"anna@example.com","email_verified":true}`), "", "", false, 1},
		"an error":                       {"", answers(401, `{"sub":"subject-1","email":"anna@example.com","email_verified":true}`), "", "", false, 1},
		"garbage":                        {"", answers(200, `<html>`), "", "", false, 1},
		"too much":                       {"", answers(200, `{"sub":"subject-1","email":"anna@example.com","email_verified":true}`+strings.Repeat(" ", 1<<20)), "", "", false, 1},
		"another claim, in the token":    {anna + `,"upn":"boss@example.com"`, answers(500, ""), "upn", "boss@example.com", true, 0},
		"another claim, in the answer":   {anna, answers(200, `{"sub":"subject-1","email":"anna@example.com","upn":"boss@example.com","email_verified":true}`), "upn", "boss@example.com", true, 1},
		"another claim, that nobody has": {anna, answers(200, `{"sub":"subject-1","email":"anna@example.com","email_verified":true}`), "upn", "", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t, "a")
			p.userinfo = c.answer
			shown := token('a', c.claims)
			who, err := client(t, p, func(cfg *idp.Config) { cfg.UserInfo, cfg.EmailClaim = p.URL+"/userinfo", c.claim }).Verify(t.Context(), shown, noon)
			if err != nil {
				t.Fatal(err)
			}
			if who.Email != c.email || who.Email != "" && who.EmailVerified != c.verified || who.Subject != "subject-1" || p.count("/userinfo") != c.asked {
				t.Errorf("%+v, asked %d times", who, p.count("/userinfo"))
			}
			for _, r := range p.asked {
				if r.URL.Path == "/userinfo" && r.Header.Get("Authorization") != "Bearer "+shown {
					t.Errorf("asked with %q", r.Header.Get("Authorization"))
				}
			}
		})
	}
}

// Contract §9: a token that is not good is shown to nobody else.
func TestUserInfoIsNotAskedForABadToken(t *testing.T) {
	p := newProvider(t, "a")
	p.userinfo = answers(200, `{"sub":"subject-1","email":"anna@example.com","email_verified":true}`)
	c := client(t, p, func(cfg *idp.Config) { cfg.UserInfo = p.URL + "/userinfo" })
	for name, bad := range map[string]string{"expired": token('a', `,"nbf":1e12`), "unknown key": token('b', ""), "no token": "x", "forged": token('a', "") + "A"} {
		if who, err := c.Verify(t.Context(), bad, noon); !errors.Is(err, auth.ErrCredentials) || who != nil {
			t.Errorf("%s: %+v, %v", name, who, err)
		}
	}
	if p.count("/userinfo") != 0 {
		t.Error("it is asked")
	}
	// Without the flag nobody is asked, and the user is the one who is linked, or none.
	if who, err := client(t, p, nil).Verify(t.Context(), token('a', ""), noon); err != nil || who.Email != "" || p.count("/userinfo") != 0 {
		t.Errorf("%+v, %v", who, err)
	}
}

// Contract §9: a login that is given up does not spoil the fetch of keys for the others.
func TestALoginThatIsGivenUpStillFetchesKeys(t *testing.T) {
	p := newProvider(t, "a")
	c := client(t, p, nil)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	c.Verify(gone, token('a', anna), noon)
	p.walk(t, c, "the next", step{time.Second, 'a', true, 1})
}

// Contract §9: a provider is named whole, by addresses that can be asked.
func TestBadConfigurationsAreRefused(t *testing.T) {
	whole := idp.Config{Provider: auth.Provider{Issuer: "i", Audience: "a"}, JWKS: "https://idp.example/keys", Log: slog.New(slog.DiscardHandler)}
	for name, change := range map[string]func(*idp.Config){
		"no issuer": func(c *idp.Config) { c.Issuer = "" }, "no audience": func(c *idp.Config) { c.Audience = "" }, "no keys": func(c *idp.Config) { c.JWKS = "" },
		"another scheme": func(c *idp.Config) { c.JWKS = "ftp://idp.example/keys" }, "a file URL": func(c *idp.Config) { c.JWKS = "file:///etc/passwd" }, "a host is missing": func(c *idp.Config) { c.JWKS = "https:///keys" },
		"no scheme": func(c *idp.Config) { c.JWKS = "://idp.example" }, "a bad escape": func(c *idp.Config) { c.JWKS = "https://idp.example/%zz" }, "a bad port": func(c *idp.Config) { c.JWKS = "https://idp.example:x/keys" },
		"a space in the host": func(c *idp.Config) { c.JWKS = "https://idp example/" }, "userinfo of another scheme": func(c *idp.Config) { c.UserInfo = "gopher://idp.example" }, "userinfo without host": func(c *idp.Config) { c.UserInfo = "http://" },
	} {
		cfg := whole
		change(&cfg)
		if c, err := idp.New(cfg); err == nil || c != nil {
			t.Errorf("%s: taken", name)
		}
	}
	for _, jwks := range []string{"https://idp.example/keys", "HTTP://127.0.0.1:1/", "keys.json", "/etc/waybill/keys.json", "https://[::1]:8443/keys?x=1"} {
		cfg := whole
		cfg.JWKS = jwks
		if _, err := idp.New(cfg); err != nil {
			t.Error(err)
		}
	}
}

// Contract §9: without an identity provider the built-in one is trusted, which asks nobody.
func TestTheDevelopmentProviderPublishesNothing(t *testing.T) {
	c := idp.Development(auth.DevelopmentKeys(key('m').Public().(ed25519.PublicKey)))
	for name, by := range map[byte]bool{'m': true, 'o': false} {
		for range 2 {
			who, err := c.Verify(t.Context(), auth.Mint(key(name), "anna@example.com", noon), noon)
			if (err == nil) != by || err != nil && !errors.Is(err, auth.ErrCredentials) || err == nil && who.Email != "anna@example.com" {
				t.Errorf("by %c: %+v, %v", name, who, err)
			}
		}
	}
	if _, err := c.Verify(t.Context(), token('m', anna), noon); !errors.Is(err, auth.ErrCredentials) {
		t.Errorf("a token of another issuer: %v", err)
	}
}
