package server

import (
	"maps"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// The limits of password checks (contract §9).
const (
	failureWindow   = 15 * time.Minute
	emailFailures   = 10
	addressFailures = 100
	manyFailing     = 10_000 // e-mails and addresses, from which on those that have waited enough are forgotten
	queuePerCore    = 4      // checks that wait
)

// throttle bounds password checks: how many fail, and how many run at a time. It is kept in memory only.
type throttle struct {
	running chan struct{} // a place per core
	waiting chan struct{}

	mu       sync.Mutex
	failures map[string][]time.Time // by e-mail or address, the oldest first
}

func newThrottle() *throttle {
	cores := runtime.GOMAXPROCS(0)
	return &throttle{running: make(chan struct{}, cores), waiting: make(chan struct{}, cores*(1+queuePerCore)), failures: map[string][]time.Time{}}
}

// try runs a check for an e-mail from an address; the error is errUnauthorized where it fails, or a 429. A check counts
// as failed while it runs, so that many at a time are not more than one after another.
func (t *throttle) try(r *http.Request, email string, now time.Time, check func() bool) error {
	select {
	case t.waiting <- struct{}{}:
		defer func() { <-t.waiting }()
	default:
		return tooMany(time.Second)
	}
	limits := map[string]int{"e-mail " + email: emailFailures, "address " + address(r): addressFailures}
	if wait := t.reserve(limits, now); wait > 0 {
		return tooMany(wait)
	}
	t.running <- struct{}{}
	defer func() { <-t.running }()
	if !check() {
		return errUnauthorized
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range limits { // what was reserved is the youngest
		if list := t.failures[key]; len(list) > 1 {
			t.failures[key] = list[:len(list)-1]
		} else {
			delete(t.failures, key)
		}
	}
	return nil
}

// reserve counts a failure for each key, or tells how long to wait until all their limits allow one.
func (t *throttle) reserve(limits map[string]int, now time.Time) (wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failures) > manyFailing { // hashing bounds how many can fail in the window
		maps.DeleteFunc(t.failures, func(_ string, list []time.Time) bool { return list[len(list)-1].Before(now.Add(-failureWindow)) })
	}
	for key, limit := range limits { // the oldest of as many as are allowed must be over
		if list := t.failures[key]; len(list) >= limit {
			wait = max(wait, list[len(list)-limit].Add(failureWindow).Sub(now))
		}
	}
	if wait == 0 {
		for key := range limits {
			list := t.failures[key]
			t.failures[key] = append(list[max(0, len(list)-addressFailures):], now)
		}
	}
	return wait
}

// address is where a request comes from; of IPv6, the network that one customer has.
func address(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	a, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	if a = a.Unmap(); a.Is6() {
		p, _ := a.WithZone("").Prefix(64)
		return p.String()
	}
	return a.String()
}

// tooMany is a 429 that tells when to try again.
func tooMany(wait time.Duration) *failure {
	f := fail(http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "too many attempts")
	f.retryAfter = strconv.Itoa(int((wait + time.Second - 1) / time.Second))
	return f
}
