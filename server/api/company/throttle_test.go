package company

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"waybill/server/frame/web"
)

func retryAfter(err error) string {
	if f, ok := errors.AsType[*web.Failure](err); ok {
		return f.RetryAfter
	}
	return fmt.Sprint(err)
}

// Decision passwords.failures: 100 failures per address in 15 minutes, whatever the e-mails; successes do not
// count.
func TestAHundredFailuresPerAddress(t *testing.T) {
	th := newThrottle()
	now := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	r := httptest.NewRequest("POST", "/", nil)
	r.RemoteAddr = "[2001:db8:1:2:3::4]:1000"
	try := func(n int, good bool) error {
		err := th.try(r, fmt.Sprint(n), now, func() bool { return good })
		if err == web.ErrUnauthorized && !good {
			return nil
		}
		return err
	}
	for n := range web.AddressFailures {
		if err := errors.Join(try(n, true), try(n, false)); err != nil {
			t.Fatalf("failure %d: %v", n, err)
		}
		now = now.Add(time.Second)
	}
	if err := try(1000, true); retryAfter(err) != "800" {
		t.Errorf("retry after %s, want 800", retryAfter(err))
	}
	r.RemoteAddr = "[2001:db8:1:2:ffff::1]:1000" // the same customer
	if try(1000, true) == nil {
		t.Error("another address of the same network is another's")
	}
	r.RemoteAddr = "[2001:db8:1:3::1]:1000"
	if err := try(1000, true); err != nil {
		t.Errorf("another network: %v", err)
	}
	for _, same := range []string{"192.0.2.1:1", "[::ffff:192.0.2.1]:2"} {
		if r.RemoteAddr = same; web.Address(r) != "192.0.2.1" {
			t.Errorf("%s is %s", same, web.Address(r))
		}
	}
}

// Decisions passwords.queue, places.half: one check runs per core, and of an address half of them. Those that
// wait for 5 s are 503.
func TestPasswordChecksWaitForACore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle()
		cores := runtime.GOMAXPROCS(0)
		var running, most, refused atomic.Int32
		var wg sync.WaitGroup
		for n := range 10 * cores {
			wg.Go(func() {
				r := httptest.NewRequest("POST", "/", nil)
				err := th.try(r, fmt.Sprint(n), time.Now(), func() bool {
					most.Store(max(most.Load(), running.Add(1)))
					time.Sleep(time.Second)
					running.Add(-1)
					return true
				})
				if web.Explain(err).Status == http.StatusServiceUnavailable {
					refused.Add(1)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		other := httptest.NewRequest("POST", "/", nil)
		other.RemoteAddr = "192.0.2.7:1"
		err := th.try(other, "other@example.com", start, func() bool { return true })
		if waits := cores == 1; err != nil || time.Since(start) > 0 != waits {
			t.Errorf("another address waits %v, %v", time.Since(start), err)
		}
		wg.Wait()
		n := int(most.Load())
		if n != max(1, cores/2) || refused.Load() == 0 || int(refused.Load()) > 10*cores-5*n {
			t.Errorf("%d at a time on %d cores, %d refused", n, cores, refused.Load())
		}
		if len(th.failures) != 0 {
			t.Errorf("successes are remembered: %v", th.failures)
		}
	})
}

// Decision passwords.failures: many wrong passwords at a time are not more than one after another.
func TestFailuresCountWhileTheyRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		th := newThrottle()
		var checked atomic.Int32
		for range 4 {
			var wg sync.WaitGroup
			for range 5 * runtime.GOMAXPROCS(0) {
				wg.Go(func() {
					th.try(httptest.NewRequest("POST", "/", nil), "a@example.com", time.Now(), func() bool {
						checked.Add(1)
						time.Sleep(time.Second)
						return false
					})
				})
			}
			wg.Wait()
		}
		if checked.Load() != web.EmailFailures {
			t.Errorf("%d passwords were tried", checked.Load())
		}
	})
}
