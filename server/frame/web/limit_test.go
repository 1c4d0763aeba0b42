package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// However many call, no more than so many buckets are remembered: who comes beyond shares one, until others
// are full.
func TestBucketsOfCallersAreBounded(t *testing.T) {
	l := newLimiter(Rate{PerSecond: 1, Burst: 2})
	now := time.Now()
	for i := range manyCallers + 2 {
		if _, wait := l.take(fmt.Sprint("caller ", i), now); wait > 0 {
			t.Fatalf("caller %d waits %s", i, wait)
		}
	}
	if _, wait := l.take("one more", now); wait != time.Second || len(l.full) != manyCallers+1 {
		t.Errorf("one more waits %s; %d are remembered", wait, len(l.full))
	}
	if _, wait := l.take("caller 1", now); wait != 0 {
		t.Errorf("who was there before waits %s", wait)
	}
	now = now.Add(time.Second)
	if _, wait := l.take("one more", now); wait != 0 || len(l.full) != 3 {
		// itself, caller 1, and what is shared
		t.Errorf("one more waits %s; %d are remembered after a second", wait, len(l.full))
	}
}

// A request costs 1, and 1 more for each whole 50,000 bytes of its answer's body, which are taken off once it
// was answered. While the allowance is below 1 it is 429; it grows by the rate from where it is, also from
// below nothing. Nobody else pays for that.
func TestALargeAnswerCostsMoreThanOneRequest(t *testing.T) {
	const slow = time.Minute // the allowance grows meanwhile, to 4 at most
	for _, c := range []struct {
		bytes int
		took  time.Duration
		wait  time.Duration // until there is one again
		left  int           // of 4, in requests, after that
	}{
		{0, 0, 0, 3},
		{49_999, 0, 0, 3},
		{50_000, 0, 0, 2},
		{99_999, 0, 0, 2},
		{100_000, 0, 0, 1},
		{150_000, 0, 500 * time.Millisecond, 1},
		{698_000, 0, 5500 * time.Millisecond, 1}, // 14 of 4: it is 10 below nothing
		{0, slow, 0, 4},
		{100_000, slow, 0, 2},
		{698_000, slow, 5 * time.Second, 1},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			t.Run(fmt.Sprint(method, c), func(t *testing.T) {
				now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
				s := NewCore(Config{
					Rate: Rate{PerSecond: 2, Burst: 4},
					Now:  func() time.Time { return now },
				})
				isAllowed := func(address string, answer Handler) bool {
					r := httptest.NewRequest(method, "/v2/offers/schedule", nil)
					r.RemoteAddr = address
					w := &Recorder{ResponseWriter: httptest.NewRecorder()}
					s.Public(answer)(w, r)
					return w.Status != http.StatusTooManyRequests
				}
				nothing := func(http.ResponseWriter, *http.Request) error { return nil }
				isAllowed("192.0.2.1:1", func(w http.ResponseWriter, _ *http.Request) error {
					now = now.Add(c.took)
					_, err := w.Write(make([]byte, c.bytes))
					return err
				})
				if c.wait > 0 {
					now = now.Add(c.wait - 1)
					if isAllowed("192.0.2.1:1", nothing) {
						t.Errorf("the next is allowed before %s", c.wait)
					}
					now = now.Add(1)
				}
				left := 0
				for isAllowed("192.0.2.1:1", nothing) {
					left++
				}
				if left != c.left {
					t.Errorf("%d are left, want %d", left, c.left)
				}
				if !isAllowed("192.0.2.2:1", nothing) {
					t.Error("another address pays for it")
				}
			})
		}
	}
}
