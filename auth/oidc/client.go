// Package oidc verifies the ID tokens of one identity provider (OpenID Connect Core; decision
// idtoken.checked).
//
// A [KeySet] is what a provider publishes to have its tokens verified. A [Client] fetches it, from a file or
// a URL and only from there, and keeps it fresh:
//
//	provider := oidc.Provider{Issuer: "https://…", Audience: "waybill"}
//	c, err := oidc.New(oidc.Config{Provider: provider, JWKS: "https://…"})
//	who, err := c.Verify(ctx, token, time.Now())
//
// Package auth decides who the user is that a provider vouches for.
package oidc

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"waybill/auth"
)

const (
	timeout   = 5 * time.Second  // of a fetch
	maxAnswer = 1 << 20          // bytes
	floor     = 10 * time.Second // between fetches
	maxAge    = 10 * time.Minute // of keys, while the provider answers
	retry     = time.Minute      // after which old keys that could not be had anew are fetched again
)

// Config names an identity provider (decision idtoken.checked).
type Config struct {
	Provider
	JWKS string // file or http(s) URL of its key set
	Log  *slog.Logger
}

// Client verifies the ID tokens of one provider.
type Client struct {
	cfg  Config
	http http.Client
	keys atomic.Pointer[KeySet] // the last good set; nil before the first

	mu    sync.Mutex   // one fetch at a time
	tried atomic.Int64 // when keys were last fetched, in vain or not: Unix milliseconds
	got   atomic.Int64 // when not in vain
}

// Trusted is the provider whose ID tokens a server takes.
type Trusted struct {
	*Client                    // nil while none is known: a directory that was never served has no key
	Key     ed25519.PrivateKey // of the development provider; nil where another provider is trusted
}

// New makes a client. It fetches nothing yet.
func New(cfg Config) (*Client, error) {
	u, err := url.Parse(cfg.JWKS)
	fetched := strings.Contains(cfg.JWKS, "://") // else it is a file
	if fetched && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("idp: %q is not an http or https URL", cfg.JWKS)
	}
	if cfg.Issuer == "" || cfg.Audience == "" || cfg.JWKS == "" {
		return nil, errors.New("idp: issuer, audience and key set must all be given")
	}
	// Redirects are not followed: an answer comes from the address that was given, or not at all.
	stay := func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}
	// No Proxy: the environment must not lead a call elsewhere, either.
	transport := &http.Transport{ForceAttemptHTTP2: true}
	return &Client{
		cfg:  cfg,
		http: http.Client{Timeout: timeout, CheckRedirect: stay, Transport: transport},
	}, nil
}

// CheckFile reads the key set where it is a file, so that a wrong one is told at a start and not by the first
// sign-in. Nil has none.
func (c *Client) CheckFile() error {
	if c == nil || strings.Contains(c.cfg.JWKS, "://") {
		return nil
	}
	text, err := c.get(context.Background(), c.cfg.JWKS)
	if err == nil {
		_, err = parseKeySet(text)
	}
	return err
}

// NewDevelopment returns a client of the built-in development provider, whose key is given. It fetches
// nothing.
func NewDevelopment(key ed25519.PublicKey) *Client {
	c := &Client{cfg: Config{Provider: Development}}
	c.keys.Store(developmentKeys(key))
	return c
}

// Issuer returns the provider's name, as its ID tokens have it.
func (c *Client) Issuer() string {
	return c.cfg.Issuer
}

// Verify checks an ID token at an instant. Keys are fetched when there are none, when they are old, and when
// the token's is not among them. The error is auth.ErrCredentials.
func (c *Client) Verify(ctx context.Context, token string, now time.Time) (who *auth.Identity, err error) {
	old := since(&c.got, now) >= maxAge && since(&c.tried, now) >= retry
	for _, fetch := range []bool{old, true} {
		if fetch {
			c.fetchKeys(ctx, now)
		}
		err = errUnknownKey
		if keys := c.keys.Load(); keys != nil {
			who, err = keys.Verify(token, c.cfg.Provider, now)
		}
		if !errors.Is(err, errUnknownKey) {
			break
		}
	}
	return who, err
}

// fetchKeys fetches the key set, unless that was tried a moment ago. When it cannot be had, the last good one
// stays.
func (c *Client) fetchKeys(ctx context.Context, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cfg.JWKS == "" || since(&c.tried, now) < floor {
		return
	}
	c.tried.Store(now.UnixMilli())
	text, err := c.get(context.WithoutCancel(ctx), c.cfg.JWKS)
	if err == nil {
		var keys *KeySet
		if keys, err = parseKeySet(text); err == nil {
			c.keys.Store(keys)
			c.got.Store(now.UnixMilli())
		}
	}
	if err != nil {
		what := "the identity provider's keys cannot be fetched; the last good keys stay in use"
		if c.keys.Load() == nil {
			what = "the identity provider's keys cannot be fetched, and there are no earlier ones; " +
				"nobody can sign in"
		}
		c.cfg.Log.Warn(what, "jwks", c.cfg.JWKS, "err", err)
	}
}

// since is how long ago something was, in Unix milliseconds.
func since(then *atomic.Int64, now time.Time) time.Duration {
	return now.Sub(time.UnixMilli(then.Load()))
}

// get reads a file, or what a URL answers.
func (c *Client) get(ctx context.Context, address string) ([]byte, error) {
	if !strings.Contains(address, "://") {
		f, err := auth.Open(address)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return limited(f)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("idp: %s answers %s", address, resp.Status)
	}
	return limited(resp.Body)
}

func limited(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxAnswer+1))
	if err == nil && len(b) > maxAnswer {
		err = fmt.Errorf("idp: more than %d bytes", maxAnswer)
	}
	return b, err
}
