package rig

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// PeerCall is what a peer was sent.
type PeerCall struct {
	ID, signature, Body string
	header              http.Header
}

// Peer is a real HTTP server that answers with what status gives, and keeps what it was sent.
type Peer struct {
	*httptest.Server
	mu    sync.Mutex
	calls []PeerCall
}

// NewPeer starts one. Where status gives 0 it hangs up.
func NewPeer(t *testing.T, status func(n int, body string) int) *Peer {
	p := new(Peer)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		p.mu.Lock()
		h := r.Header
		p.calls = append(p.calls, PeerCall{h.Get("Idempotency-Key"), h.Get("Waybill-Signature"), string(body),
			h})
		n := len(p.calls)
		p.mu.Unlock()
		code := status(n, string(body))
		if code == 0 {
			panic(http.ErrAbortHandler) // hangs up after reading
		}
		w.WriteHeader(code)
	}))
	t.Cleanup(p.Close)
	return p
}

// Sent returns what it was sent so far.
func (p *Peer) Sent() []PeerCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

// Always gives each call the same status.
func Always(code int) func(int, string) int { return func(int, string) int { return code } }

// Signed checks a call's signature with the secret of the directory.
func (c PeerCall) Signed(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "keys/outbound"))
	if err != nil {
		t.Fatal(err)
	}
	secret, _ := hex.DecodeString(strings.TrimSpace(string(text)))
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(c.Body))
	if want := fmt.Sprintf("sha256=%x", mac.Sum(nil)); c.signature != want || len(secret) != 32 {
		t.Errorf("signature %s, want %s", c.signature, want)
	}
}

// Documented checks a call that Waybill has made against what the document says of a webhook.
func (x PeerCall) Documented(t *testing.T, webhook string) {
	t.Helper()
	item := Object(Specification, "webhooks", webhook)
	c := written()
	known := append(slices.Clone(plumbing), "User-Agent")
	for _, p := range Elements(item["parameters"]) {
		p := Resolve(p)
		name := http.CanonicalHeaderKey(p["name"].(string))
		c.Check(p["schema"], webhook, x.header.Get(name), name)
		known = append(known, name)
	}
	for name, values := range x.header {
		if !slices.Contains(known, name) || len(values) != 1 {
			fail(c, "header", "%s is %q", name, values)
		}
	}
	var body any
	if err := json.Unmarshal([]byte(x.Body), &body); err != nil {
		fail(c, "body", "is no JSON: %v", err)
	}
	media := x.header.Get("Content-Type")
	c.Check(Object(item, "post", "requestBody", "content", media)["schema"], webhook, body, "body")
	for _, problem := range c.Problems {
		t.Errorf("%s: not as the document says: %s", webhook, problem)
	}
}
