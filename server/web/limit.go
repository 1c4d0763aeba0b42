package web

import (
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"waybill/auth"
	"waybill/server/ledger"
)

// Rate is how many requests a second a partner may make, or an address from which no valid key is shown, and
// how many at once after a pause. The zero Rate is no limit.
type Rate struct{ PerSecond, Burst int }

// Unlimited are the paths that whoever watches a server calls.
var Unlimited = []string{"/livez", "/readyz", "/healthz", "/metrics"}

// limit takes a token of who calls; its error is a 429.
func (s *Core) limit(r *http.Request) error {
	if s.Config.Rate == (Rate{}) || slices.Contains(Unlimited, r.URL.Path) {
		return nil
	}
	var p *auth.Partner
	now := s.Config.Now()
	key := APIKey(r)
	if key != "" || s.Config.TestClock {
		hash := auth.HashOf(key)
		s.Store.Glance(func(st *ledger.State, at time.Time) {
			p = ByKey(st, hash, at)
			if s.Config.TestClock {
				now = at // whoever moves the clock fills the buckets
			}
		})
	}
	l := s.addresses
	who := Address(r)
	if p != nil {
		l = s.partners
		who = string(p.ID[:])
	}
	wait := l.take(who, now)
	if wait > 0 {
		return TooMany(wait)
	}
	return nil
}

// Limiter is a bucket of tokens for each who calls, kept in memory only.
type Limiter struct {
	every, most time.Duration // until there is one token, and until an empty bucket is full

	mu    sync.Mutex
	full  map[string]time.Time // when the bucket is full; one that is not there is
	swept time.Time
}

// manyCallers is how many buckets are remembered; who comes beyond shares one.
const manyCallers = 1 << 16

// NewLimiter returns a limiter that nobody has called.
func NewLimiter(r Rate) *Limiter {
	every := time.Second / time.Duration(max(r.PerSecond, 1))
	return &Limiter{
		every: every,
		most:  every * time.Duration(r.Burst),
		full:  map[string]time.Time{},
	}
}

// take takes a token, or returns how long it is until there is one.
func (l *Limiter) take(who string, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.full[who]
	if !known && len(l.full) >= manyCallers {
		if now.Sub(l.swept) >= time.Second { // looking through all of them takes a millisecond
			l.swept = now
			maps.DeleteFunc(l.full, func(_ string, full time.Time) bool {
				return !full.After(now)
			})
		}
		if len(l.full) >= manyCallers {
			who = ""
		}
	}
	after := l.every
	if full := l.full[who]; full.After(now) {
		after += full.Sub(now)
	}
	if after > l.most {
		return after - l.most
	}
	l.full[who] = now.Add(after)
	return 0
}

// TooMany is a 429 that says when to try again.
func TooMany(wait time.Duration) *Failure {
	return FailLater(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "too many attempts", wait)
}
