package auth

import (
	"bytes"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func sign(r *Ring, payload string) string { return string(r.Sign(nil, append([]byte{0}, payload...))) }

// Decision tokens.bound: one string per token; any changed character is malformed.
func TestAnyChangedCharacterIsMalformed(t *testing.T) {
	ring := NewRing([]SigningKey{NewSigningKey(rand.Reader, 0)})
	for n := range 6 {
		token := sign(ring, strings.Repeat("x", n))
		if got, err := ring.Open(token); err != nil || string(got[1:]) != strings.Repeat("x", n) {
			t.Fatalf("%q: %q, %v", token, got, err)
		}
		for i := range len(token) {
			for c := range 256 {
				changed := token[:i] + string(rune(c)) + token[i+1:]
				if byte(c) == token[i] && c < 128 {
					continue
				}
				if _, err := ring.Open(changed); !errors.Is(err, ErrMalformed) {
					t.Fatalf("character %d of %q may be %q: %v", i, token, rune(c), err)
				}
			}
			for _, other := range []string{token[:i], token[:i] + "\n" + token[i:], token[:i] + token[i+1:],
				token[:i] + "=" + token[i:]} {
				if _, err := ring.Open(other); !errors.Is(err, ErrMalformed) {
					t.Fatalf("%q is as good as %q: %v", other, token, err)
				}
			}
		}
		for _, other := range []string{token + "=", token + "A", token + "\r\n",
			strings.Repeat("A", MaxToken+4)} {
			if _, err := ring.Open(other); !errors.Is(err, ErrMalformed) {
				t.Fatalf("%q: %v", other, err)
			}
		}
	}
}

// Decision partners.keys: the key rotates without breaking tokens still alive.
func TestRotationKeepsTokensThatAreAlive(t *testing.T) {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	first := NewRing([]SigningKey{NewSigningKey(rand.Reader, 0)})
	token := sign(first, "payload")
	second := first.Rotated(rand.Reader, at, at.Add(-20*time.Minute))
	third := second.Rotated(rand.Reader, at.Add(20*time.Minute), at)
	fourth := third.Rotated(rand.Reader, at.Add(20*time.Minute+1), at.Add(1))
	for i, r := range []*Ring{second, third} {
		if _, err := r.Open(token); err != nil {
			t.Errorf("ring %d: %v", i+2, err)
		}
		if _, err := first.Open(sign(r, "payload")); err == nil {
			t.Errorf("ring %d signs with the old key", i+2)
		}
	}
	if _, err := fourth.Open(token); err == nil {
		t.Error("a key is kept after its last token has expired")
	}
	read, err := ParseSigningKeys(FormatSigningKeys(third.Keys()))
	if err != nil || !slices.Equal(read, third.Keys()) {
		t.Errorf("%v", err)
	}
}

func FuzzOpen(f *testing.F) {
	ring := NewRing([]SigningKey{{ID: 1}})
	f.Add(sign(ring, "payload"))
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, token string) {
		payload, err := ring.Open(token)
		if err != nil {
			return
		}
		if again := string(ring.Sign(nil, bytes.Clone(payload))); again != token {
			t.Fatalf("%q and %q are the same token", token, again)
		}
	})
}

func BenchmarkSign(b *testing.B) {
	ring := NewRing([]SigningKey{NewSigningKey(rand.Reader, 0)})
	payload := make([]byte, 80, 160)
	dst := make([]byte, 0, 256)
	b.ReportAllocs()
	for b.Loop() {
		ring.Sign(dst, payload[:60])
	}
}

func BenchmarkOpen(b *testing.B) {
	ring := NewRing([]SigningKey{NewSigningKey(rand.Reader, 0)})
	token := sign(ring, strings.Repeat("x", 60))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ring.Open(token); err != nil {
			b.Fatal(err)
		}
	}
}
