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
// how many at once after a pause. A large answer costs more than one, see [BytesAsRequest]. The zero Rate is
// no limit.
type Rate struct{ PerSecond, Burst int }

// Unlimited are the paths that those who watch a server call.
var Unlimited = []string{"/livez", "/readyz", "/healthz", "/metrics"}

// allowance names the bucket that a request takes tokens from. The zero allowance is of a request without a
// limit.
type allowance struct {
	of  *limiter
	who string
}

// limit takes a token of the caller's; its error is a 429.
func (s *Core) limit(r *http.Request) (allowance, error) {
	if s.Config.Rate == (Rate{}) || slices.Contains(Unlimited, r.URL.Path) || s.movesClock(r) {
		return allowance{}, nil
	}
	var p *auth.Partner
	now := s.Config.Now()
	key := APIKey(r)
	if key != "" || s.Config.TestClock {
		hash := auth.HashOf(key)
		s.Store.Glance(func(st ledger.State, at time.Time) {
			p = ByKey(st, hash, at)
			if s.Config.TestClock {
				now = at // moving the clock fills the buckets
			}
		})
	}
	l := s.addresses
	who := Address(r)
	if p != nil {
		l = s.partners
		who = string(p.ID[:])
	}
	who, wait := l.take(who, now)
	if wait > 0 {
		return allowance{}, TooMany(wait)
	}
	return allowance{l, who}, nil
}

// movesClock reports whether a request is of the test clock. On one that stands still the allowances grow by
// nothing else.
func (s *Core) movesClock(r *http.Request) bool {
	return s.Config.TestClock && r.URL.Path == "/test/clock"
}

// charge takes what an answer has cost besides its request. How large it is shows only once it was made: the
// allowance may fall below nothing, and requests are 429 until it has grown again.
func (s *Core) charge(a allowance, answered *Recorder) {
	more := answered.size / BytesAsRequest
	if a.of == nil || more == 0 {
		return
	}
	now := s.Config.Now()
	if s.Config.TestClock {
		s.Store.Glance(func(_ ledger.State, at time.Time) {
			now = at
		})
	}
	a.of.charge(a.who, more, now)
}

// limiter has a bucket of tokens for each caller, in memory only.
type limiter struct {
	every, most time.Duration // until there is one token, and until an empty bucket is full

	mu    sync.Mutex
	full  map[string]time.Time // when the bucket is full; one that is not there is
	swept time.Time
}

// manyCallers is how many buckets are remembered; all further callers share one.
const manyCallers = 1 << 16

// newLimiter returns a limiter that nobody has called.
func newLimiter(r Rate) *limiter {
	every := time.Second / time.Duration(max(r.PerSecond, 1))
	return &limiter{
		every: every,
		most:  every * time.Duration(r.Burst),
		full:  map[string]time.Time{},
	}
}

// take takes a token, or returns how long it is until there is one. bucket is the one that it takes it from.
func (l *limiter) take(who string, now time.Time) (bucket string, wait time.Duration) {
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
		return who, after - l.most
	}
	l.full[who] = now.Add(after)
	return who, 0
}

// charge takes tokens of a bucket, also those that it has not.
func (l *limiter) charge(bucket string, tokens int, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := l.full[bucket]
	if full.Before(now) {
		full = now
	}
	l.full[bucket] = full.Add(time.Duration(tokens) * l.every)
}

// TooMany is a 429 that says when to try again.
func TooMany(wait time.Duration) *Failure {
	return FailLater(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "too many attempts", wait)
}
